//! The only place where a record changes the state.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use waypost_time::Timestamp;

use super::{HOUR, MINUTE, Machine};
use crate::effect::{Backfill, lineage_after};
use crate::record::{Created, Record, Then};
use crate::run::Try;
use crate::{End, Event, Phase, Run, RunId};

impl Machine {
    /// Applies a record at position `place` of the journal, or 0 while it is not written yet.
    pub(crate) fn apply(&mut self, record: &Record, place: u64) {
        self.latest = self.latest.max(record.at().unwrap_or(Timestamp::EPOCH));
        match record {
            Record::Journal { identity } => self.identity.clone_from(identity),
            Record::Cursor { event } => {
                self.cursor = self.cursor.max(*event);
                self.recorded_cursor = self.cursor;
            }
            Record::Defined { hash, file, text } => {
                self.texts.insert(hash.clone(), (file.clone(), text.clone()));
            }
            Record::Seen(event) => {
                self.seen = Some((Arc::new(Event::from(event.clone())), place));
            }
            Record::Created(it) => self.created(it),
            Record::Skipped { run, hash, kind, at, why } => {
                let phase = Phase::Ended { end: End::Skipped, why: why.clone(), at: *at };
                let skipped = Run { phase, ..Run::new(run, hash, kind, *at) };
                self.put_run(skipped);
                self.count_end(End::Skipped);
            }
            Record::Begun { run, step, attempt, at, machine } => {
                if let Some(it) = self.runs.get_mut(run) {
                    if it.step != *step {
                        (it.step, it.failures) = (*step, 0);
                    }
                    it.attempt = *attempt;
                    it.machine.clone_from(machine);
                }
                self.set_phase(run, &Phase::Running { since: *at, leader: None });
            }
            Record::Spawned { run, leader: process } => {
                if let Some(Phase::Running { leader, .. }) =
                    self.runs.get_mut(run).map(|run| &mut run.phase)
                {
                    *leader = Some(process.clone());
                }
            }
            Record::Tried { run, step, attempt, at, report, then, machine } => {
                let (step, attempt, at) = (*step, *attempt, *at);
                let (report, machine) = (report.clone(), machine.clone());
                self.tried(run, Try { step, attempt, at, report, machine }, *then);
            }
            Record::Cancelling { run, why } => {
                if let Some(it) = self.runs.get_mut(run) {
                    it.cancelling = Some(why.clone());
                }
            }
            Record::Ended { run, at, end, why } => {
                let phase = Phase::Ended { end: *end, why: why.clone(), at: *at };
                self.set_phase(run, &phase);
                self.count_end(*end);
            }
            Record::Retried { run } => self.retried(run),
            Record::EndPublished { run } => {
                if let Some(it) = self.runs.get_mut(run) {
                    it.is_end_published = true;
                }
            }
            Record::Forgotten { runs } => {
                for run in runs {
                    if let Some(run) = self.runs.remove(run) {
                        self.count(&run.phase, false);
                    }
                }
            }
            Record::Lost { replays, .. } => {
                self.replays_lost = self.replays_lost.max(*replays);
                self.joins_lost = true;
            }
            Record::Joined { .. }
            | Record::Left { .. }
            | Record::Filling { .. }
            | Record::Filled { .. }
            | Record::Opened { .. }
            | Record::Closed { .. }
            | Record::Paused { .. }
            | Record::Resumed { .. } => self.apply_to_flow(record),
        }
    }

    fn apply_to_flow(&mut self, record: &Record) {
        match record {
            Record::Joined { flow, from } => {
                let state = self.flows.entry(flow.clone()).or_default();
                state.from = *from;
                state.left = None;
                self.joins_lost = false;
            }
            Record::Left { flow, at } => self.flow(flow).left = Some(*at),
            Record::Filling { flow, replay, after, until } => {
                let state = self.flow(flow);
                state.replays = state.replays.max(*replay);
                let (flow, replay, after, until) = (flow.clone(), *replay, *after, *until);
                self.fillings.push(Backfill { flow, replay, after, until });
            }
            Record::Filled { flow, replay, through, until } => {
                let is_it = |backfill: &Backfill| {
                    (&backfill.flow, backfill.replay, backfill.until) == (flow, *replay, *until)
                };
                for filling in self.fillings.iter_mut().filter(|filling| is_it(filling)) {
                    filling.after = *through;
                }
                self.fillings.retain(|filling| filling.after < filling.until);
            }
            Record::Opened { flow, at } => {
                let state = self.flow(flow);
                state.open = Some(*at);
                state.openings.push_back(*at);
                forget_before(&mut state.openings, at.saturating_sub(HOUR));
                self.open.insert(flow.clone());
                self.refresh_flow(flow);
            }
            Record::Closed { flow } => {
                self.flow(flow).open = None;
                self.open.remove(flow);
                self.refresh_flow(flow);
            }
            Record::Paused { flow, why } => {
                self.flow(flow).paused = Some(why.clone());
                self.refresh_flow(flow);
            }
            Record::Resumed { flow } => {
                let state = self.flow(flow);
                state.paused = None;
                state.openings.clear();
                self.refresh_flow(flow);
            }
            // Records of runs.
            _ => {}
        }
    }

    fn put_run(&mut self, run: Run) {
        self.count(&run.phase, true);
        if let Some(before) = self.runs.insert(run.id.clone(), run) {
            self.count(&before.phase, false);
        }
    }

    /// Counts a run that entered or left a phase.
    pub(super) fn count(&mut self, phase: &Phase, came: bool) {
        let count = self.stages.entry(phase.stage()).or_default();
        *count = if came { *count + 1 } else { count.saturating_sub(1) };
    }

    fn count_end(&mut self, end: End) {
        if self.live {
            *self.ended_now.entry(end).or_default() += 1;
        }
    }

    fn flow(&mut self, name: &crate::FlowName) -> &mut super::FlowState {
        self.flows.entry(name.clone()).or_default()
    }

    fn created(&mut self, it: &Created) {
        // In the journal, the event directly precedes its runs.
        let Some((event, place)) = self.seen.clone().filter(|(seen, _)| seen.id == it.run.event)
        else {
            return;
        };
        let at = it.at;
        let state = self.flow(&it.run.flow);
        if it.counts {
            state.recent.push_back(at);
            forget_before(&mut state.recent, at.saturating_sub(MINUTE));
            state.last_created = at;
        }
        if let Some(rate) = &it.rate {
            let times = state.rates.entry(rate.key.clone()).or_default();
            times.push_back(at);
            forget_before(times, at.saturating_sub(Duration::from_millis(rate.per_ms)));
        }
        if let Some(quiet) = &it.quiet {
            state.quiet.insert(quiet.key.clone(), it.run.clone());
        }
        let kind = event.kind.clone();
        let run = Run {
            lineage: lineage_after(&it.run, &event),
            key: it.key.clone(),
            quiet: it.quiet.clone(),
            event: Some(event),
            place,
            ..Run::new(&it.run, &it.hash, &kind, at)
        };
        self.put_run(run);
        let phase = match &it.quiet {
            Some(quiet) => Phase::Quiet { until: quiet.until },
            None => Phase::Queued,
        };
        self.set_phase(&it.run, &phase);
    }

    fn tried(&mut self, id: &RunId, done: Try, then: Then) {
        let Some(run) = self.runs.get_mut(id) else { return };
        // Compaction drops the record of its start.
        let step = done.step;
        (run.step, run.attempt) = (step, done.attempt);
        run.machine.clone_from(&done.machine);
        run.tries.push(done);
        match then {
            Then::Next => {
                (run.step, run.attempt, run.failures) = (step + 1, 0, 0);
                if let Phase::Running { leader, .. } = &mut run.phase {
                    *leader = None;
                }
            }
            Then::Retry(until) => {
                run.failures += 1;
                self.set_phase(id, &Phase::Retrying { until });
            }
            Then::Again => {
                run.interruptions += 1;
                self.set_phase(id, &Phase::Queued);
            }
            Then::End => {}
        }
    }

    fn retried(&mut self, id: &RunId) {
        let event = self.seen.clone().filter(|(seen, _)| seen.id == id.event);
        let (Some(run), Some((event, _))) = (self.runs.get_mut(id), event) else { return };
        run.event = Some(event);
        run.is_end_published = false;
        run.cancelling = None;
        (run.failures, run.interruptions) = (0, 0);
        self.set_phase(id, &Phase::Queued);
    }
}

/// Drops the times up to and including `then`.
fn forget_before(times: &mut VecDeque<Timestamp>, then: Timestamp) {
    while times.front().is_some_and(|front| *front <= then) {
        times.pop_front();
    }
}
