//! Checks and repairs a store that is not open.

use std::path::Path;

use waypost_log::{FolderLock, Log, OnDamage, Options, RepairedDamage, Verify};
use waypost_projection::files::{copy_dir, remove_dir};
use waypost_projection::{Unusable, refuse_open};

use self::complete::{Lost, complete};
use crate::index::snapshot::Snapshot;
use crate::journal::{self, Journal};
use crate::layout::{Folders, check_format, format_damage, has_format, mend_format};
use crate::log_error::{LOG, VECTORS, log_error, vectors_error};
use crate::record::Record;
use crate::repairing::{self, Progress, Repairing};
use crate::state::recovery::FoundState;
use crate::state::txn::Txn;
use crate::{Error, MemoryId, Reached, Result, StoreOptions};

mod complete;

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checked {
    /// Records in the log with a valid checksum.
    pub log_records: u64,
    /// Descriptions of damage in the log, the source of truth: [`repair`] keeps what is left.
    pub log_damage: Vec<String>,
    /// Descriptions of damage in derived data, which opening rebuilds.
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
    /// What was damaged, and whether records were lost.
    pub set_aside: Vec<RepairedDamage>,
    /// Memories whose newest text is lost: they do not exist, or have an earlier text. Their ids
    /// are not reused, so an import can restore them. Known only from an intact state.
    pub lost: Vec<MemoryId>,
    /// Memories that lost an earlier text.
    pub lost_history: Vec<MemoryId>,
    /// How far the store has reached after the repair.
    pub reached: Reached,
    /// Records after this one are lost, and the state, which could tell which memories and which
    /// deletions and links they were about, is damaged or missing.
    pub unnamed_after: Option<u64>,
    /// Nothing was damaged, and nothing was changed.
    pub was_sound: bool,
}

/// Checks that no newer release wrote a part of the store in the data folder `dir`, and changes
/// nothing. Reads as much of the log as `verify` selects.
///
/// # Errors
/// [`Error::Newer`]; never another one.
pub fn check_versions(dir: &Path, verify: Verify) -> Result<()> {
    let folders = Folders::new(dir);
    let options = journal::options(0).with_verify(verify);
    // The first error need not be about a version.
    let checked = [
        has_format(&folders.data).map(drop),
        repairing::interrupted(&folders).map(drop),
        Log::check_versions(&folders.log, &options)
            .map_err(|error| log_error(&error, &folders.log)),
        Log::check_versions(&folders.vectors, &Options::default())
            .map_err(|error| vectors_error(&error, &folders.vectors)),
    ];
    let newer = checked.into_iter().find(|checked| matches!(checked, Err(Error::Newer { .. })));
    newer.unwrap_or(Ok(()))
}

/// Reads the store in the data folder `dir` and reports damage. `known` is how far the store had
/// reached, as known from outside its folder: a log that ends before it is damaged.
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
        Ok(snapshot) => reached = reached.max(snapshot.map_or(0, |snapshot| snapshot.position)),
        Err(Unusable(why)) => checked.derived_damage.push(format!("index: {why}")),
    }
    let report = Log::verify(&folders.log, &journal::options(reached))
        .map_err(|error| log_error(&error, &folders.log))?;
    checked.log_records = report.records;
    checked.log_damage =
        report.damage.iter().map(|damage| damage.describe(LOG, "sequence")).collect();
    checked.log_damage.extend(repairing::interrupted(&folders)?);
    let vectors = Log::verify(&folders.vectors, &Options::default())
        .map_err(|error| vectors_error(&error, &folders.vectors))?;
    let damage = vectors.damage.iter().map(|damage| damage.describe(VECTORS, "sequence"));
    checked.derived_damage.extend(damage);
    Ok(checked)
}

/// Checks what cannot be rebuilt in the data folder `dir`, which the caller has locked: the layout's
/// version, that no repair was interrupted, and every record of the log. A log that ends before the
/// record `reached` is damaged.
///
/// # Errors
/// [`Error::Damaged`]: [`repair`] the store first. [`Error::Newer`] if a newer release wrote a part
/// of it.
pub fn check_log(dir: &Path, reached: u64) -> Result<()> {
    let folders = Folders::new(dir);
    check_format(dir)?;
    repairing::refuse_interrupted(&folders)?;
    let failed = |error: &waypost_log::Error| log_error(error, &folders.log);
    let report =
        Log::verify(&folders.log, &journal::options(reached)).map_err(|error| failed(&error))?;
    if report.damage.is_empty() {
        return Ok(());
    }
    Err(failed(&waypost_log::Error::Damaged(report.damage)))
}

/// Changes nothing where nothing is damaged. Otherwise keeps every record of the log that has a good
/// checksum, sets damaged parts aside, and drops what is derived so that the next opening builds it
/// anew. What the state knows of lost records, all
/// but their texts, is written to the log again. No id and no sequence is given out twice; `known` is
/// as for [`check`].
///
/// # Errors
/// [`Error::Locked`] if the store is open: stop the service first. [`Error::Newer`] if a newer
/// release wrote it; nothing is changed then.
pub fn repair(dir: &Path, known: Reached) -> Result<Repaired> {
    repair_watched(dir, known, None)
}

/// Like [`repair`]. `on_change` is called before changes of files, for tests that end the process
/// there.
///
/// # Errors
/// As [`repair`].
pub fn repair_watched(dir: &Path, known: Reached, on_change: Option<fn()>) -> Result<Repaired> {
    let folders = Folders::new(dir);
    let _lock = lock(&folders)?;
    let format = format_damage(&folders.data)?;
    let options = StoreOptions { on_change, ..StoreOptions::default() };
    let copied = copied_state(&folders)?;
    let found = FoundState::in_folder(&copied, &options)?;
    let snapshot = Snapshot::load(&folders.index);
    let is_derived_sound = snapshot.is_ok() && found.is_sound();
    let snapshot = snapshot.ok().flatten().map_or(0, |snapshot| snapshot.position);
    let mut by_state = Reached { sequence: found.applied().max(snapshot), id: 0 };
    let mut applied = None;
    if let FoundState::Whole { state, applied: last } = &found {
        by_state.id = Txn::new(state).next_id()? - 1;
        applied = Some(*last);
    }
    let notes = Progress { applied, ..Progress::default() };
    let begun = Repairing { notes, ..Repairing::default() };
    let mut mark = repairing::read(&folders)?.unwrap_or(begun);
    mark.notes.raise(known);
    mark.notes.raise(by_state);
    let log_options = journal::options(mark.notes.known.sequence)
        .with_on_damage(OnDamage::Salvage)
        .with_free_bytes_min(0)
        .with_on_change(on_change);
    let report = Log::verify(&folders.log, &log_options);
    let report = report.map_err(|error| log_error(&error, &folders.log))?;
    let is_format_damaged = format.is_some();
    repairing::found(&mut mark, format, &report.damage);
    // Once the log is salvaged, nothing in it shows that it was damaged.
    repairing::write(&mark, &folders, &options)?;
    if is_format_damaged {
        mend_format(&folders.data)?;
    }
    let mut repaired = salvage((&folders, &options), &log_options, found, &mut mark)?;
    repaired.was_sound = is_derived_sound && mark.set_aside.is_empty();
    let mut dropped = vec![copied.state];
    if !repaired.was_sound {
        dropped.extend([folders.state.clone(), folders.state_aside(), folders.index.clone()]);
    }
    for folder in &dropped {
        options.changing();
        remove_dir(folder)?;
    }
    repairing::remove(&mark, &folders, &options)?;
    Ok(repaired)
}

/// The folders with a copy of the state in its place: a power cut makes a state unusable while it is
/// open, and only it can name what a damaged log has lost.
fn copied_state(folders: &Folders) -> Result<Folders> {
    let copied = Folders { state: folders.memory.join("state.copy"), ..folders.clone() };
    remove_dir(&copied.state)?;
    if folders.state.exists() {
        refuse_open(&folders.state)?;
        copy_dir(&folders.state, &copied.state)?;
    }
    Ok(copied)
}

/// Salvages the log and completes it from the state, as far as an interrupted repair has not.
fn salvage(
    (folders, options): (&Folders, &StoreOptions),
    log_options: &Options,
    found: FoundState,
    mark: &mut Repairing,
) -> Result<Repaired> {
    let (journal, recovery) = Journal::open(folders, log_options, None)?;
    repairing::found(mark, None, &recovery.damage);
    let salvaged = *mark.notes.salvaged.get_or_insert(journal.last());
    repairing::write(mark, folders, options)?;
    let mut repaired = Repaired { set_aside: mark.set_aside.clone(), ..Repaired::default() };
    let (mut last_kept, mut is_completed) = (0, false);
    journal.feed(0, &mut |entry| {
        let record = Record::of(entry)?;
        if entry.sequence <= salvaged {
            repaired.kept_records += 1;
            last_kept = entry.sequence;
        } else {
            // It is the last record of a completion.
            is_completed |= matches!(record, Record::Taken { .. });
        }
        Ok(())
    })?;
    repaired.reached.id = mark.notes.known.id;
    repaired.lost.clone_from(&mark.notes.lost);
    repaired.lost_history.clone_from(&mark.notes.lost_history);
    let is_loss = repaired.set_aside.iter().any(|aside| aside.is_loss);
    let mut is_loss_unnamed = is_loss && !matches!(found, FoundState::Whole { .. });
    if let Some(kept) = mark.notes.completed {
        drop(found);
        repaired.kept_records = kept;
        is_loss_unnamed = mark.notes.is_loss_unnamed;
    } else if mark.notes.gaps.is_empty() {
        drop(found);
    } else {
        let lost = Lost::of(&mark.notes, salvaged, last_kept, is_completed);
        complete((folders, options), &journal, found, &lost, &mut repaired)?;
        for ids in [&mut repaired.lost, &mut repaired.lost_history] {
            ids.sort_unstable();
            ids.dedup();
        }
        mark.notes.complete(&repaired, is_loss_unnamed);
        repairing::write(mark, folders, options)?;
    }
    let first_gap = mark.notes.gaps.iter().map(|gap| gap.0).min().unwrap_or(1);
    repaired.unnamed_after = is_loss_unnamed.then_some(first_gap - 1);
    repaired.reached.sequence = journal.last();
    Ok(repaired)
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
    journal::lease(&folders.data)
}
