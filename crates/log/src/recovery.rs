//! Opening a folder: surveys it, finds damage, and recovers.

use std::path::Path;
use std::sync::Arc;

use crate::disk::{Disk, DiskFile, is_file, read_file};
use crate::format::{BadHeader, FRAME_BYTES, HEADER_BYTES, Head, parse_floor};
use crate::reached::{Known, REACHED};
use crate::rewrite::Rewrite;
use crate::scan::{Behind, CanRead, Scan, glance, scan};
use crate::segment::{Cursor, Segment, base_of, file_name};
use crate::{
    Damage, DamageKind, Error, OnDamage, Options, Record, Recovery, Report, Result, Verify,
};

/// Name of the file that contains the first sequence that retention has not dropped.
pub(crate) const FLOOR: &str = "floor";

/// The contents of the folder, unchanged.
#[derive(Debug)]
pub(crate) struct Survey {
    pub(crate) scans: Vec<Scan>,
    /// Files to remove: unfinished ones, and segments whose records are in another one.
    pub(crate) leftovers: Vec<String>,
    pub(crate) floor: u64,
    pub(crate) reached: Known,
    pub(crate) damage: Vec<Damage>,
}

/// What opening found, after recovery.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) scans: Vec<Scan>,
    pub(crate) recovery: Recovery,
    /// First sequence after all that was found.
    pub(crate) next: u64,
    pub(crate) reached: Known,
}

impl Survey {
    /// Reads everything in the folder, or as much as `verify` selects.
    pub(crate) fn of(dir: &Path, verify: Verify, options: &Options) -> Result<Self> {
        let mut bases = Vec::new();
        let mut leftovers = Vec::new();
        let mut damage = Vec::new();
        let listed = match std::fs::read_dir(dir) {
            Ok(listed) => Some(listed),
            // The folder is empty, which may still be damage.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(Error::io("list", dir, error)),
        };
        for entry in listed.into_iter().flatten() {
            let entry = entry.map_err(|error| Error::io("list", dir, error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_of_log(&name) && !is_file(&entry.path()) {
                damage.push(not_a_file(name));
            } else if let Some(base) = base_of(&name) {
                bases.push(base);
            } else if name.strip_suffix(".new").is_some_and(is_of_log) {
                leftovers.push(name);
            }
        }
        bases.sort_unstable();
        let reached = Known::read(dir, options.reached)?;
        let mut survey = Self { scans: Vec::new(), leftovers, floor: 1, reached, damage };
        survey.read_floor(dir, bases.first().copied())?;
        survey.read_segments(dir, &bases, verify, options.can_read)?;
        survey.compare_end();
        Ok(survey)
    }

    fn read_floor(&mut self, dir: &Path, first: Option<u64>) -> Result<()> {
        let path = dir.join(FLOOR);
        if self.damage.iter().any(|damage| damage.segment == FLOOR) {
            self.floor = first.unwrap_or(1);
            return Ok(());
        }
        let Some(bytes) = read_file(&path)? else { return Ok(()) };
        match parse_floor(&bytes) {
            Ok(floor) => {
                self.floor = floor;
                return Ok(());
            }
            Err(BadHeader::Newer(version)) => {
                return Err(Error::Newer { segment: FLOOR.to_owned(), version, supported: 1 });
            }
            Err(BadHeader::Damaged) => {}
        }
        self.floor = first.unwrap_or(1);
        self.damage.push(Damage {
            segment: FLOOR.to_owned(),
            offset: 0,
            len_bytes: bytes.len() as u64,
            from: 1,
            to: 0,
            what: DamageKind::Header,
        });
        Ok(())
    }

    fn read_segments(
        &mut self,
        dir: &Path,
        bases: &[u64],
        verify: Verify,
        can_read: CanRead,
    ) -> Result<()> {
        let mut next = None;
        for (at, &base) in bases.iter().enumerate() {
            let sealed =
                self.scans.last().is_some_and(|scan| scan.sealed && scan.damage.is_empty());
            if sealed && next.is_some_and(|next| base < next) {
                // It was merged into the previous segment, which was renamed first.
                self.leftovers.push(file_name(base));
                continue;
            }
            let from = next.unwrap_or(self.floor);
            if base > from {
                self.missing(from, base - 1);
            }
            let name = file_name(base);
            let behind = match bases.get(at + 1) {
                Some(base) => Behind::Segment(*base),
                None => Behind::Nothing(self.reached.sequence),
            };
            let glanced = if verify == Verify::Unsealed { glance(dir, &name)? } else { None };
            let scan = match glanced {
                Some(scan) => scan,
                None => scan(dir, &name, behind, can_read)?,
            };
            if let Some(Head { sequence, kind, version, .. }) = scan.unreadable {
                return Err(Error::NewerRecord { sequence, kind, version });
            }
            self.damage.extend(scan.damage.iter().cloned());
            next = Some(scan.view.next);
            if scan.sealed && scan.view.next <= self.floor && at + 1 < bases.len() {
                // Retention wrote the floor but was interrupted before it removed this one.
                self.leftovers.push(scan.name);
            } else {
                self.scans.push(scan);
            }
        }
        if bases.is_empty() && self.floor > 1 && self.reached.sequence < self.floor {
            self.missing(self.floor, u64::MAX);
        }
        Ok(())
    }

    /// Compares the end of the log with how far it had reached.
    fn compare_end(&mut self) {
        let (next, reached) = (self.next(), self.reached.sequence);
        if next > reached {
            return;
        }
        let Some(last) = self.scans.last_mut().filter(|it| !it.sealed) else {
            return self.missing(next, reached);
        };
        let damage = Damage {
            segment: last.name.clone(),
            offset: last.view.end,
            len_bytes: last.torn.end.saturating_sub(last.view.end),
            from: next,
            to: reached,
            what: DamageKind::Short,
        };
        last.torn = last.len..last.len;
        last.view.next = reached + 1;
        last.is_end_known = false;
        last.damage.push(damage.clone());
        self.damage.push(damage);
    }

    fn missing(&mut self, from: u64, to: u64) {
        let what = DamageKind::Missing;
        let segment = file_name(from);
        self.damage.push(Damage { segment, offset: 0, len_bytes: 0, from, to, what });
    }

    /// First sequence after all that was found.
    pub(crate) fn next(&self) -> u64 {
        self.scans.last().map_or(self.floor, |scan| scan.view.next)
    }

    /// A sequence above all that the damaged last segment may have assigned.
    fn next_unused(&self, last: &Scan, options: &Options) -> u64 {
        let is_counted =
            last.damage.iter().all(|damage| damage.to != u64::MAX) && self.reached.is_exact;
        if last.is_end_known || is_counted {
            return last.view.next;
        }
        // Each record takes at least one frame.
        let held = last.view.next.max(last.place.base + last.len / FRAME_BYTES);
        // If the log is an older copy, more files followed.
        let may_have_held = if self.reached.is_told { records_max(options) } else { 0 };
        held.max(last.view.next + may_have_held)
    }

    /// The survey for the operator.
    pub(crate) fn report(&self) -> Report {
        Report {
            segments: self.scans.len(),
            records: self.scans.iter().map(|scan| scan.records).sum(),
            bytes: self.scans.iter().map(|scan| scan.view.end).sum(),
            first_sequence: self.scans.first().map_or(self.floor, |scan| scan.place.base),
            last_sequence: self.next() - 1,
            torn_bytes: self.scans.iter().map(|scan| scan.torn.end - scan.torn.start).sum(),
            damage: self.damage.clone(),
        }
    }
}

/// Whether a file of a log has this name, apart from unfinished ones.
fn is_of_log(name: &str) -> bool {
    let name = name.strip_suffix(".new").unwrap_or(name);
    name == FLOOR || name == REACHED || base_of(name).is_some()
}

fn not_a_file(segment: String) -> Damage {
    Damage { segment, offset: 0, len_bytes: 0, from: 1, to: 0, what: DamageKind::NotAFile }
}

/// Recovers the folder: removes leftovers, salvages if requested, truncates the torn tail.
pub(crate) fn recover(disk: &Disk, options: &Options) -> Result<Recovered> {
    let salvaging = options.on_damage == OnDamage::Salvage;
    let verify = if salvaging { Verify::All } else { options.verify };
    let mut survey = Survey::of(disk.path(), verify, options)?;
    let damage = std::mem::take(&mut survey.damage);
    if !damage.is_empty() && !salvaging {
        return Err(Error::Damaged(damage));
    }
    for name in &survey.leftovers {
        disk.remove(name)?;
    }
    if !survey.leftovers.is_empty() {
        disk.sync_folder()?;
    }
    if !damage.is_empty() {
        salvage(disk, options, &survey, &damage)?;
        survey = Survey::of(disk.path(), verify, options)?;
        if !survey.damage.is_empty() {
            return Err(Error::Damaged(survey.damage));
        }
    }
    let truncated_bytes = survey.scans.last().map_or(Ok(0), |scan| cut(disk, scan))?;
    // Even after a kill without a power cut, renames may not have reached the disk yet.
    disk.sync_folder()?;
    let (next, reached) = (survey.next(), survey.reached);
    let is_unsure = truncated_bytes > 0 && !reached.is_exact;
    let recovery = Recovery { truncated_bytes, is_unsure, damage };
    Ok(Recovered { scans: survey.scans, recovery, next, reached })
}

/// Zeroes everything after the last complete batch of the last segment, and syncs everything before
/// it: after a kill it may not have reached the disk yet, and readers will act on it.
fn cut(disk: &Disk, scan: &Scan) -> Result<u64> {
    let file = disk.open_for_writing(&scan.name)?;
    let torn = if scan.sealed { 0 } else { scan.torn.end - scan.torn.start };
    disk.write_zeros(&file, scan.torn.start, torn)?;
    disk.sync(&file)?;
    Ok(torn)
}

/// Copies damaged ranges to separate files, and rewrites their segments with the valid records.
fn salvage(disk: &Disk, options: &Options, survey: &Survey, damage: &[Damage]) -> Result<()> {
    let (foreign, damage): (Vec<_>, Vec<_>) =
        damage.iter().partition(|damage| damage.what == DamageKind::NotAFile);
    for it in &foreign {
        disk.set_aside(&it.segment)?;
    }
    for bad in damage.iter().filter(|damage| damage.what != DamageKind::Missing) {
        let path = disk.path().join(&bad.segment);
        let bytes = std::fs::read(&path).map_err(|error| Error::io("read", &path, error))?;
        let range = bad.offset as usize..((bad.offset + bad.len_bytes) as usize).min(bytes.len());
        let aside = format!("{}-{}.damaged", bad.segment.trim_end_matches(".log"), bad.offset);
        disk.replace(&aside, bytes.get(range).unwrap_or_default())?;
    }
    let first = survey.scans.first().map_or(survey.floor, |scan| scan.place.base);
    if foreign.iter().chain(&damage).any(|foreign| foreign.segment == FLOOR) {
        disk.replace(FLOOR, &crate::format::floor(first))?;
    }
    for (at, scan) in survey.scans.iter().enumerate().filter(|pair| !pair.1.damage.is_empty()) {
        let next = match survey.scans.get(at + 1) {
            Some(behind) => behind.place.base,
            None => survey.next_unused(scan, options),
        };
        let mut rewrite = Rewrite::new(disk, scan.place.base, scan.place.generation + 1)?;
        copy_good(disk, scan, &mut rewrite)?;
        rewrite.finish(disk, next)?;
    }
    for gap in damage.iter().filter(|damage| damage.what == DamageKind::Missing) {
        // An empty sealed segment records that these sequences are lost.
        let is_last = survey.scans.last().is_none_or(|scan| scan.place.base < gap.from);
        let may_have_held =
            if survey.reached.is_exact || !is_last { 0 } else { records_max(options) };
        let to = if gap.to == u64::MAX { gap.from } else { gap.to + 1 };
        Rewrite::new(disk, gap.from, 1)?.finish(disk, to + may_have_held)?;
    }
    Ok(())
}

/// Maximum number of records in a segment.
fn records_max(options: &Options) -> u64 {
    options.segment_bytes / FRAME_BYTES
}

/// Copies the runs of valid records between the holes.
fn copy_good(disk: &Disk, scan: &Scan, rewrite: &mut Rewrite) -> Result<()> {
    let file = DiskFile::open(disk.path(), &scan.name)?;
    let segment = Arc::new(Segment::new(scan.place, file, scan.view.clone()));
    let mut start = HEADER_BYTES;
    let holes = scan.damage.iter().map(|damage| (damage.offset, damage.offset + damage.len_bytes));
    for (hole_start, hole_end) in holes.chain([(scan.view.end, scan.view.end)]) {
        segment.view.write().end = hole_start.min(scan.view.end);
        let mut cursor = Cursor::at(Arc::clone(&segment), start, 256 << 10);
        while let Some(it) = cursor.next_from(0)? {
            let record = Record { kind: it.kind, version: it.version, payload: &it.payload };
            rewrite.add(disk, it.sequence, &record)?;
        }
        start = start.max(hole_end);
    }
    Ok(())
}
