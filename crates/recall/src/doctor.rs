//! Checks and repairs a recall log that no service has open.

use std::path::Path;

use waypost_log::{Log, OnDamage, RepairedDamage, Verify};

use crate::Result;
use crate::error::FOLDER;
use crate::record::can_read;

/// What [`verify`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checked {
    /// Records with a valid checksum.
    pub records: u64,
    /// Each damaged place, with its file.
    pub damage: Vec<String>,
}

/// What [`repair`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repaired {
    /// Records that were kept.
    pub kept: u64,
    /// The last record, or the last one that is known to have been written.
    pub last: u64,
    /// Each damaged place.
    pub set_aside: Vec<RepairedDamage>,
}

/// Checks that no newer release wrote a part of the log in `dir`, and changes nothing.
///
/// # Errors
/// [`Error::Log`](crate::Error::Log) with [`waypost_log::Error::Newer`] if one did. What cannot be read is not an
/// error here: [`verify`] and [`repair`] report it.
pub fn check_versions(dir: &Path, verify: Verify) -> Result<()> {
    match Log::check_versions(dir, &options().with_verify(verify)) {
        Err(error @ waypost_log::Error::Newer { .. }) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Reads every byte of the log in `dir`, and changes nothing. `known` is the last record that is known
/// from outside the folder, 0 for none: a log that ends before it is damaged. A missing folder is a log
/// without records. The caller must hold the lock of the data folder.
///
/// # Errors
/// [`Error::Log`](crate::Error::Log) if a newer release wrote a part of it, or if the file system fails. Damage is not
/// an error.
pub fn verify(dir: &Path, known: u64) -> Result<Checked> {
    let report = Log::verify(dir, &options().with_reached(known))?;
    let damage = report.damage.iter().map(|damage| damage.describe(FOLDER, "sequence")).collect();
    Ok(Checked { records: report.records, damage })
}

/// Keeps every record with a valid checksum, and sets damaged bytes aside. Sequences of lost records are
/// not used again, which shows [`RecallLog::open`](crate::RecallLog::open) what was forgotten. `known`
/// is as for [`verify`]. The caller must hold the lock of the data folder.
///
/// # Errors
/// As [`verify`].
pub fn repair(dir: &Path, known: u64) -> Result<Repaired> {
    if !dir.is_dir() && known == 0 {
        return Ok(Repaired::default());
    }
    let options = options().with_reached(known).with_on_damage(OnDamage::Salvage);
    let (log, recovery) = Log::open(dir, &options)?;
    let set_aside =
        recovery.damage.iter().map(|damage| damage.repaired(FOLDER, "sequence")).collect();
    let mut kept = 0;
    let mut records = log.entries_after(0);
    while let Some(record) = records.next_ref() {
        record?;
        kept += 1;
    }
    Ok(Repaired { kept, last: log.last_sequence(), set_aside })
}

fn options() -> waypost_log::Options {
    waypost_log::Options::default().with_free_bytes_min(0).with_can_read(can_read)
}
