//! Replay: a state catches up with the journal.

use std::collections::BTreeSet;

use crate::journal::Journal;
use crate::record::Record;
use crate::state::State;
use crate::state::txn::{Txn, apply};
use crate::{MemoryId, OpenPhase, Result, StoreOptions};

/// A replay commits and reports its progress after this many records.
const COMMIT_RECORDS: u64 = 512;

/// The result of a replay.
#[derive(Debug, Default)]
pub(crate) struct Replayed {
    /// Number of records that the state lacked.
    pub(crate) records: u64,
    /// The memories that were added, changed or deleted after the position `changed_after`.
    pub(crate) changed: BTreeSet<MemoryId>,
}

/// Applies the records that the state lacks. Lists the memories that changed after the position
/// `changed_after`, for an index that has the records up to there.
pub(crate) fn replay(
    state: &State,
    journal: &Journal,
    changed_after: u64,
    options: &StoreOptions,
) -> Result<Replayed> {
    let applied = state.applied()?;
    let total = journal.last().saturating_sub(applied);
    let mut replayed = Replayed::default();
    let mut txn = Txn::new(state);
    let commit = |txn: Txn<'_>| txn.finish().0.iter().try_for_each(|batch| state.write(batch));
    let reached = journal.feed(applied.min(changed_after), &mut |entry| {
        let record = Record::of(entry)?;
        if entry.sequence > changed_after
            && let Record::Add { id, .. } | Record::Update { id, .. } | Record::Delete { id, .. } =
                record
        {
            replayed.changed.insert(id);
        }
        if entry.sequence > applied {
            apply(&record, entry.sequence, &mut txn)?;
            replayed.records += 1;
            if replayed.records.is_multiple_of(COMMIT_RECORDS) {
                commit(std::mem::replace(&mut txn, Txn::new(state)))?;
                options.report(OpenPhase::State, replayed.records, total);
            }
        }
        Ok(())
    })?;
    if reached > applied {
        // The last positions may have been trimmed.
        txn.applied(reached)?;
        commit(txn)?;
        options.report(OpenPhase::State, total, total);
    }
    Ok(replayed)
}
