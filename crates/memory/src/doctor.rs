//! Checks and repairs a store that is not open.

use std::path::Path;

use waypost_derived::files::remove_dir;
use waypost_derived::{Unusable, boot_id};
use waypost_log::{FolderLock, Log, OnDamage, Options};

use crate::layout::check_format;
use crate::open::{Folders, applied, verify_digests};
use crate::record::Record;
use crate::snapshot::Snapshot;
use crate::state::State;
use crate::vectors::log_error;
use crate::{Error, Result};

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
    /// What was damaged and is set aside.
    pub set_aside: Vec<String>,
}

/// Reads the store in the data folder `dir` and tells what is damaged.
///
/// # Errors
/// [`Error::Locked`] if the store is open: stop the service first.
pub fn check(dir: &Path) -> Result<Checked> {
    let folders = Folders::new(dir);
    let _lock = take(&folders)?;
    let mut checked = Checked::default();
    let last_sequence = if folders.log.exists() {
        let report = Log::verify(&folders.log).map_err(|it| log_error(&it, &folders.log))?;
        checked.log_records = report.records;
        checked.log_damage = report.damage.iter().map(ToString::to_string).collect();
        report.last_sequence
    } else {
        0
    };
    if folders.state.exists()
        && let Err(Unusable(why)) = check_state(&folders.state, last_sequence)
    {
        checked.derived_damage.push(format!("state: {why}"));
    }
    match Snapshot::load(&folders.index) {
        Ok(Some(it)) if it.position > last_sequence => {
            checked.derived_damage.push("index: its snapshot is ahead of the log".to_owned());
        }
        Ok(_) => {}
        Err(Unusable(why)) => checked.derived_damage.push(format!("index: {why}")),
    }
    if folders.vectors.exists() {
        let vectors =
            Log::verify(&folders.vectors).map_err(|it| log_error(&it, &folders.vectors))?;
        let damage = vectors.damage.iter().map(|it| format!("vectors: {it}"));
        checked.derived_damage.extend(damage);
    }
    Ok(checked)
}

/// Opens the state as a start would, and reads all of it.
fn check_state(dir: &Path, last_sequence: u64) -> std::result::Result<(), Unusable> {
    let unusable = |it: Error| Unusable(it.to_string());
    const CACHE_BYTES: u64 = 16 * 1024 * 1024;
    let state = State::open(dir, CACHE_BYTES, &boot_id()).map_err(unusable)??;
    if applied(&state).map_err(unusable)? > last_sequence {
        return Err(Unusable("it is ahead of the log".to_owned()));
    }
    state.verify().map_err(unusable)?;
    verify_digests(&state).map_err(unusable)?;
    state.close().map_err(unusable)
}

/// Keeps every record of the log that has a good checksum, sets damaged parts aside, and drops what
/// is derived so that the next opening builds it anew.
///
/// # Errors
/// [`Error::Locked`] if the store is open: stop the service first.
pub fn repair(dir: &Path) -> Result<Repaired> {
    let folders = Folders::new(dir);
    let _lock = take(&folders)?;
    let mut repaired = Repaired::default();
    let options = Options { on_damage: OnDamage::Salvage, free_bytes_min: 0, ..Options::default() };
    let (log, recovery) =
        Log::open(&folders.log, &options).map_err(|it| log_error(&it, &folders.log))?;
    repaired.set_aside = recovery.damage.iter().map(ToString::to_string).collect();
    for entry in log.entries_after(0) {
        let entry = entry.map_err(|it| log_error(&it, &folders.log))?;
        match Record::decode(entry.kind, entry.version, &entry.payload) {
            Ok(_) => repaired.kept_records += 1,
            Err(why) => {
                return Err(Error::Damaged(format!(
                    "record {} of the log has a good checksum but cannot be used: {}",
                    entry.sequence, why.0
                )));
            }
        }
    }
    drop(log);
    let derived = [folders.state.clone(), folders.state_aside(), folders.index.clone()];
    for folder in &derived {
        remove_dir(folder)?;
    }
    Ok(repaired)
}

fn take(folders: &Folders) -> Result<FolderLock> {
    if !folders.data.is_dir() {
        return Err(Error::invalid("the data folder", "is not there"));
    }
    let lock = FolderLock::take(&folders.data).map_err(|it| log_error(&it, &folders.data))?;
    check_format(&folders.data)?;
    Ok(lock)
}
