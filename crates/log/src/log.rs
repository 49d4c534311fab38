use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::active::Active;
use crate::compact;
use crate::disk::{Disk, DiskFile, Gate};
use crate::entries::Entries;
use crate::format::Batch;
use crate::reached::Reached;
use crate::recovery::{Recovered, Survey, recover};
use crate::segment::{Cursor, Segment};
use crate::snapshot::snapshot;
use crate::writer::{Append, Durability, Segments, Shared, Tail, covering};
use crate::{
    BATCH_BYTES_MAX, Compacted, Damage, Entry, Error, Extent, Keep, Options, PAYLOAD_BYTES_MAX,
    Record, Recovery, Report, Result, Snapshot, Verify,
};

/// Bytes read at once for one entry.
const READ_BYTES: usize = 2 << 10;

/// An append-only log in a folder. All methods take `&self`; share it by reference or by `Arc`.
///
/// Only one process at a time may have a folder open for appending. The log checks this within a
/// process; between processes, the caller must hold a lock, which may cover more than the log.
#[derive(Debug)]
pub struct Log {
    shared: Arc<Shared>,
    _claim: Claim,
}

impl Log {
    /// Opens the log in `dir`, and creates the folder if it does not exist.
    ///
    /// Reads and checks every byte, or what [`Options::verify`] selects, and truncates a torn tail.
    /// A log that ends before the sequence that it had reached, according to its own file or to
    /// [`Options::reached`], is damaged.
    ///
    /// # Errors
    /// [`Error::Damaged`] if stored bytes have changed, unless [`Options::on_damage`] is to
    /// salvage; nothing on disk is changed then. [`Error::Newer`], [`Error::InUse`],
    /// [`Error::ReadOnly`].
    pub fn open(dir: &Path, options: &Options) -> Result<(Self, Recovery)> {
        let gate = options.on_change.map(|hook| -> Gate {
            Arc::new(move |_| {
                hook();
                Ok(())
            })
        });
        Self::open_through(dir, options, gate)
    }

    pub(crate) fn open_through(
        dir: &Path,
        options: &Options,
        gate: Option<Gate>,
    ) -> Result<(Self, Recovery)> {
        let disk = Disk::open(dir, gate)?;
        let claim = Claim::of(dir)?;
        let Recovered { mut scans, recovery, next, reached } = recover(&disk, options)?;
        let unsealed = scans.pop_if(|scan| !scan.sealed);
        let mut segments = Vec::with_capacity(scans.len() + 1);
        for scan in scans {
            let file = DiskFile::open(dir, &scan.name)?;
            segments.push(Arc::new(Segment::new(scan.place, file, scan.view)));
        }
        let active = match unsealed {
            Some(scan) => Some(Active::resume(&disk, scan)?),
            None => match Active::create(&disk, options, options.free_bytes_min, next) {
                Ok(active) => Some(active),
                // Records can still be read; appends fail because the disk is full.
                Err(Error::Full) if !segments.is_empty() => None,
                Err(error) => return Err(error),
            },
        };
        segments.extend(active.iter().map(|active| Arc::clone(active.segment())));
        let reached = Reached::open(&disk, reached, next - 1)?;
        let tail = Tail { active, next, poisoned: false, buffer: Vec::new(), reached };
        let shared = Shared::new(disk, options.clone(), segments, tail);
        Ok((Self { shared: Arc::new(shared), _claim: claim }, recovery))
    }

    /// Checks every byte of the log in `dir` and changes nothing. No other thread or process should
    /// append meanwhile. Uses only the options [`Options::reached`] and [`Options::can_read`].
    ///
    /// # Errors
    /// [`Error::Newer`] if a newer release wrote it. Damage is not an error; the report contains
    /// it.
    pub fn verify(dir: &Path, options: &Options) -> Result<Report> {
        Survey::of(dir, Verify::All, options).map(|of| of.report())
    }

    /// Checks that no newer release wrote a part of the log in `dir`, and changes nothing. Reads as
    /// much as [`Options::verify`] selects. Damage is not an error.
    ///
    /// # Errors
    /// [`Error::Newer`], [`Error::NewerRecord`], or if a file system operation fails.
    pub fn check_versions(dir: &Path, options: &Options) -> Result<()> {
        Survey::of(dir, options.verify, options).map(drop)
    }

    /// Checks one sealed segment that opening did not read completely, and returns whether there
    /// was one. This finds damage before a reader does, and readers need not wait for the check.
    pub fn check_next(&self) -> Result<bool> {
        let unchecked = |segment: &&Arc<Segment>| segment.view.read().is_unchecked;
        let Some(segment) = self.shared.list().iter().find(unchecked).map(Arc::clone) else {
            return Ok(false);
        };
        segment.ensure_checked().map(|()| true)
    }

    /// Appends a record and returns its sequence. It is on disk when this returns; threads that
    /// append at the same time share one sync.
    ///
    /// # Errors
    /// After [`Error::Full`] and [`Error::TooLarge`] nothing was stored, and later appends may
    /// succeed. After any other error the log is read-only until it is reopened, and may or may not
    /// contain the record then.
    pub fn append(&self, record: Record<'_>) -> Result<u64> {
        self.append_batch(&[record]).map(|range| range.start)
    }

    /// Appends records with consecutive sequences. They are on disk when this returns; after a
    /// crash the log contains all of them or none. Errors as for [`append`](Self::append).
    pub fn append_batch(&self, records: &[Record<'_>]) -> Result<Range<u64>> {
        self.shared.submit(Append::new(encode(records)?, Durability::Durable))
    }

    /// Like [`append_batch`](Self::append_batch), for records that are valid only directly after
    /// the sequence `last`.
    ///
    /// # Errors
    /// [`Error::Moved`] if the log does not end there; nothing is written then.
    pub fn append_batch_after(&self, last: u64, records: &[Record<'_>]) -> Result<Range<u64>> {
        let append = Append::new(encode(records)?, Durability::Durable);
        self.shared.submit(Append { after: Some(last), ..append })
    }

    /// Like [`append_batch`](Self::append_batch), for data that can be recomputed: it can be read
    /// when this returns, and is on disk after the next [`sync`](Self::sync) or durable append.
    pub fn append_batch_unsynced(&self, records: &[Record<'_>]) -> Result<Range<u64>> {
        self.shared.submit(Append::new(encode(records)?, Durability::Written))
    }

    /// Syncs everything that has been appended.
    pub fn sync(&self) -> Result<()> {
        self.shared.submit(Append::new(Batch::default(), Durability::Durable)).map(|_| ())
    }

    /// The entry with this sequence; `None` if it does not exist yet or was removed.
    pub fn read(&self, sequence: u64) -> Result<Option<Entry>> {
        self.pin().read(sequence)
    }

    /// Keeps the entries of now readable, whatever compaction and retention remove meanwhile. Copies
    /// nothing, and delays no append.
    pub fn pin(&self) -> Pinned {
        Pinned(self.shared.list())
    }

    /// The entries after `sequence`, in order; 0 for all.
    pub fn entries_after(&self, sequence: u64) -> Entries {
        Entries::new(Arc::clone(&self.shared), sequence)
    }

    /// The first sequence that the log covers. Retention moves it; compaction does not.
    pub fn first_sequence(&self) -> u64 {
        self.shared.list().first().map_or(1, |item| item.place.base)
    }

    /// The last assigned sequence that is readable, 0 for none. It never decreases, even if
    /// compaction removes records.
    pub fn last_sequence(&self) -> u64 {
        self.shared.list().last().map_or(0, |item| item.view.read().next - 1)
    }

    /// The last sequence that is known to be on disk, 0 for none: never above
    /// [`last_sequence`](Self::last_sequence). Waits for an append in progress.
    pub fn reached(&self) -> u64 {
        self.shared.reached()
    }

    /// Bytes in use by headers and records. The last file is larger by what is preallocated.
    pub fn bytes(&self) -> u64 {
        compact::bytes(&self.shared.list())
    }

    /// The number of segment files.
    pub fn segments(&self) -> usize {
        self.shared.list().len()
    }

    /// The damage that reads and checks have met since the log was opened, in the files that it still
    /// has, and the files that were removed or replaced since. Asks the system where each segment is,
    /// and reads no file.
    pub fn damage(&self) -> Vec<Damage> {
        let met = self.shared.list().iter().flat_map(|item| item.damage()).collect();
        [met, self.shared.gone()].concat()
    }

    /// Why nothing can be appended until the log is opened again, if so.
    pub fn fault(&self) -> Option<Error> {
        self.shared.fault.lock().clone()
    }

    /// Whether less than [`Options::free_bytes_min`] is free on the disk.
    pub(crate) fn is_full(&self) -> bool {
        let Shared { disk, options, .. } = &*self.shared;
        disk.free_bytes().is_ok_and(|bytes| bytes < options.free_bytes_min)
    }

    /// Each segment file, in order, the one that is being appended to last.
    pub fn extents(&self) -> Vec<Extent> {
        let extent = |segment: &Arc<Segment>| Extent {
            first: segment.place.base,
            bytes: segment.view.read().end,
        };
        self.shared.list().iter().map(extent).collect()
    }

    /// The log's files as of now, for a copy. It contains every acknowledged entry, and later
    /// changes to the log do not affect it. Checks sealed segments that opening did not read
    /// completely; [`Snapshot::check`] also reads the others again.
    ///
    /// # Errors
    /// [`Error::Damaged`] if such a segment is damaged: a copy would be damaged, too.
    pub fn snapshot(&self) -> Result<Snapshot> {
        snapshot(&self.shared)
    }

    /// Removes or replaces entries for good: seals the active segment, calls `keep` with each entry
    /// once and in order, rewrites the segments in which anything changes, and merges small ones.
    /// Sequences stay the same. Appends and reads continue meanwhile; `keep` is not called with
    /// entries appended meanwhile. After a crash, each segment is in its old or its new version.
    ///
    /// # Errors
    /// [`Error::Full`] if there is no space for the new version of a segment; segments that were
    /// rewritten before stay rewritten.
    pub fn compact(&self, keep: &mut dyn FnMut(&Entry) -> Keep) -> Result<Compacted> {
        self.shared.compact(keep)
    }

    /// Drops whole old segments that contain nothing from `sequence` on, never the last one, and
    /// returns the first sequence that the log covers afterwards.
    pub fn truncate_before(&self, sequence: u64) -> Result<u64> {
        self.shared.truncate_before(sequence)
    }
}

/// The entries that a log had at one moment. The files that compaction has replaced stay on disk, without
/// a name, until this is dropped.
#[derive(Debug)]
pub struct Pinned(Segments);

impl Pinned {
    /// The entry with this sequence; `None` if it did not exist.
    pub fn read(&self, sequence: u64) -> Result<Option<Entry>> {
        let Some(segment) = covering(&self.0, sequence) else { return Ok(None) };
        if segment.place.base > sequence {
            return Ok(None);
        }
        let found = Cursor::new(Arc::clone(segment), sequence, READ_BYTES)?.next_from(sequence)?;
        Ok(found.filter(|found| found.sequence == sequence))
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.shared.close();
    }
}

fn encode(records: &[Record<'_>]) -> Result<Batch> {
    for record in records {
        check_len(record.payload.len(), PAYLOAD_BYTES_MAX)?;
    }
    check_len(records.iter().map(|record| record.payload.len()).sum(), BATCH_BYTES_MAX)?;
    Ok(Batch::new(records))
}

pub(crate) fn check_len(len: usize, limit: usize) -> Result<()> {
    if len <= limit {
        return Ok(());
    }
    Err(Error::TooLarge { len_bytes: len as u64, limit_bytes: limit as u64 })
}

/// The folders that this process has open: two writers to one folder would overwrite each other.
static OPEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

#[derive(Debug)]
struct Claim(PathBuf);

impl Claim {
    fn of(dir: &Path) -> Result<Self> {
        let path = dir.canonicalize().map_err(|error| Error::io("resolve", dir, error))?;
        if OPEN.lock().insert(path.clone()) { Ok(Self(path)) } else { Err(Error::InUse(path)) }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        OPEN.lock().remove(&self.0);
    }
}
