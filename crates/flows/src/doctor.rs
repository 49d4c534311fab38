//! Checks and repairs a journal that no engine has open.

use std::collections::BTreeSet;
use std::path::Path;

use waypost_log::{Log, OnDamage, RepairedDamage, Verify};
use waypost_time::Timestamp;

use crate::engine::Error;
use crate::journal::{JournalDir, LOG};
use crate::machine::{Gap, Lost, Machine};
use crate::record::{Record, log_options};
use crate::{Options, RunId};

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
    pub set_aside: Vec<RepairedDamage>,
    /// Runs that were ended because it is not known what they have done.
    pub dead: Vec<RunId>,
    /// The first and the last event of each range of events whose runs may be lost: all events that
    /// were evaluated where the journal was damaged, without those that have a run in the journal.
    /// These events count as evaluated: flows evaluate them again only when a person replays them.
    pub undecided: Vec<(u64, u64)>,
    /// The last record that the journal has now, or counts as having had.
    pub reached: u64,
}

/// Checks that no newer release wrote a part of the journal in `dir`, the engine's folder, and
/// changes nothing. Reads as much of it as `verify` selects.
///
/// # Errors
/// [`Error::Newer`]; never another one.
pub fn check_versions(dir: &Path, verify: Verify) -> Result<(), Error> {
    let folder = JournalDir::new(dir);
    let options = log_options(0).with_verify(verify);
    let checked = [
        folder.repairing().map(drop),
        folder.missing().map(drop),
        Log::check_versions(&folder.log(), &options).map_err(|error| folder.error(error)),
    ];
    let newer = checked.into_iter().find(|checked| matches!(checked, Err(Error::Newer { .. })));
    newer.unwrap_or(Ok(()))
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
    let report = Log::verify(&folder.log(), &options).map_err(|error| folder.error(error))?;
    checked.records = report.records;
    checked.damage.extend(report.damage.iter().map(|damage| damage.describe(LOG.0, LOG.1)));
    if checked.damage.is_empty() {
        checked.damage.extend(folder.interrupted()?);
    }
    // Opening a damaged or torn log would change it.
    if checked.damage.is_empty() && report.torn_bytes == 0 {
        let (log, _) = Log::open(&folder.log(), &options).map_err(|error| folder.error(error))?;
        checked.cursor = replayed(&folder, &log, &[], 0)?.machine.cursor;
    }
    Ok(checked)
}

/// Checks what cannot be rebuilt in `dir`, the engine's folder, which the caller has locked: that the
/// journal is not missing, that no repair was interrupted, and every record. A journal that ends
/// before the record `reached` is damaged. A missing folder is a journal without records.
///
/// # Errors
/// [`Error::Damaged`]: [`repair`] the journal first. [`Error::Newer`] if a newer release wrote a part
/// of it.
pub fn check_log(dir: &Path, reached: u64) -> Result<(), Error> {
    let folder = JournalDir::new(dir);
    folder.check()?;
    let report =
        Log::verify(&folder.log(), &log_options(reached)).map_err(|error| folder.error(error))?;
    if report.damage.is_empty() {
        return Ok(());
    }
    Err(folder.error(waypost_log::Error::Damaged(report.damage)))
}

/// Keeps every record with a valid checksum, sets damaged bytes aside, and records the
/// consequences: runs whose records may be lost are dead, and no action is repeated unless
/// requested. `reached` is as for [`verify`], `last_event` is the last existing event. It can be
/// called again after a crash, and when nothing is damaged.
///
/// # Errors
/// [`Error::Log`] if an engine has it open, [`Error::Newer`] if a newer release wrote a part of it.
pub fn repair(
    dir: &Path,
    reached: u64,
    last_event: u64,
    now: Timestamp,
) -> Result<Repaired, Error> {
    let mut repaired = Repaired::default();
    if !dir.is_dir() && reached == 0 {
        return Ok(repaired);
    }
    let folder = JournalDir::new(dir);
    let _lock = folder.lock()?;
    let mut found = folder.repairing()?.unwrap_or_default();
    if let Some(missing) = folder.missing()? {
        found.add(RepairedDamage { what: missing, is_loss: true, is_kept: false });
        found.notes.gaps.push(Gap { from: 1, to: u64::MAX });
    }
    let options = log_options(reached);
    if folder.has_log() || reached > 0 && found.notes.gaps.is_empty() {
        let report = Log::verify(&folder.log(), &options).map_err(|error| folder.error(error))?;
        found.add_all(&report.damage, LOG.1);
        let lost = report.damage.iter().filter(|damage| damage.to >= damage.from);
        found.notes.gaps.extend(lost.map(|lost| Gap { from: lost.from, to: lost.to }));
    } else if found.notes.gaps.is_empty() {
        return Ok(repaired);
    }
    found.notes.gaps.sort_unstable();
    found.notes.gaps.dedup();
    // Once the log is repaired, nothing in it shows that it was damaged.
    let is_damaged = !found.notes.gaps.is_empty() || !found.set_aside.is_empty();
    if is_damaged {
        folder.set_repairing(&found)?;
    }
    repaired.set_aside.clone_from(&found.set_aside);
    let gaps = found.notes.gaps.clone();
    let options = options.with_on_damage(OnDamage::Salvage).with_free_bytes_min(0);
    let (log, _) = Log::open(&folder.log(), &options).map_err(|error| folder.error(error))?;
    let end =
        gaps.iter().map(|gap| gap.to.min(log.last_sequence().max(gap.from))).max().unwrap_or(0);
    let Replayed { mut machine, decided, evaluated, count } = replayed(&folder, &log, &gaps, end)?;
    repaired.kept = count;
    repaired.reached = log.last_sequence();
    if gaps.is_empty() {
        if is_damaged {
            folder.repaired()?;
        }
        return Ok(repaired);
    }
    // Once the consequences are recorded, nothing shows that they were not there before.
    found.notes.dead.extend(machine.lose(&Lost { gaps: &gaps, end, decided, last_event, now }));
    found.notes.undecided.extend(evaluated.lost(machine.cursor, decided));
    folder.set_repairing(&found)?;
    repaired.dead.extend(found.notes.dead);
    repaired.undecided.extend(found.notes.undecided);
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
    evaluated: Evaluated,
    count: u64,
}

/// Applies all records. `end` is the last record that may be in a gap.
fn replayed(folder: &JournalDir, log: &Log, gaps: &[Gap], end: u64) -> Result<Replayed, Error> {
    let machine = Machine::new(Options::default());
    let evaluated = Evaluated::new(gaps);
    let mut replayed = Replayed { machine, decided: false, evaluated, count: 0 };
    for entry in log.entries_after(0) {
        let entry = entry.map_err(|error| folder.error(error))?;
        let record = Record::decode(&entry)?;
        replayed.decided |= entry.sequence > end && matches!(record, Record::Cursor { .. });
        replayed.evaluated.add(&record, entry.sequence);
        replayed.machine.apply(&record, entry.sequence);
        replayed.count += 1;
    }
    Ok(replayed)
}

/// How far events were evaluated around each gap, according to the records.
struct Evaluated {
    /// For each gap: the last event evaluated before it, and a later one that was evaluated after
    /// it, if a record says so.
    around: Vec<(Gap, u64, Option<u64>)>,
    /// Events up to this one were evaluated before the current record.
    reached: u64,
    /// The events that have a run in the journal.
    with_runs: BTreeSet<u64>,
}

impl Evaluated {
    fn new(gaps: &[Gap]) -> Self {
        let around = gaps.iter().map(|gap| (*gap, 0, None)).collect();
        Self { around, reached: 0, with_runs: BTreeSet::new() }
    }

    fn add(&mut self, record: &Record, sequence: u64) {
        // Runs for past events are not created in the order of the events: they say nothing about
        // later ones.
        let (reached, until, event) = match record {
            Record::Cursor { event } => (*event, Some(*event), None),
            Record::Created(it) => {
                let event = it.run.event;
                (event.saturating_sub(1), it.counts.then_some(event), Some(event))
            }
            Record::Skipped { run, .. } => (run.event.saturating_sub(1), None, Some(run.event)),
            _ => return,
        };
        self.with_runs.extend(event);
        self.reached = self.reached.max(reached);
        for (gap, before, after) in &mut self.around {
            if sequence < gap.from {
                *before = self.reached;
            } else if sequence > gap.to && after.is_none() {
                *after = until;
            }
        }
    }

    /// The ranges of events whose runs may be lost. `cursor` is the last event that counts as
    /// evaluated; unless it is `decided` by a record, so do the events that no record mentions.
    fn lost(&self, cursor: u64, decided: bool) -> Vec<(u64, u64)> {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        let around =
            self.around.iter().map(|(_, before, after)| (*before, after.unwrap_or(cursor)));
        let rest = (!decided).then_some((self.reached, cursor));
        let mut found: Vec<(u64, u64)> = around.chain(rest).collect();
        found.sort_unstable();
        let mut done = 0;
        for (before, until) in found {
            let mut from = before.max(done) + 1;
            if from > until {
                continue;
            }
            for event in self.with_runs.range(from..=until) {
                ranges.extend((from < *event).then(|| (from, event - 1)));
                from = event + 1;
            }
            ranges.extend((from <= until).then_some((from, until)));
            done = until;
        }
        ranges
    }
}
