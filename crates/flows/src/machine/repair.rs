//! The consequences of records missing from the journal: no action is repeated, and everything
//! unknown is reported.

use waypost_time::Timestamp;

use super::Machine;
use crate::record::Record;
use crate::{End, Phase, RunId};

/// The most replays that are assumed to be lost.
const REPLAYS_LOST_MAX: u64 = 1000;

/// Consecutive records missing from the journal. `to` is the largest number if the last one is
/// unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Gap {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// The findings of a repair.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lost<'a> {
    pub(crate) gaps: &'a [Gap],
    /// The last record that may be in any gap.
    pub(crate) end: u64,
    /// Whether a record after `end` says how far events were evaluated.
    pub(crate) decided: bool,
    /// The last existing event.
    pub(crate) last_event: u64,
    pub(crate) now: Timestamp,
}

impl Machine {
    /// Records the consequences of gaps, after the rest of the journal was replayed. Returns the
    /// runs that were ended.
    ///
    /// - A run that was created before the end of the last gap and has not ended has failed: it is
    ///   unknown whether its actions were done. A person can retry it.
    /// - Ends before that are not announced again.
    /// - Unless a later record says how far events were evaluated, every existing event counts as
    ///   evaluated. Past events still to be evaluated for flows are dropped. A person can replay
    ///   them.
    pub(crate) fn lose(&mut self, lost: &Lost<'_>) -> Vec<RunId> {
        let at = lost.now.max(self.latest);
        // Without the identity, the keys of the runs' actions change from now on.
        let end = if self.identity.is_empty() { u64::MAX } else { lost.end };
        let runs = self.runs.values().filter(|value| value.place <= end);
        let runs: Vec<RunId> = runs.map(|run| run.id.clone()).collect();
        let mut dead = Vec::new();
        for run in runs {
            let Some(known) = self.runs.get(&run) else { continue };
            if !matches!(known.phase, Phase::Ended { .. }) {
                let why = "records of it in the journal were damaged: whether its action was done is unknown";
                let why = why.to_owned();
                self.record(Record::Ended { run: run.clone(), at, end: End::Failed, why });
                dead.push(run);
            } else if !known.is_end_published {
                self.record(Record::EndPublished { run });
            }
        }
        for it in self.fillings.clone() {
            let (flow, replay, until) = (it.flow, it.replay, it.until);
            self.record(Record::Filled { flow, replay, through: until, until });
        }
        let known = self.flows.values().map(|value| value.replays).max().unwrap_or(0);
        let mut replays = known.max(self.replays_lost);
        for gap in lost.gaps {
            let records = gap.to.saturating_sub(gap.from).saturating_add(1);
            let most = u32::try_from(records.min(REPLAYS_LOST_MAX)).unwrap_or(u32::MAX);
            replays = replays.saturating_add(most);
            let to = gap.to.min(lost.end);
            self.record(Record::Lost { from: gap.from, to, at, replays });
        }
        if !lost.decided && lost.last_event > self.cursor {
            self.cursor = lost.last_event;
            self.record(Record::Cursor { event: lost.last_event });
        }
        dead
    }
}
