//! Loads the index at opening: a snapshot without the memories that have changed since, or nothing.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use waypost_projection::Unusable;

use crate::index::changes::Changes;
use crate::index::snapshot::Snapshot;
use crate::index::view::View;
use crate::records::Records;
use crate::{MemoryId, OpenReport, Result};

/// The index as far as a snapshot has it, and the memories that it lacks: those that have `changed`
/// since, or all.
pub(super) fn load(
    records: &Records,
    snapshot: std::result::Result<Option<Snapshot>, Unusable>,
    changed: &BTreeSet<MemoryId>,
    changes: &Changes,
    report: &mut OpenReport,
) -> Result<(View, Vec<MemoryId>)> {
    let why = match snapshot {
        Ok(Some(snapshot)) if !snapshot.is_current => {
            "an earlier release wrote its snapshot".to_owned()
        }
        Ok(Some(snapshot)) => match without(records, snapshot, changed)? {
            Some(caught_up) => {
                changes.since_snapshot.fetch_add(changed.len() as u64, Ordering::Relaxed);
                return Ok(caught_up);
            }
            None => "inconsistent with the state".to_owned(),
        },
        Ok(None) if records.journal.last() == 0 => return Ok((View::new(None), Vec::new())),
        Ok(None) => "missing snapshot".to_owned(),
        Err(Unusable(why)) => why,
    };
    report.index_rebuilt = Some(why);
    // Closing writes a snapshot even if there is nothing to index.
    changes.since_snapshot.fetch_add(1, Ordering::Relaxed);
    Ok((View::new(None), records.state.live_ids()?))
}

/// A snapshot's view without the memories that have changed since, and those of them that exist;
/// `None` if it is inconsistent with the state.
fn without(
    records: &Records,
    snapshot: Snapshot,
    changed: &BTreeSet<MemoryId>,
) -> Result<Option<(View, Vec<MemoryId>)>> {
    let mut view = snapshot.view;
    for id in changed {
        view.refresh(*id, None);
    }
    let mut lacking = Vec::new();
    let (mut agrees, mut live) = (true, 0);
    records.state.heads(&mut |id, head| {
        if head.deleted_at.is_some() {
            return Ok(());
        }
        if changed.contains(&id) {
            lacking.push(id);
            return Ok(());
        }
        live += 1;
        agrees &= view
            .fact(id)
            .is_some_and(|fact| fact.version == head.version && fact.text_hash == head.text_hash);
        Ok(())
    })?;
    Ok((agrees && live == view.len()).then_some((view, lacking)))
}
