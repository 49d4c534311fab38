//! Which records the journal still needs.

use std::collections::BTreeSet;

use super::{Filling, HOUR_MS, Machine};
use crate::record::Record;
use crate::{ContentHash, Phase, RunId};

/// The records that compaction keeps.
pub(crate) struct Needed<'a> {
    machine: &'a Machine,
    events: BTreeSet<u64>,
    definitions: BTreeSet<&'a ContentHash>,
    now_ms: u64,
}

impl Machine {
    /// Precomputes what every record is checked against.
    pub(crate) fn needed(&self, now_ms: u64) -> Needed<'_> {
        Needed {
            machine: self,
            events: self.runs.keys().map(|it| it.event).collect(),
            definitions: self.runs.values().map(|it| &it.definition).collect(),
            now_ms,
        }
    }
}

impl Needed<'_> {
    /// Whether replaying the journal without the record would give another state.
    pub(crate) fn has(&self, record: &Record) -> bool {
        let known = |run: &RunId| self.machine.runs.get(run);
        let is_open =
            |run: &RunId| known(run).is_some_and(|it| !matches!(it.phase, Phase::Ended { .. }));
        match record {
            Record::Journal { .. }
            | Record::Joined { .. }
            | Record::Left { .. }
            | Record::Filling { .. }
            | Record::Paused { .. }
            | Record::Resumed { .. }
            | Record::Lost { .. } => true,
            Record::Cursor { event } => *event == self.machine.recorded_cursor,
            Record::Filled { flow, replay, through, until } => {
                let is_it =
                    |it: &Filling| (&it.flow, it.replay, it.through) == (flow, *replay, *through);
                through == until || self.machine.fillings.iter().any(is_it)
            }
            Record::Defined { hash, .. } => self.definitions.contains(hash),
            Record::Seen(event) => self.events.contains(&event.id()),
            Record::Created(it) => known(&it.run).is_some(),
            Record::Skipped { run, .. }
            | Record::Tried { run, .. }
            | Record::Ended { run, .. }
            | Record::Retried { run }
            | Record::Told { run } => known(run).is_some(),
            // An ended run no longer needs them.
            Record::Begun { run, .. }
            | Record::Spawned { run, .. }
            | Record::Cancelling { run, .. } => is_open(run),
            // Without the openings of the last hour, their closings are meaningless.
            Record::Opened { flow, .. } | Record::Closed { flow } => {
                self.machine.flows.get(flow).is_some_and(|it| {
                    let last = it.openings.back();
                    it.open.is_some() || last.is_some_and(|it| it + HOUR_MS > self.now_ms)
                })
            }
            // The records of their runs are dropped with them.
            Record::Forgotten { .. } => false,
        }
    }
}
