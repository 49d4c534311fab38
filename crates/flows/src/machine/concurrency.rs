//! Whether there is room for a run: rate limits, queues, debounce, and which runs make room.

use waypost_time::Timestamp;

use std::time::Duration;

use super::Machine;
use super::decide::{Case, value_of};
use crate::record::{Keyed, Quiet, Record};
use crate::{Concurrency, End, Mode, Phase, RunId};

impl Machine {
    pub(super) fn over_rate(&self, case: &Case<'_>, rate: Option<&Keyed>) -> Option<String> {
        let limit = case.entry.flow.rate_limit.as_ref()?;
        let rate = rate?;
        let times = self.flows.get(&case.entry.flow.name)?.rates.get(&rate.key)?;
        let since = case.now.saturating_sub(Duration::from_millis(rate.per_ms));
        let count = times.iter().filter(|time| **time > since).count();
        let is_over = count >= limit.runs as usize;
        is_over.then(|| format!("rate_limit: the limit is {} runs in {}", limit.runs, limit.per))
    }

    pub(super) fn no_room(
        &self,
        concurrency: &Concurrency,
        run: &RunId,
        key: Option<&String>,
    ) -> Option<String> {
        let slots = self.groups.get(&(run.flow.clone(), key.cloned()))?;
        let (running, queued) = (slots.running.len(), slots.queue.len());
        let limit = concurrency.limit as usize;
        let queued_max = concurrency.max_queued as usize;
        match concurrency.mode {
            Mode::Skip if running + queued >= limit => {
                Some(format!("concurrency.mode is skip, and {} runs are active", running + queued))
            }
            Mode::Queue if queued >= queued_max && running + queued >= limit => {
                Some(format!("concurrency.max_queued: {queued} runs are already queued"))
            }
            Mode::Skip | Mode::Queue | Mode::Restart => None,
        }
    }

    /// What the run waits for if its flow has a debounce. The previously waiting run is skipped.
    pub(super) fn hush(&mut self, case: &Case<'_>, run: &RunId) -> Option<Quiet> {
        let debounce = case.entry.flow.debounce.as_ref().filter(|_| case.replay == 0)?;
        let key = value_of(debounce.key.as_ref(), case.event);
        let earlier = self.flows.get(&run.flow).and_then(|flow| flow.quiet.get(&key)).cloned();
        let first_deadline =
            earlier.as_ref().and_then(|earlier| self.runs.get(earlier)?.quiet.as_ref()?.deadline);
        let deadline =
            debounce.max.map(|max| first_deadline.unwrap_or(case.now.saturating_add(max.0)));
        if let Some(earlier) = earlier {
            let why = format!("debounce: event {} followed", run.event);
            self.record(Record::Ended { run: earlier, at: case.now, end: End::Skipped, why });
        }
        let until = case.now.saturating_add(debounce.quiet.0);
        let until = deadline.map_or(until, |deadline| until.min(deadline));
        Some(Quiet { key, until, deadline })
    }

    /// With `mode: restart`, the flow's other runs with the same key make room for a run: waiting
    /// ones are skipped, and of the running ones the oldest is ended.
    pub(super) fn make_room(&mut self, id: &RunId, now: Timestamp) {
        let Some(run) = self.runs.get(id) else { return };
        let Some(entry) = run.entry.as_ref() else { return };
        if entry.flow.concurrency.mode != Mode::Restart {
            return;
        }
        let limit = entry.flow.concurrency.limit as usize;
        let others = self.runs_of(&id.flow).filter(|of| of.key == run.key && of.id != *id);
        let (mut waiting, mut running) = (Vec::new(), Vec::new());
        for other in others {
            match other.phase {
                Phase::Queued | Phase::Retrying { .. } => waiting.push(other.id.clone()),
                Phase::Running { .. } => running.push((other.cancelling.is_some(), &other.id)),
                Phase::Quiet { .. } | Phase::Ended { .. } => {}
            }
        }
        let too_many = (running.len() + 1).saturating_sub(limit);
        let oldest = running.iter().take(too_many).filter(|(is_ending, _)| !is_ending);
        let oldest: Vec<RunId> = oldest.map(|(_, it)| RunId::clone(it)).collect();
        let why = format!("concurrency.mode is restart, and event {} arrived", id.event);
        for run in waiting {
            self.record(Record::Ended { run, at: now, end: End::Skipped, why: why.clone() });
        }
        for run in oldest {
            self.stop(&run, &why);
        }
    }
}
