//! Checks and repairs a bus that is not open.

use std::path::Path;

use waypost_log::{FolderLock, Log, Marker, OnDamage, Repair, RepairNotes, RepairedDamage, Verify};
use waypost_projection::files::remove_dir;

use crate::bus::decode;
use crate::codec::can_read;
use crate::floor;
use crate::index::Found;
use crate::{Error, Result};

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checked {
    /// Events in the log with a valid checksum.
    pub events: u64,
    /// The last event that was ever published, 0 for none.
    pub last: u64,
    /// Descriptions of damage that cannot be rebuilt: the file, the offset and the events. The bus
    /// does not open before [`repair`].
    pub damage: Vec<String>,
    /// Damage in data derived from the log; opening rebuilds it.
    pub derived_damage: Vec<String>,
}

/// What a repair did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Repaired {
    /// Retained events.
    pub kept: u64,
    /// The next event gets the id after this one.
    pub last: u64,
    /// What was damaged, and whether events were lost.
    pub set_aside: Vec<RepairedDamage>,
}

/// The log, and what its records are, in descriptions of damage.
pub(crate) const LOG: (&str, &str) = ("events/log", "event");

/// The last event that is known, as the marker of a repair in progress has it.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastKnown(u64);

impl RepairNotes for LastKnown {
    const MARKER: Marker = Marker { name: "events-repair", version: 1 };
    const STORE: &str = "events";

    fn read_line(&mut self, line: &str) -> Option<()> {
        self.0 = line.strip_prefix("reached ")?.parse().ok()?;
        Some(())
    }

    fn lines(&self) -> String {
        format!("reached {}\n", self.0)
    }
}

type Repairing = Repair<LastKnown>;

/// Rejects a bus whose repair was interrupted.
pub(crate) fn refuse_interrupted(dir: &Path) -> Result<()> {
    let interrupted = Repairing::interrupted(dir).map_err(|error| Error::of_log(&error, dir))?;
    interrupted.map_or(Ok(()), |why| Err(Error::Damaged(why)))
}

/// Checks that no newer release wrote a part of the bus in the folder `dir`, and changes nothing.
/// Reads as much of the log as `verify` selects.
///
/// # Errors
/// [`Error::Newer`]; never another one.
pub fn check_versions(dir: &Path, verify: Verify) -> Result<()> {
    let log_dir = dir.join("log");
    let options = waypost_log::Options::default().with_can_read(can_read).with_verify(verify);
    let checked = [
        Repairing::read(dir).map(drop).map_err(|error| Error::of_log(&error, dir)),
        floor::read(dir).map(drop),
        Log::check_versions(&log_dir, &options).map_err(|error| Error::of_log(&error, &log_dir)),
    ];
    let newer = checked.into_iter().find(|checked| matches!(checked, Err(Error::Newer(_))));
    newer.unwrap_or(Ok(()))
}

/// Reads the bus in the folder `dir` and reports damage. `known` is the last event that is known
/// from outside the folder, 0 for none: a log that ends before it is damaged. A missing folder is a
/// bus without events.
///
/// # Errors
/// [`Error::Locked`] if the bus is open, [`Error::Newer`] if a newer release wrote a part of it.
pub fn verify(dir: &Path, known: u64) -> Result<Checked> {
    let mut checked = Checked::default();
    if !dir.is_dir() {
        if known > 0 {
            checked.damage.push(missing(known));
        }
        return Ok(checked);
    }
    let _lock = lock(dir)?;
    let failed = |error: waypost_log::Error| Error::of_log(&error, dir);
    checked.damage.extend(Repairing::interrupted(dir).map_err(failed)?);
    let noted_first = match floor::read(dir) {
        Err(Error::Damaged(why)) => {
            checked.damage.push(why);
            1
        }
        floor => floor?.first,
    };
    let found = Found::look(&dir.join("state"))?;
    let reached = known.max(found.reached()).max(noted_first - 1);
    let log_dir = dir.join("log");
    let report = if log_dir.is_dir() {
        let options = waypost_log::Options::default().with_reached(reached).with_can_read(can_read);
        match Log::verify(&log_dir, &options) {
            Ok(report) => report,
            Err(error) => {
                found.close()?;
                return Err(Error::of_log(&error, &log_dir));
            }
        }
    } else {
        if reached > 0 {
            checked.damage.push(missing(reached));
        }
        waypost_log::Report { first_sequence: 1, ..waypost_log::Report::default() }
    };
    checked.events = report.records;
    checked.last = report.last_sequence.max(reached);
    checked.damage.extend(report.damage.iter().map(|damage| damage.describe(LOG.0, LOG.1)));
    let first = noted_first.max(report.first_sequence);
    // A damaged log is shorter than it was; a difference to the index proves nothing then.
    if checked.damage.is_empty()
        && let Some(why) = found.check(first, report.last_sequence)
    {
        checked.derived_damage.push(format!("events/state: {why}"));
    }
    found.close()?;
    Ok(checked)
}

/// Checks what cannot be rebuilt in the folder `dir`, which the caller has locked: that no repair was
/// interrupted, the first retained event, and every event of the log. A log that ends before the
/// event `reached` is damaged. A missing folder is a bus without events. Returns the last event, 0 for
/// none.
///
/// # Errors
/// [`Error::Damaged`]: [`repair`] the bus first. [`Error::Newer`] if a newer release wrote a part of
/// it.
pub fn check_log(dir: &Path, reached: u64) -> Result<u64> {
    refuse_interrupted(dir)?;
    let reached = reached.max(floor::read(dir)?.first - 1);
    let log_dir = dir.join("log");
    let options = waypost_log::Options::default().with_reached(reached).with_can_read(can_read);
    let report =
        Log::verify(&log_dir, &options).map_err(|error| Error::of_log(&error, &log_dir))?;
    if report.damage.is_empty() {
        return Ok(report.last_sequence);
    }
    Err(Error::of_log(&waypost_log::Error::Damaged(report.damage), dir))
}

/// Keeps every event that has a valid checksum, sets damaged bytes aside, and drops derived data,
/// which the next opening rebuilds. `known` is as for [`verify`]. Ids of lost events are not
/// reused. It can be called again after a crash, and if nothing is damaged.
///
/// # Errors
/// [`Error::Locked`] if the bus is open, [`Error::Newer`] if a newer release wrote a part of it,
/// and [`Error::Damaged`] for an event with a good checksum that cannot be read.
pub fn repair(dir: &Path, known: u64) -> Result<Repaired> {
    repair_watched(dir, known, None)
}

/// Like [`repair`]. `on_change` is called before changes of files, for tests that end the process
/// there.
///
/// # Errors
/// As [`repair`].
pub fn repair_watched(dir: &Path, known: u64, on_change: Option<fn()>) -> Result<Repaired> {
    if !dir.is_dir() {
        if known == 0 {
            return Ok(Repaired::default());
        }
        std::fs::create_dir_all(dir).map_err(|error| Error::io(dir, error))?;
    }
    let changing = || on_change.into_iter().for_each(|hook| hook());
    let _lock = lock(dir)?;
    let failed = |error: waypost_log::Error| Error::of_log(&error, dir);
    let mut mark = Repairing::read(dir).map_err(failed)?.unwrap_or_default();
    let (noted_first, damaged_first) = match floor::read(dir) {
        Err(Error::Damaged(why)) => (1, Some(why)),
        floor => (floor?.first, None),
    };
    if let Some(why) = &damaged_first {
        let aside = floor::aside(dir);
        let what = format!(
            "{why}; it was moved to {}, and events that retention had dropped may have returned",
            aside.display()
        );
        mark.add(RepairedDamage { what, is_loss: false, is_kept: false });
    }
    let found = Found::look(&dir.join("state"))?;
    let known = known.max(found.reached()).max(noted_first - 1).max(mark.notes.0);
    mark.notes.0 = known;
    found.close()?;
    let log_dir = dir.join("log");
    let options = waypost_log::Options::default()
        .with_on_damage(OnDamage::Salvage)
        .with_free_bytes_min(0)
        .with_reached(known)
        .with_can_read(can_read)
        .with_on_change(on_change);
    let log_error = |error: &waypost_log::Error| Error::of_log(error, &log_dir);
    let report = Log::verify(&log_dir, &options).map_err(|error| log_error(&error))?;
    mark.add_all(&report.damage, LOG.1);
    // Once the log is salvaged, nothing in it shows that it was damaged.
    changing();
    if !mark.set_aside.is_empty() {
        mark.write(dir).map_err(failed)?;
    }
    if damaged_first.is_some() {
        changing();
        floor::set_aside(dir)?;
    }
    let (log, recovery) = Log::open(&log_dir, &options).map_err(|error| log_error(&error))?;
    mark.add_all(&recovery.damage, LOG.1);
    let mut repaired = Repaired { set_aside: mark.set_aside, ..Repaired::default() };
    let mut entries = log.entries_after(0);
    while let Some(entry) = entries.next_ref() {
        let entry = entry.map_err(|error| log_error(&error))?;
        decode(entry.sequence, entry.kind, entry.version, entry.payload)?;
        repaired.kept += 1;
    }
    repaired.last = log.last_sequence();
    drop(entries);
    drop(log);
    if !repaired.set_aside.is_empty() {
        // It may contain what the log has lost, or be behind it.
        for derived in ["state", "state.aside"] {
            changing();
            remove_dir(&dir.join(derived))?;
        }
        changing();
        Repairing::remove(dir).map_err(failed)?;
    }
    Ok(repaired)
}

fn lock(dir: &Path) -> Result<FolderLock> {
    FolderLock::take(dir).map_err(|error| Error::of_log(&error, dir))
}

fn missing(last: u64) -> String {
    format!("the event log is missing: events 1 to {last} had been published")
}
