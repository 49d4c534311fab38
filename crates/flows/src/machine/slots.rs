//! Which runs may start: the runs of a flow with the same key, and how many of them run
//! concurrently.

use std::collections::BTreeSet;

use super::{Group, Machine};
use crate::{FlowName, Phase, RunId};

/// Runs of one group.
#[derive(Debug, Default)]
pub(super) struct Slots {
    /// Oldest event first.
    pub(super) queue: BTreeSet<(u64, u32)>,
    pub(super) running: BTreeSet<(u64, u32)>,
    /// Its key among the hungry groups.
    hungry: Option<u64>,
}

impl Machine {
    /// Moves a run to another phase, and updates everything indexed by phase.
    pub(super) fn set_phase(&mut self, id: &RunId, phase: &Phase) {
        let Some(run) = self.runs.get_mut(id) else { return };
        let group = (id.flow.clone(), run.key.clone());
        let place = (id.event, id.replay);
        let before = std::mem::replace(&mut run.phase, phase.clone());
        self.count(&before, false);
        self.count(phase, true);
        let Some(run) = self.runs.get_mut(id) else { return };
        let slots = self.groups.entry(group.clone()).or_default();
        match before {
            Phase::Quiet { until } | Phase::Retrying { until } => {
                self.timers.remove(&(until, id.clone()));
            }
            Phase::Queued => {
                slots.queue.remove(&place);
            }
            Phase::Running { .. } => {
                self.running -= usize::from(slots.running.remove(&place));
            }
            Phase::Ended { .. } => {}
        }
        match phase {
            Phase::Quiet { until } | Phase::Retrying { until } => {
                self.timers.insert((*until, id.clone()));
            }
            Phase::Queued => {
                slots.queue.insert(place);
            }
            Phase::Running { .. } => {
                self.running += usize::from(slots.running.insert(place));
            }
            Phase::Ended { .. } => {
                run.event = None;
                run.entry = None;
            }
        }
        if let Some(quiet) = run.quiet.take_if(|_| !matches!(run.phase, Phase::Quiet { .. }))
            && let Some(state) = self.flows.get_mut(&id.flow)
            && state.quiet.get(&quiet.key) == Some(id)
        {
            state.quiet.remove(&quiet.key);
        }
        self.refresh(&group);
    }

    /// Checks whether a group has a run to start and room for it.
    pub(super) fn refresh(&mut self, group: &Group) {
        if !self.live {
            return;
        }
        let Some(slots) = self.groups.get(group) else { return };
        let held = self.flows.get(&group.0).is_some_and(|flow| flow.is_held());
        let first = slots.queue.first().filter(|_| !held).filter(|place| {
            let run = self.runs.get(&run_id(&group.0, **place));
            let entry = run.and_then(|run| run.entry.as_ref());
            entry.is_some_and(|entry| slots.running.len() < entry.flow.concurrency.limit as usize)
        });
        let wanted = first.map(|(event, _)| *event);
        let is_empty = slots.queue.is_empty() && slots.running.is_empty();
        let slots = self.groups.get_mut(group).expect("it was there just now");
        if slots.hungry != wanted {
            if let Some(at) = slots.hungry.take() {
                self.hungry.remove(&(at, group.clone()));
            }
            if let Some(at) = wanted {
                self.hungry.insert((at, group.clone()));
            }
            slots.hungry = wanted;
        }
        if is_empty {
            self.groups.remove(group);
        }
    }

    /// Checks all groups of a flow again.
    pub(super) fn refresh_flow(&mut self, flow: &FlowName) {
        let groups: Vec<Group> = self
            .groups
            .range((flow.clone(), None)..)
            .take_while(|((it, _), _)| it == flow)
            .map(|(group, _)| group.clone())
            .collect();
        for group in groups {
            self.refresh(&group);
        }
    }

    /// The run that may start next, if there is one and room for it.
    pub(super) fn next_to_begin(&self) -> Option<RunId> {
        if self.running >= self.options.running_max {
            return None;
        }
        let (_, group) = self.hungry.first()?;
        let place = self.groups.get(group)?.queue.first()?;
        Some(run_id(&group.0, *place))
    }

    /// How many runs of a flow wait for their turn.
    pub(crate) fn queued(&self, flow: &FlowName) -> usize {
        let of_flow = self.groups.range((flow.clone(), None)..);
        of_flow.take_while(|((it, _), _)| it == flow).map(|(_, it)| it.queue.len()).sum()
    }
}

pub(super) fn run_id(flow: &FlowName, (event, replay): (u64, u32)) -> RunId {
    RunId { flow: flow.clone(), event, replay }
}
