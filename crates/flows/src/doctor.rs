//! Checks and repairs a journal that no engine has open.

use std::path::Path;

use waypost_log::{Log, Mended, OnDamage};

use crate::RunId;
use crate::engine::{Error, decoded};
use crate::journal::{JournalDir, describe};
use crate::machine::{Gap, Lost, Machine, Options};
use crate::record::{Record, log_options};

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checked {
    /// Records in the journal with a valid checksum.
    pub records: u64,
    /// The last evaluated event, according to the records: the events up to it must exist.
    pub cursor: u64,
    /// Descriptions of damage that cannot be rebuilt: the file, the offset, the records, and the
    /// runs that may be affected. The engine does not open before [`repair`].
    pub damage: Vec<String>,
    /// Damage that opening repairs.
    pub derived_damage: Vec<String>,
}

/// The result of a repair.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Repaired {
    /// Records that are kept.
    pub kept: u64,
    /// What was damaged, and whether records are lost by it.
    pub set_aside: Vec<Mended>,
    /// Runs that were ended because it is not known what they have done.
    pub dead: Vec<RunId>,
    /// The first and the last event whose runs may be lost. These events count as evaluated: flows
    /// evaluate them again only when a person replays them.
    pub undecided: Option<(u64, u64)>,
    /// The last record that the journal has now, or counts as having had.
    pub reached: u64,
}

/// Reads the journal in `dir`, the engine's folder, and reports damage. `reached` is the last
/// record that is known from outside of the folder, 0 for none: a journal that ends before it is
/// damaged. A missing folder is a journal without records.
///
/// # Errors
/// [`Error::Log`] if an engine has it open, [`Error::Newer`] if a newer release wrote a part of it.
pub fn verify(dir: &Path, reached: u64) -> Result<Checked, Error> {
    let mut checked = Checked::default();
    if !dir.is_dir() {
        checked.damage.extend((reached > 0).then(|| missing(reached)));
        return Ok(checked);
    }
    let folder = JournalDir::new(dir);
    let _lock = folder.lock()?;
    checked.derived_damage.extend(folder.derived_damage()?);
    if !folder.has_log() {
        let missing = folder.missing()?.or((reached > 0).then(|| missing(reached)));
        checked.damage.extend(missing);
        return Ok(checked);
    }
    let options = log_options(reached);
    let report = Log::verify(&folder.log(), &options).map_err(|it| folder.error(it))?;
    checked.records = report.records;
    checked.damage.extend(report.damage.iter().map(describe));
    if folder.repairing()?.is_some() && checked.damage.is_empty() {
        checked.damage.push("a repair was interrupted; repair again".to_owned());
    }
    // Opening a damaged or torn log would change it.
    if checked.damage.is_empty() && report.torn_bytes == 0 {
        let (log, _) = Log::open(&folder.log(), &options).map_err(|it| folder.error(it))?;
        checked.cursor = replayed(&folder, &log, u64::MAX, 0)?.machine.cursor;
    }
    Ok(checked)
}

/// Keeps every record with a valid checksum, sets damaged bytes aside, and records the
/// consequences: runs whose records may be lost are dead, and no action is repeated unless
/// requested. `reached` is as for [`verify`], `last_event` is the last existing event. It can be
/// called again after a crash, and when nothing is damaged.
///
/// # Errors
/// [`Error::Log`] if an engine has it open, [`Error::Newer`] if a newer release wrote a part of it.
pub fn repair(dir: &Path, reached: u64, last_event: u64, now_ms: u64) -> Result<Repaired, Error> {
    let mut repaired = Repaired::default();
    if !dir.is_dir() && reached == 0 {
        return Ok(repaired);
    }
    let folder = JournalDir::new(dir);
    let _lock = folder.lock()?;
    let mut gaps = folder.repairing()?.unwrap_or_default();
    if let Some(missing) = folder.missing()? {
        repaired.set_aside.push(Mended { what: missing, is_loss: true, is_kept: false });
        gaps.push(Gap { from: 1, to: u64::MAX });
    }
    let options = log_options(reached);
    if folder.has_log() || reached > 0 && gaps.is_empty() {
        let report = Log::verify(&folder.log(), &options).map_err(|it| folder.error(it))?;
        for damage in &report.damage {
            repaired.set_aside.push(damage.mended(describe(damage)));
            if damage.to >= damage.from {
                gaps.push(Gap { from: damage.from, to: damage.to });
            }
        }
    } else if gaps.is_empty() {
        return Ok(repaired);
    }
    gaps.sort_unstable();
    gaps.dedup();
    // Once the log is repaired, nothing in it shows that it was damaged.
    if !gaps.is_empty() {
        folder.set_repairing(&gaps)?;
    }
    let options =
        waypost_log::Options { on_damage: OnDamage::Salvage, free_bytes_min: 0, ..options };
    let (log, _) = Log::open(&folder.log(), &options).map_err(|it| folder.error(it))?;
    let end = gaps.iter().map(|it| it.to.min(log.last_sequence().max(it.from))).max().unwrap_or(0);
    let start = gaps.iter().map(|it| it.from).min().unwrap_or(u64::MAX);
    let Replayed { mut machine, decided, before, count } = replayed(&folder, &log, start, end)?;
    repaired.kept = count;
    repaired.reached = log.last_sequence();
    if gaps.is_empty() {
        return Ok(repaired);
    }
    repaired.dead = machine.lose(&Lost { gaps: &gaps, end, decided, last_event, now_ms });
    if machine.cursor > before {
        repaired.undecided = Some((before + 1, machine.cursor));
    }
    let records = machine.take().records;
    let payloads: Vec<Vec<u8>> = records.iter().map(Record::encode).collect();
    let entries = records.iter().zip(&payloads);
    let batch: Vec<_> = entries.map(|(record, payload)| record.entry(payload)).collect();
    log.append_batch(&batch)?;
    repaired.reached = log.last_sequence();
    folder.mark()?;
    folder.repaired()?;
    Ok(repaired)
}

fn missing(reached: u64) -> String {
    format!("flows/log is missing: records 1 to {reached} had been written")
}

/// The contents of the records.
struct Replayed {
    machine: Machine,
    /// Whether a record after the gaps says how far events were evaluated.
    decided: bool,
    /// The last event evaluated according to records before the gaps.
    before: u64,
    count: u64,
}

/// Applies all records. Gaps are within the records `start` to `end`.
fn replayed(folder: &JournalDir, log: &Log, start: u64, end: u64) -> Result<Replayed, Error> {
    let machine = Machine::new(Options::default());
    let mut replayed = Replayed { machine, decided: false, before: 0, count: 0 };
    for entry in log.entries_after(0) {
        let entry = entry.map_err(|it| folder.error(it))?;
        let record = decoded(&entry)?;
        replayed.decided |= entry.sequence > end && matches!(record, Record::Cursor { .. });
        replayed.machine.apply(&record, entry.sequence);
        replayed.count += 1;
        if entry.sequence < start {
            replayed.before = replayed.machine.cursor;
        }
    }
    Ok(replayed)
}
