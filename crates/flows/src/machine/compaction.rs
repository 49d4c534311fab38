//! Which records the journal still needs.

use std::collections::{BTreeMap, BTreeSet};

use waypost_time::Timestamp;

use super::{HOUR, Machine};
use crate::record::Record;
use crate::{Backfill, ContentHash, FlowName, Phase, RunId};

/// What compaction keeps of the records that the journal has at one moment. Later changes of the
/// machine append records, which compaction does not judge.
#[derive(Debug)]
pub(crate) struct Needed {
    /// Each known run, and whether it has not ended.
    runs: BTreeMap<RunId, bool>,
    events: BTreeSet<u64>,
    definitions: BTreeSet<ContentHash>,
    cursor: u64,
    fillings: Vec<Backfill>,
    /// Flows whose breaker is open, or was in the last hour.
    opened: BTreeSet<FlowName>,
}

impl Machine {
    /// Looks up once what every record is judged by.
    pub(crate) fn needed(&self, now: Timestamp) -> Needed {
        let runs = self.runs.values();
        let opened = self.flows.iter().filter(|(_, it)| {
            it.open.is_some()
                || it.openings.back().is_some_and(|back| back.saturating_add(HOUR) > now)
        });
        Needed {
            runs: runs
                .map(|run| (run.id.clone(), !matches!(run.phase, Phase::Ended { .. })))
                .collect(),
            events: self.runs.keys().map(|key| key.event).collect(),
            definitions: self.texts.keys().cloned().collect(),
            cursor: self.recorded_cursor,
            fillings: self.fillings.clone(),
            opened: opened.map(|(flow, _)| flow.clone()).collect(),
        }
    }
}

impl Needed {
    /// Whether replaying the journal without the record would give another state.
    pub(crate) fn has(&self, record: &Record) -> bool {
        let known = |run: &RunId| self.runs.contains_key(run);
        match record {
            Record::Journal { .. }
            | Record::Joined { .. }
            | Record::Left { .. }
            | Record::Filling { .. }
            | Record::Paused { .. }
            | Record::Resumed { .. }
            | Record::Lost { .. } => true,
            Record::Cursor { event } => *event == self.cursor,
            Record::Filled { flow, replay, through, until } => {
                let is_it = |backfill: &Backfill| {
                    (&backfill.flow, backfill.replay, backfill.after) == (flow, *replay, *through)
                };
                through == until || self.fillings.iter().any(is_it)
            }
            Record::Defined { hash, .. } => self.definitions.contains(hash),
            Record::Seen(event) => self.events.contains(&event.id()),
            Record::Created(it) => known(&it.run),
            Record::Skipped { run, .. }
            | Record::Tried { run, .. }
            | Record::Ended { run, .. }
            | Record::Retried { run }
            | Record::EndPublished { run } => known(run),
            // An ended run needs them no more.
            Record::Begun { run, .. }
            | Record::Spawned { run, .. }
            | Record::Cancelling { run, .. } => self.runs.get(run).is_some_and(|run| *run),
            // Without the openings of the last hour, their closings say nothing.
            Record::Opened { flow, .. } | Record::Closed { flow } => self.opened.contains(flow),
            // The records of their runs go with them.
            Record::Forgotten { .. } => false,
        }
    }
}
