//! Completes a salvaged log with what the state knows about lost records.

use waypost_projection::files::remove_dir;
use waypost_projection::{Unusable, boot_id};

use super::Repaired;
use crate::codec::Reader;
use crate::journal::Journal;
use crate::layout::Folders;
use crate::record::{Edge, Record};
use crate::repairing::Progress;
use crate::state::keys::{self, StoredVersion};
use crate::state::recovery::FoundState;
use crate::state::replay::replay;
use crate::state::txn::Txn;
use crate::state::{State, damaged};
use crate::{Error, Link, Result, StoreOptions};

/// Number of records that a repair appends at once.
const RECORDS_AT_ONCE: usize = 1_000;

/// The records that a salvage lost.
pub(super) struct Lost {
    /// Maximum number of lost records.
    count: u64,
    /// The last of them.
    last: u64,
    /// Number of records that may have followed it: the known end of the log may be outdated.
    behind: u64,
    /// The last record that the state had before the first repair: a repair brings the state up
    /// to what is left of the log, which does not contain the lost records.
    applied: u64,
    /// Whether an interrupted repair has appended all of the completion.
    is_completed: bool,
}

impl Lost {
    /// After the salvage the log ended at `salvaged`, and had kept the records up to `last_kept`.
    pub(super) fn of(
        Progress { gaps, applied, .. }: &Progress,
        salvaged: u64,
        last_kept: u64,
        is_completed: bool,
    ) -> Self {
        let end = |pair: &(u64, u64)| pair.1.min(salvaged);
        let count = gaps.iter().map(|gap| (end(gap) + 1).saturating_sub(gap.0)).sum();
        let last = gaps.iter().map(end).max().unwrap_or(0);
        let behind = salvaged.saturating_sub(last.max(last_kept));
        Self { count, last, behind, applied: applied.unwrap_or(0), is_completed }
    }
}

/// Appends to a salvaged log what the state, if it is intact, knows of the records that are lost.
pub(super) fn complete(
    (folders, options): (&Folders, &StoreOptions),
    journal: &Journal,
    found: FoundState,
    lost: &Lost,
    repaired: &mut Repaired,
) -> Result<()> {
    let folder = folders.memory.join("state.repair");
    remove_dir(&folder)?;
    let by_log = State::open(&folder, options, &boot_id())?
        .map_err(|Unusable(why)| Error::Damaged(format!("failed to create a state: {why}")))?;
    replay(&by_log, journal, u64::MAX, options)?;
    let mut records = Vec::new();
    // Each lost record may have assigned an id, and an import higher ones.
    let told = repaired.reached.id.saturating_add(1);
    let counted = Txn::new(&by_log).next_id()?.saturating_add(lost.count);
    let mut next_id = counted.max(told).saturating_add(lost.behind);
    if let FoundState::Whole { state, .. } = found {
        // Apply the rest of the log, so that the state contains everything that is known.
        replay(&state, journal, u64::MAX, options)?;
        let known = Txn::new(&state).next_id()?;
        next_id = if lost.applied >= lost.last { known.max(told) } else { known.max(next_id) };
        compare_memories(&state, &by_log, journal, &mut records, repaired)?;
        compare_links(&state, &by_log, &mut records)?;
    }
    if lost.is_completed {
        // An interrupted repair has written everything, including which ids are taken.
        records.clear();
        next_id = Txn::new(&by_log).next_id()?;
    } else {
        records.push(Record::Taken { below: next_id });
    }
    repaired.reached.id = next_id - 1;
    for some in records.chunks(RECORDS_AT_ONCE) {
        let some: Vec<_> = some.iter().map(Record::encoded).collect();
        journal.append(journal.last(), &some).map_err(|error| journal.error(&error))?;
    }
    drop(by_log);
    Ok(remove_dir(&folder)?)
}

/// Deletions that the log lost, and the memories whose texts it lost.
fn compare_memories(
    known: &State,
    by_log: &State,
    journal: &Journal,
    records: &mut Vec<Record<'static>>,
    repaired: &mut Repaired,
) -> Result<()> {
    let by_log = Txn::new(by_log);
    known.heads(&mut |id, head| {
        let left = by_log.head(id)?;
        if let Some(at) = head.deleted_at {
            if left.is_none_or(|left| left.deleted_at.is_none()) {
                records.push(Record::Delete { id, at });
            }
            return Ok(());
        }
        let mut lost_versions = Vec::new();
        known.scan(&keys::versions_of(id), &mut |key, value| {
            let number = key.last_chunk().copied().map_or(0, u32::from_be_bytes);
            let stored = StoredVersion::decode(value).map_err(damaged)?;
            let Some(sequence) = stored.sequence else { return Ok(()) };
            if journal.read(sequence).is_ok_and(|it| it.is_none()) {
                lost_versions.push(number);
            }
            Ok(())
        })?;
        if left.is_none_or(|left| left.version < head.version) {
            repaired.lost.push(id);
        } else if !lost_versions.is_empty() {
            repaired.lost_history.push(id);
        }
        Ok(())
    })
}

/// Links that the log lost, and those whose removal it lost.
fn compare_links(known: &State, by_log: &State, records: &mut Vec<Record<'static>>) -> Result<()> {
    let (known_links, left_links) = (links(known)?, links(by_log)?);
    let (known, by_log) = (Txn::new(known), Txn::new(by_log));
    for link in &known_links {
        let edge = edge(link);
        if by_log.link(edge)?.is_none() {
            records.push(Record::Link { edge, at: link.created_at });
        }
    }
    for link in &left_links {
        let edge = edge(link);
        if known.link(edge)?.is_none() {
            records.push(Record::Unlink { edge, at: link.created_at });
        }
    }
    Ok(())
}

fn edge(link: &Link) -> Edge {
    Edge { from: link.from, to: link.to, kind: link.kind }
}

fn links(state: &State) -> Result<Vec<Link>> {
    let mut links = Vec::new();
    state.scan(keys::LINKS, &mut |key, value| {
        let Edge { from, to, kind } = keys::edge_of(key).map_err(damaged)?;
        let created_at = Reader::new(value).time().map_err(damaged)?;
        links.push(Link { from, to, kind, created_at, depth: None });
        Ok(())
    })?;
    Ok(links)
}
