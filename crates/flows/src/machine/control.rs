//! Commands of people: cancel, retry, replay, pause; and the limits of the history.

use std::collections::{BTreeMap, BTreeSet};

use waypost_time::Timestamp;

use super::Machine;
use crate::effect::{Effect, RunEnd};
use crate::record::{Record, StoredEvent};
use crate::{AttemptId, End, Event, FlowName, Phase, RunId};

impl Machine {
    /// Ends a run, whatever it does or waits for. Returns whether there was anything to end.
    pub(crate) fn cancel(&mut self, id: &RunId, why: &str, now: Timestamp) -> bool {
        let Some(run) = self.runs.get(id) else { return false };
        match run.phase {
            Phase::Ended { .. } => return false,
            Phase::Running { .. } => self.stop(id, why),
            Phase::Quiet { .. } | Phase::Retrying { .. } | Phase::Queued => {
                self.end(id, now, End::Cancelled, why.to_owned());
            }
        }
        self.schedule(now);
        true
    }

    /// Requests the end of the action that a run is at.
    pub(super) fn stop(&mut self, id: &RunId, why: &str) {
        let Some(run) = self.runs.get(id) else { return };
        let attempt = AttemptId { run: id.clone(), step: run.step, attempt: run.attempt };
        self.record(Record::Cancelling { run: id.clone(), why: why.to_owned() });
        self.effects.push(Effect::Stop(attempt));
    }

    /// Ends all waiting runs of a flow, and returns their number.
    pub(crate) fn purge(&mut self, flow: &FlowName, now: Timestamp) -> usize {
        let waits = |phase: &Phase| {
            matches!(phase, Phase::Quiet { .. } | Phase::Retrying { .. } | Phase::Queued)
        };
        let waiting = self.runs_of(flow).filter(|of| waits(&of.phase));
        let waiting: Vec<RunId> = waiting.map(|waiting| waiting.id.clone()).collect();
        for run in &waiting {
            self.end(run, now, End::Cancelled, "purged".to_owned());
        }
        waiting.len()
    }

    /// Resumes a failed run at the failed action. `event` is the run's.
    pub(crate) fn retry(&mut self, id: &RunId, event: &Event, now: Timestamp) {
        let Some(run) = self.runs.get(id) else { return };
        let Some(entry) = self.definition(&run.definition, id) else { return };
        self.record(Record::Seen(StoredEvent::from(event)));
        self.record(Record::Retried { run: id.clone() });
        if let Some(run) = self.runs.get_mut(id) {
            run.entry = Some(entry);
        }
        let group = (id.flow.clone(), self.runs.get(id).and_then(|run| run.key.clone()));
        self.refresh(&group);
        self.schedule(now);
    }

    /// Evaluates past events again for a flow, and returns the replay's number.
    pub(crate) fn replay(&mut self, flow: &FlowName, after: u64, until: u64) -> u32 {
        let replay = self.flows.get(flow).map_or(0, |flow| flow.replays).max(self.replays_lost) + 1;
        self.record(Record::Filling { flow: flow.clone(), replay, after, until });
        replay
    }

    pub(crate) fn pause(&mut self, flow: &FlowName, why: &str) {
        self.record(Record::Paused { flow: flow.clone(), why: why.to_owned() });
    }

    pub(crate) fn resume(&mut self, flow: &FlowName, now: Timestamp) {
        self.record(Record::Resumed { flow: flow.clone() });
        self.schedule(now);
    }

    pub(crate) fn end_published(&mut self, end: &RunEnd) {
        let Some(run) = self.runs.get(&end.run).filter(|run| !run.is_end_published) else { return };
        if matches!(run.phase, Phase::Ended { .. }) && run.tries.len() == end.tries {
            self.record(Record::EndPublished { run: end.run.clone() });
        }
    }

    pub(crate) fn spawned(&mut self, id: &AttemptId, leader: crate::Leader) {
        if self
            .runs
            .get(&id.run)
            .is_some_and(|run| (run.step, run.attempt) == (id.step, id.attempt))
        {
            self.record(Record::Spawned { run: id.run.clone(), leader });
        }
    }

    /// Drops ended runs that are too old or too many from the history.
    pub(crate) fn forget(&mut self, now: Timestamp) {
        let mut counts: BTreeMap<&FlowName, usize> = BTreeMap::new();
        let (mut runs, mut kept) = (Vec::new(), Vec::new());
        // Newest of a flow first: those beyond the number are the oldest.
        for run in self.runs.values().rev() {
            let Phase::Ended { at, .. } = run.phase else { continue };
            let count = counts.entry(&run.id.flow).or_default();
            *count += 1;
            let is_old = at.saturating_add(self.options.kept) <= now;
            if is_old || *count > self.options.runs_kept {
                runs.push(run.id.clone());
            } else {
                kept.push((at, &run.id));
            }
        }
        if let Some(too_many) = kept.len().checked_sub(self.options.runs_kept_max + 1) {
            kept.select_nth_unstable(too_many);
            runs.extend(kept[..=too_many].iter().map(|(_, it)| RunId::clone(it)));
        }
        if runs.is_empty() {
            return;
        }
        self.effects.extend(runs.iter().cloned().map(Effect::RemoveOutput));
        self.record(Record::Forgotten { runs });
        self.retain_texts();
    }

    /// Drops the definitions that no known run has. Whoever decides has no others: so the journal
    /// gets a definition again if every run that had it is forgotten, and each replica may drop it
    /// from its own log until then.
    pub(super) fn retain_texts(&mut self) {
        let used: BTreeSet<_> = self.runs.values().map(|value| &value.definition).collect();
        self.texts.retain(|hash, _| used.contains(hash));
    }
}
