//! Checks and repairs a store that is not open.

use std::path::Path;

use waypost_derived::files::remove_dir;
use waypost_derived::{Unusable, boot_id};
use waypost_log::{FolderLock, Log, Mended, OnDamage, Options};

use crate::codec::Reader;
use crate::index::snapshot::Snapshot;
use crate::layout::{Folders, check_format, mend_format};
use crate::link::Link;
use crate::log_error::{LOG, VECTORS, log_error, vectors_error};
use crate::record::{Edge, RECORD_VERSION, Record};
use crate::records::log_options;
use crate::state::found::{FoundState, replay};
use crate::state::keys::{self, StoredVersion};
use crate::state::txn::Txn;
use crate::state::{State, damaged};
use crate::{Error, MemoryId, Reached, Result, StoreOptions};

/// A repair appends so many records at once.
const RECORDS_AT_ONCE: usize = 1_000;

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checked {
    /// Records in the log with a good checksum.
    pub log_records: u64,
    /// What is damaged in the log, in words. The log is the truth: [`repair`] keeps what is left.
    pub log_damage: Vec<String>,
    /// What is damaged in what is derived from the log; opening rebuilds that by itself.
    pub derived_damage: Vec<String>,
}

impl Checked {
    /// Whether nothing is damaged.
    pub fn is_sound(&self) -> bool {
        self.log_damage.is_empty() && self.derived_damage.is_empty()
    }
}

/// What a repair did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Repaired {
    /// Records kept.
    pub kept_records: u64,
    /// What was damaged, and whether records are lost by it.
    pub set_aside: Vec<Mended>,
    /// Memories whose newest text is lost: they are gone, or have an earlier text. Their ids are
    /// not given out again, so that an import brings them back. Only an intact state can tell.
    pub lost: Vec<MemoryId>,
    /// Memories that lost an earlier text.
    pub lost_history: Vec<MemoryId>,
    /// How far the store counts as having come now.
    pub reached: Reached,
    /// Records are lost, and the state, which could tell of which memories, is damaged or missing.
    pub is_loss_unnamed: bool,
}

/// Reads the store in the data folder `dir` and tells what is damaged. `known` is what is known from
/// outside of its folder of how far it had come: a log that ends before that is damaged.
///
/// # Errors
/// [`Error::Locked`] if the store is open: stop the service first. [`Error::Newer`] if a newer
/// release wrote it.
pub fn check(dir: &Path, known: Reached) -> Result<Checked> {
    let folders = Folders::new(dir);
    let _lock = take(&folders)?;
    let mut checked = Checked::default();
    let mut reached = known.sequence;
    match FoundState::in_folder(&folders, &StoreOptions::default())? {
        FoundState::Missing => {}
        FoundState::Unusable(why) => checked.derived_damage.push(format!("state: {why}")),
        FoundState::Whole { state, applied } => {
            reached = reached.max(applied);
            if let Err(error) = state.verify() {
                checked.derived_damage.push(format!("state: {error}"));
            }
            state.close()?;
        }
    }
    match Snapshot::load(&folders.index) {
        Ok(snapshot) => reached = reached.max(snapshot.map_or(0, |it| it.position)),
        Err(Unusable(why)) => checked.derived_damage.push(format!("index: {why}")),
    }
    let report = Log::verify(&folders.log, &log_options(reached))
        .map_err(|it| log_error(&it, &folders.log))?;
    checked.log_records = report.records;
    checked.log_damage = report.damage.iter().map(|it| it.describe(LOG)).collect();
    let vectors = Log::verify(&folders.vectors, &Options::default())
        .map_err(|it| vectors_error(&it, &folders.vectors))?;
    let damage = vectors.damage.iter().map(|it| it.describe(VECTORS));
    checked.derived_damage.extend(damage);
    Ok(checked)
}

/// Keeps every record of the log that has a good checksum, sets damaged parts aside, and drops what
/// is derived so that the next opening builds it anew. What the state knows of lost records, all
/// but their texts, is written to the log again. No id and no sequence is given out twice; `known` is
/// as for [`check`].
///
/// # Errors
/// [`Error::Locked`] if the store is open: stop the service first. [`Error::Newer`] if a newer
/// release wrote it; nothing is changed then.
pub fn repair(dir: &Path, known: Reached) -> Result<Repaired> {
    let folders = Folders::new(dir);
    let _lock = lock(&folders)?;
    let mut repaired = Repaired::default();
    let mended = mend_format(&folders.data)?;
    let found = FoundState::in_folder(&folders, &StoreOptions::default())?;
    let snapshot = Snapshot::load(&folders.index).ok().flatten().map_or(0, |it| it.position);
    let options = Options {
        on_damage: OnDamage::Salvage,
        free_bytes_min: 0,
        ..log_options(found.applied().max(snapshot).max(known.sequence))
    };
    let opened = Log::open(&folders.log, &options);
    let (log, recovery) = opened.map_err(|it| log_error(&it, &folders.log))?;
    let damaged = recovery.damage.iter().map(|it| it.mended(it.describe(LOG)));
    let format = mended.map(|what| Mended { what, is_loss: false, is_kept: false });
    repaired.set_aside = format.into_iter().chain(damaged).collect();
    let is_state_whole = matches!(found, FoundState::Whole { .. });
    repaired.is_loss_unnamed = !is_state_whole && repaired.set_aside.iter().any(|it| it.is_loss);
    let mut last_kept = 0;
    for entry in log.entries_after(0) {
        let entry = entry.map_err(|it| log_error(&it, &folders.log))?;
        Record::decode(entry.kind, entry.version, &entry.payload)
            .map_err(|it| it.of(entry.sequence))?;
        repaired.kept_records += 1;
        last_kept = entry.sequence;
    }
    let by_state = match &found {
        FoundState::Whole { state, .. } => Txn::new(state).next_id()? - 1,
        FoundState::Missing | FoundState::Unusable(_) => 0,
    };
    repaired.reached.id = known.id.max(by_state);
    if !recovery.damage.is_empty() {
        let lost = Lost::of(&recovery.damage, &log, last_kept);
        complete(&folders, &log, found, &lost, &mut repaired)?;
    }
    repaired.reached.sequence = log.last_sequence();
    drop(log);
    let derived = [folders.state.clone(), folders.state_aside(), folders.index.clone()];
    for folder in &derived {
        remove_dir(folder)?;
    }
    Ok(repaired)
}

/// The records that a salvage lost.
struct Lost {
    /// How many they are, at most.
    count: u64,
    /// The last of them.
    last: u64,
    /// Records that may have been behind it: what is known of how far the log had come may be old.
    behind: u64,
}

impl Lost {
    fn of(damage: &[waypost_log::Damage], log: &Log, last_kept: u64) -> Self {
        let end = |it: &waypost_log::Damage| it.to.min(log.last_sequence());
        let count = damage.iter().map(|it| (end(it) + 1).saturating_sub(it.from)).sum();
        let last = damage.iter().map(end).max().unwrap_or(0);
        Self { count, last, behind: log.last_sequence() - last.max(last_kept) }
    }
}

/// Appends to a salvaged log what the state, if it is intact, knows of the records that are lost.
fn complete(
    folders: &Folders,
    log: &Log,
    found: FoundState,
    lost: &Lost,
    repaired: &mut Repaired,
) -> Result<()> {
    let folder = folders.memory.join("state.repair");
    remove_dir(&folder)?;
    let options = StoreOptions::default();
    let by_log = State::open(&folder, &options, &boot_id())?
        .map_err(|Unusable(why)| Error::Damaged(format!("failed to create a state: {why}")))?;
    replay(&by_log, log, &options)?;
    let mut records = Vec::new();
    // Each lost record may have given out an id, an import higher ones.
    let told = repaired.reached.id.saturating_add(1);
    let counted = Txn::new(&by_log).next_id()?.saturating_add(lost.count);
    let mut next_id = counted.max(told).saturating_add(lost.behind);
    if let FoundState::Whole { state, applied } = found {
        // Together they are all that is known.
        replay(&state, log, &options)?;
        let known = Txn::new(&state).next_id()?;
        next_id = if applied >= lost.last { known.max(told) } else { known.max(next_id) };
        compare_memories(&state, &by_log, log, &mut records, repaired)?;
        compare_links(&state, &by_log, &mut records)?;
    }
    records.push(Record::Taken { below: next_id });
    repaired.reached.id = next_id - 1;
    for some in records.chunks(RECORDS_AT_ONCE) {
        let payloads: Vec<Vec<u8>> = some.iter().map(Record::encode).collect();
        let entries: Vec<waypost_log::Record<'_>> = some
            .iter()
            .zip(&payloads)
            .map(|(it, payload)| waypost_log::Record {
                kind: it.kind(),
                version: RECORD_VERSION,
                payload,
            })
            .collect();
        log.append_batch(&entries).map_err(|it| log_error(&it, &folders.log))?;
    }
    drop(by_log);
    Ok(remove_dir(&folder)?)
}

/// Deletions that the log lost, and the memories whose texts it lost.
fn compare_memories(
    known: &State,
    by_log: &State,
    log: &Log,
    records: &mut Vec<Record<'static>>,
    repaired: &mut Repaired,
) -> Result<()> {
    let by_log = Txn::new(by_log);
    known.heads(&mut |id, head| {
        let left = by_log.head(id)?;
        if let Some(at) = head.deleted_at {
            if left.is_none_or(|it| it.deleted_at.is_none()) {
                records.push(Record::Delete { id, at });
            }
            return Ok(());
        }
        let mut lost_versions = Vec::new();
        known.scan(&keys::versions_of(id), &mut |key, value| {
            let number = key.last_chunk().copied().map_or(0, u32::from_be_bytes);
            let stored = StoredVersion::decode(value).map_err(damaged)?;
            let Some(sequence) = stored.sequence else { return Ok(()) };
            if log.read(sequence).is_ok_and(|it| it.is_none()) {
                lost_versions.push(number);
            }
            Ok(())
        })?;
        if left.is_none_or(|it| it.version < head.version) {
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
        links.push(Link { from, to, kind, created_at });
        Ok(())
    })?;
    Ok(links)
}

fn take(folders: &Folders) -> Result<FolderLock> {
    let lock = lock(folders)?;
    check_format(&folders.data)?;
    Ok(lock)
}

fn lock(folders: &Folders) -> Result<FolderLock> {
    if !folders.data.is_dir() {
        return Err(Error::invalid("the data folder", "does not exist"));
    }
    FolderLock::take(&folders.data).map_err(|it| log_error(&it, &folders.data))
}
