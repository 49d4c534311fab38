//! The index as opening finds it: a snapshot, brought up to the log, or what must be built.

use std::sync::atomic::Ordering;

use waypost_projection::Unusable;

use crate::index::changes::Changes;
use crate::index::snapshot::Snapshot;
use crate::index::view::View;
use crate::records::Records;
use crate::{MemoryId, OpenReport, Result};

/// The index as far as a snapshot has it, and the memories that it lacks.
pub(super) fn load(
    records: &Records,
    snapshot: std::result::Result<Option<Snapshot>, Unusable>,
    changes: &Changes,
    report: &mut OpenReport,
) -> Result<(View, Vec<MemoryId>)> {
    let why = match snapshot {
        Ok(Some(snapshot)) => match catch_up(records, snapshot, changes)? {
            Some(caught_up) => return Ok(caught_up),
            None => "inconsistent with the state".to_owned(),
        },
        Ok(None) if records.log.last_sequence() == 0 => return Ok((View::new(None), Vec::new())),
        Ok(None) => "missing snapshot".to_owned(),
        Err(Unusable(why)) => why,
    };
    report.index_rebuilt = Some(why);
    // Closing writes a snapshot even if there is nothing to index.
    changes.since_snapshot.fetch_add(1, Ordering::Relaxed);
    Ok((View::new(None), records.state.live_ids()?))
}

/// A snapshot's view without what the log has changed since, and which memories that are;
/// `None` if it does not fit the state.
fn catch_up(
    records: &Records,
    snapshot: Snapshot,
    changes: &Changes,
) -> Result<Option<(View, Vec<MemoryId>)>> {
    let Snapshot { mut view, position } = snapshot;
    let touched = records.changed_after(position)?;
    changes.since_snapshot.fetch_add(touched.len() as u64, Ordering::Relaxed);
    for id in &touched {
        view.refresh(*id, None);
    }
    let mut lacking = Vec::new();
    let (mut agrees, mut live) = (true, 0);
    records.state.heads(&mut |id, head| {
        if head.deleted_at.is_some() {
            return Ok(());
        }
        if touched.contains(&id) {
            lacking.push(id);
            return Ok(());
        }
        live += 1;
        agrees &= view
            .fact(id)
            .is_some_and(|it| it.version == head.version && it.text_hash == head.text_hash);
        Ok(())
    })?;
    Ok((agrees && live == view.len()).then_some((view, lacking)))
}
