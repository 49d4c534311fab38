//! Records in a separate file how far the log has reached: a log that ends before that is damaged,
//! even if its own bytes are valid.
//!
//! After every sync of the log, the highest sequence is written to one of two slots, alternately
//! and without another sync. So the recorded sequence is always on disk; after a kill it is exact,
//! and after a power cut it may be older. If one slot is damaged, the other one is used.

use std::path::Path;

use crate::disk::{Disk, DiskFile, read_file};
use crate::format::{BadHeader, REACHED_BYTES, SLOT_BYTES, parse_slot, slot};
use crate::{Error, Result};

/// Name of the file.
pub(crate) const REACHED: &str = "reached";

/// The contents of a slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Note {
    /// Counts the writes; the highest number is the newest.
    pub(crate) counter: u64,
    /// The highest sequence that was on disk.
    pub(crate) sequence: u64,
    /// The boot id of the machine at the time; zeros if unknown.
    pub(crate) boot: [u8; 16],
    /// Whether the log was closed after it.
    pub(crate) is_closed: bool,
}

/// What is known about how far a log has reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// The highest sequence that is known to have been on disk.
    pub(crate) sequence: u64,
    /// Whether it is certain that no higher one was acknowledged.
    pub(crate) is_exact: bool,
    /// Whether the log's own file does not contain it: the file is missing or an older copy.
    pub(crate) is_told: bool,
    /// The newest slot.
    counter: u64,
}

impl Known {
    /// Reads the file in `dir`; `told` is what the caller knows.
    pub(crate) fn read(dir: &Path, told: u64) -> Result<Self> {
        let path = dir.join(REACHED);
        let bytes = read_file(&path)?.unwrap_or_default();
        let mut notes = Vec::with_capacity(2);
        for slot in bytes.chunks(SLOT_BYTES) {
            match parse_slot(slot) {
                Ok(note) => notes.push(note),
                Err(BadHeader::Newer(version)) => {
                    return Err(Error::Newer {
                        segment: REACHED.to_owned(),
                        version,
                        supported: crate::format::REACHED_VERSION,
                    });
                }
                Err(BadHeader::Damaged) => {}
            }
        }
        let newest = notes.iter().max_by_key(|note| note.counter).copied().unwrap_or_default();
        let noted = notes.iter().map(|note| note.sequence).max().unwrap_or(0);
        let same_boot = newest.boot != [0; 16] && newest.boot == boot();
        Ok(Self {
            sequence: noted.max(told),
            is_told: told > noted,
            is_exact: notes.len() == 2 && told <= noted && (newest.is_closed || same_boot),
            counter: newest.counter,
        })
    }
}

/// The file of an open log.
#[derive(Debug)]
pub(crate) struct Reached {
    /// `None` if it could not be created yet.
    file: Option<DiskFile>,
    note: Note,
}

impl Reached {
    /// Opens the file of a log that has been recovered up to `sequence`, all of it on disk.
    pub(crate) fn open(disk: &Disk, known: Known, sequence: u64) -> Result<Self> {
        let counter = known.counter + 1;
        let note = Note { counter, sequence, boot: boot(), is_closed: false };
        let path = disk.path().join(REACHED);
        let is_whole = path.metadata().is_ok_and(|metadata| metadata.len() == REACHED_BYTES as u64);
        let file = if is_whole { Some(disk.open_for_writing(REACHED)?) } else { None };
        let mut reached = Self { file, note };
        match reached.write(disk).and_then(|()| reached.sync(disk)) {
            Ok(()) | Err(Error::Full) => Ok(reached),
            Err(error) => Err(error),
        }
    }

    /// Records that everything up to `sequence` is on disk. A failed write is ignored: the log has
    /// the records, and the next call writes a higher sequence.
    pub(crate) fn note(&mut self, disk: &Disk, sequence: u64) {
        if sequence > self.note.sequence {
            self.note.sequence = sequence;
            self.note.counter += 1;
            self.write(disk).unwrap_or_default();
        }
    }

    /// The highest sequence that is known to be on disk.
    pub(crate) fn sequence(&self) -> u64 {
        self.note.sequence
    }

    /// Records that the log is closed.
    pub(crate) fn close(&mut self, disk: &Disk) {
        self.note.is_closed = true;
        self.note.counter += 1;
        self.write(disk).and_then(|()| self.sync(disk)).unwrap_or_default();
    }

    fn write(&mut self, disk: &Disk) -> Result<()> {
        let bytes = slot(&self.note);
        let Some(file) = &self.file else { return self.create(disk) };
        let offset = if self.note.counter.is_multiple_of(2) { 0 } else { SLOT_BYTES as u64 };
        disk.write(file, offset, &bytes)
    }

    /// Creates the file, with the same contents in both slots.
    fn create(&mut self, disk: &Disk) -> Result<()> {
        let bytes = slot(&self.note);
        let mut file = disk.create(&format!("{REACHED}.new"))?;
        disk.write(&file, 0, &[bytes, bytes].concat())?;
        disk.sync(&file)?;
        disk.rename(&mut file, REACHED)?;
        disk.sync_folder()?;
        self.file = Some(file);
        Ok(())
    }

    fn sync(&self, disk: &Disk) -> Result<()> {
        self.file.as_ref().map_or(Ok(()), |file| disk.sync(file))
    }
}

/// The boot id of the machine; zeros if unknown.
fn boot() -> [u8; 16] {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    u128::from_str_radix(&digits, 16).unwrap_or_default().to_le_bytes()
}
