//! Opening a folder: what is there, what is wrong with it, and making it right.

use std::path::Path;
use std::sync::Arc;

use crate::disk::{Disk, DiskFile};
use crate::format::{HEADER_BYTES, parse_floor};
use crate::rewrite::Rewrite;
use crate::scan::{Scan, glance, scan};
use crate::segment::{Cursor, Segment, base_of, file_name};
use crate::{
    Damage, DamageKind, Error, OnDamage, Options, Record, Recovery, Report, Result, Verify,
};

/// Name of the file that says below which sequence retention has dropped everything.
pub(crate) const FLOOR: &str = "floor";

/// What is in the folder, unchanged.
#[derive(Debug)]
pub(crate) struct Survey {
    pub(crate) scans: Vec<Scan>,
    /// Files to remove: unfinished ones, and segments whose records are in another one.
    pub(crate) leftovers: Vec<String>,
    pub(crate) floor: u64,
    pub(crate) damage: Vec<Damage>,
}

impl Survey {
    /// Reads everything in the folder, or as much as `verify` asks for.
    pub(crate) fn of(dir: &Path, verify: Verify) -> Result<Self> {
        let mut bases = Vec::new();
        let mut leftovers = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(|it| Error::io("list", dir, it))? {
            let entry = entry.map_err(|it| Error::io("list", dir, it))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Some(base) = base_of(&name) {
                bases.push(base);
            } else if name
                .strip_suffix(".new")
                .is_some_and(|it| it == FLOOR || base_of(it).is_some())
            {
                leftovers.push(name);
            }
        }
        bases.sort_unstable();
        let mut survey = Self { scans: Vec::new(), leftovers, floor: 1, damage: Vec::new() };
        survey.read_floor(dir, bases.first().copied())?;
        survey.read_segments(dir, &bases, verify)?;
        Ok(survey)
    }

    fn read_floor(&mut self, dir: &Path, first: Option<u64>) -> Result<()> {
        let path = dir.join(FLOOR);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Error::io("read", &path, error)),
        };
        if let Some(floor) = parse_floor(&bytes) {
            self.floor = floor;
            return Ok(());
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

    fn read_segments(&mut self, dir: &Path, bases: &[u64], verify: Verify) -> Result<()> {
        let mut next = None;
        for (at, &base) in bases.iter().enumerate() {
            let sealed = self.scans.last().is_some_and(|it| it.sealed && it.damage.is_empty());
            if sealed && next.is_some_and(|next| base < next) {
                // Merged into the segment before, whose rename came first.
                self.leftovers.push(file_name(base));
                continue;
            }
            let from = next.unwrap_or(self.floor);
            if base > from {
                self.missing(from, base - 1);
            }
            let name = file_name(base);
            let glanced = if verify == Verify::Unsealed { glance(dir, &name)? } else { None };
            let scan = match glanced {
                Some(scan) => scan,
                None => scan(dir, &name, bases.get(at + 1).copied())?,
            };
            self.damage.extend(scan.damage.iter().cloned());
            next = Some(scan.view.next);
            if scan.sealed && scan.view.next <= self.floor && at + 1 < bases.len() {
                // Retention wrote the floor and did not come to removing this one.
                self.leftovers.push(scan.name);
            } else {
                self.scans.push(scan);
            }
        }
        if bases.is_empty() && self.floor > 1 {
            self.missing(self.floor, u64::MAX);
        }
        Ok(())
    }

    fn missing(&mut self, from: u64, to: u64) {
        let what = DamageKind::Missing;
        let segment = file_name(from);
        self.damage.push(Damage { segment, offset: 0, len_bytes: 0, from, to, what });
    }

    /// First sequence after everything that is there.
    pub(crate) fn next(&self) -> u64 {
        self.scans.last().map_or(self.floor, |it| it.view.next)
    }

    /// The survey for the operator.
    pub(crate) fn report(&self) -> Report {
        Report {
            segments: self.scans.len(),
            records: self.scans.iter().map(|it| it.records).sum(),
            bytes: self.scans.iter().map(|it| it.view.end).sum(),
            first_sequence: self.scans.first().map_or(self.floor, |it| it.place.base),
            last_sequence: self.next() - 1,
            torn_bytes: self.scans.iter().map(|it| it.torn.end - it.torn.start).sum(),
            damage: self.damage.clone(),
        }
    }
}

/// Makes the folder right: removes leftovers, salvages if told so, cuts the torn tail.
pub(crate) fn recover(disk: &Disk, options: &Options) -> Result<(Vec<Scan>, Recovery, u64)> {
    let salvaging = options.on_damage == OnDamage::Salvage;
    let verify = if salvaging { Verify::All } else { options.verify };
    let mut survey = Survey::of(disk.path(), verify)?;
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
        salvage(disk, &survey, &damage)?;
        survey = Survey::of(disk.path(), verify)?;
        if !survey.damage.is_empty() {
            return Err(Error::Damaged(survey.damage));
        }
    }
    let truncated_bytes = survey.scans.last().map_or(Ok(0), |it| cut(disk, it))?;
    // After a mere kill, renames may not have reached the disk yet either.
    disk.sync_folder()?;
    let next = survey.next();
    Ok((survey.scans, Recovery { truncated_bytes, damage }, next))
}

/// Zeroes what follows the last whole batch of the last segment, and syncs what is before it: after
/// a mere kill it may never have reached the disk, and readers will act on it.
fn cut(disk: &Disk, scan: &Scan) -> Result<u64> {
    let file = disk.open_for_writing(&scan.name)?;
    let torn = if scan.sealed { 0 } else { scan.torn.end - scan.torn.start };
    disk.write_zeros(&file, scan.torn.start, torn)?;
    disk.sync(&file)?;
    Ok(torn)
}

/// Copies damaged ranges aside, and rewrites their segments with the good records.
fn salvage(disk: &Disk, survey: &Survey, damage: &[Damage]) -> Result<()> {
    for bad in damage.iter().filter(|it| it.what != DamageKind::Missing) {
        let path = disk.path().join(&bad.segment);
        let bytes = std::fs::read(&path).map_err(|it| Error::io("read", &path, it))?;
        let range = bad.offset as usize..((bad.offset + bad.len_bytes) as usize).min(bytes.len());
        let aside = format!("{}-{}.damaged", bad.segment.trim_end_matches(".log"), bad.offset);
        disk.replace(&aside, bytes.get(range).unwrap_or_default())?;
    }
    let first = survey.scans.first().map_or(survey.floor, |it| it.place.base);
    if damage.iter().any(|it| it.segment == FLOOR) {
        disk.replace(FLOOR, &crate::format::floor(first))?;
    }
    for (at, scan) in survey.scans.iter().enumerate().filter(|it| !it.1.damage.is_empty()) {
        let next = survey.scans.get(at + 1).map_or(scan.view.next, |it| it.place.base);
        let mut rewrite = Rewrite::new(disk, scan.place.base, scan.place.generation + 1)?;
        copy_good(disk, scan, &mut rewrite)?;
        rewrite.finish(disk, next)?;
    }
    for gap in damage.iter().filter(|it| it.what == DamageKind::Missing) {
        // An empty sealed segment says that these sequences are known to be gone.
        let to = if gap.to == u64::MAX { gap.from } else { gap.to + 1 };
        Rewrite::new(disk, gap.from, 1)?.finish(disk, to)?;
    }
    Ok(())
}

/// Copies the runs of good records between the holes.
fn copy_good(disk: &Disk, scan: &Scan, rewrite: &mut Rewrite) -> Result<()> {
    let file = DiskFile::open(disk.path(), &scan.name)?;
    let segment = Arc::new(Segment::new(scan.place, file, scan.view.clone()));
    let mut start = HEADER_BYTES;
    let holes = scan.damage.iter().map(|it| (it.offset, it.offset + it.len_bytes));
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
