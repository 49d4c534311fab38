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
use crate::writer::{Append, Durability, Shared, Tail};
use crate::{
    BATCH_BYTES_MAX, Compacted, Damage, Entry, Error, Extent, Keep, Options, PAYLOAD_BYTES_MAX,
    Record, Recovery, Report, Result, Snapshot, Verify,
};

/// Bytes read at once for one entry.
const READ_BYTES: usize = 2 << 10;

/// An append-only log in a folder. All methods take `&self`; share it by reference or by `Arc`.
///
/// One process at a time may have a folder open for appending. Within a process that is checked;
/// between processes it is the caller's part, who has a lock for more than the log.
#[derive(Debug)]
pub struct Log {
    shared: Arc<Shared>,
    _claim: Claim,
}

impl Log {
    /// Opens the log in `dir`, creating the folder if need be.
    ///
    /// Reads and checks every byte, or what [`Options::verify`] says. What a crash left half written
    /// at the end is cut off. A log that ends before the sequence that it had reached, by its own
    /// notes or by [`Options::reached`], is damaged.
    ///
    /// # Errors
    /// [`Error::Damaged`] if stored bytes have changed, unless [`Options::on_damage`] says to
    /// salvage; nothing on disk is changed then. [`Error::Newer`], [`Error::InUse`] and
    /// [`Error::ReadOnly`] say themselves what to do.
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
        let unsealed = scans.pop_if(|it| !it.sealed);
        let mut segments = Vec::with_capacity(scans.len() + 1);
        for scan in scans {
            let file = DiskFile::open(dir, &scan.name)?;
            segments.push(Arc::new(Segment::new(scan.place, file, scan.view)));
        }
        let active = match unsealed {
            Some(scan) => Some(Active::resume(&disk, scan)?),
            None => match Active::create(&disk, options, options.free_bytes_min, next) {
                Ok(active) => Some(active),
                // What is there can still be read; appends say that there is no room.
                Err(Error::Full) if !segments.is_empty() => None,
                Err(error) => return Err(error),
            },
        };
        segments.extend(active.iter().map(|it| Arc::clone(it.segment())));
        let reached = Reached::open(&disk, reached, next - 1)?;
        let tail = Tail { active, next, poisoned: false, buffer: Vec::new(), reached };
        let shared = Shared::new(disk, options.clone(), segments, tail);
        Ok((Self { shared: Arc::new(shared), _claim: claim }, recovery))
    }

    /// Checks every byte of the log in `dir` and changes none. Nobody should append meanwhile.
    /// Of the options only [`Options::reached`] and [`Options::can_read`] count.
    ///
    /// # Errors
    /// [`Error::Newer`] if a newer release wrote it. Damage is no error, but in the report.
    pub fn verify(dir: &Path, options: &Options) -> Result<Report> {
        Survey::of(dir, Verify::All, options).map(|it| it.report())
    }

    /// Checks one sealed segment that opening only glanced at, and tells whether there was one:
    /// damage is found without waiting for a reader, and no reader has to wait for the check.
    pub fn check_next(&self) -> Result<bool> {
        let unchecked = |it: &&Arc<Segment>| it.view.read().is_unchecked;
        let Some(segment) = self.shared.list().iter().find(unchecked).map(Arc::clone) else {
            return Ok(false);
        };
        segment.ensure_checked().map(|()| true)
    }

    /// Appends a record and returns its sequence. It is on disk when this returns; threads that
    /// append at the same time share one sync.
    ///
    /// # Errors
    /// After [`Error::Full`] and [`Error::TooLarge`] nothing of it was kept and later appends may
    /// work. After any other error the log takes no more until it is opened again, and the
    /// record may or may not be there then.
    pub fn append(&self, record: Record<'_>) -> Result<u64> {
        self.append_batch(&[record]).map(|range| range.start)
    }

    /// Appends records with neighbouring sequences that are, after a crash, there all or not at
    /// all. On disk when this returns. Errors as for [`append`](Self::append).
    pub fn append_batch(&self, records: &[Record<'_>]) -> Result<Range<u64>> {
        self.shared.submit(Append::new(encode(records)?, Durability::Durable))
    }

    /// Like [`append_batch`](Self::append_batch), for records that were decided from everything up
    /// to the sequence `last`.
    ///
    /// # Errors
    /// [`Error::Moved`] if the log does not end there; nothing is written then.
    pub fn append_batch_after(&self, last: u64, records: &[Record<'_>]) -> Result<Range<u64>> {
        let append = Append::new(encode(records)?, Durability::Durable);
        self.shared.submit(Append { after: Some(last), ..append })
    }

    /// Like [`append_batch`](Self::append_batch), for what can be made again: it can be read when
    /// this returns, and is on disk after the next [`sync`](Self::sync) or durable append.
    pub fn append_batch_unsynced(&self, records: &[Record<'_>]) -> Result<Range<u64>> {
        self.shared.submit(Append::new(encode(records)?, Durability::Written))
    }

    /// Brings everything that has been appended to disk.
    pub fn sync(&self) -> Result<()> {
        self.shared.submit(Append::new(Batch::default(), Durability::Durable)).map(|_| ())
    }

    /// The entry with this sequence; `None` if there is none yet, or no more.
    pub fn read(&self, sequence: u64) -> Result<Option<Entry>> {
        let Some(segment) = self.shared.covering(sequence) else { return Ok(None) };
        if segment.place.base > sequence {
            return Ok(None);
        }
        let found = Cursor::new(segment, sequence, READ_BYTES)?.next_from(sequence)?;
        Ok(found.filter(|it| it.sequence == sequence))
    }

    /// The entries after `sequence`, in order; 0 for all.
    pub fn entries_after(&self, sequence: u64) -> Entries {
        Entries::new(Arc::clone(&self.shared), sequence)
    }

    /// The first sequence that the log covers. Retention moves it; compaction does not.
    pub fn first_sequence(&self) -> u64 {
        self.shared.list().first().map_or(1, |it| it.place.base)
    }

    /// The last sequence handed out and readable, 0 for none. It never goes back, whatever
    /// compaction removes.
    pub fn last_sequence(&self) -> u64 {
        self.shared.list().last().map_or(0, |it| it.view.read().next - 1)
    }

    /// The last sequence that is known to be on disk, 0 for none: never above
    /// [`last_sequence`](Self::last_sequence). Waits for an append that goes on.
    pub fn reached(&self) -> u64 {
        self.shared.reached()
    }

    /// Bytes in use by headers and records. The last file is larger by what is preallocated.
    pub fn bytes(&self) -> u64 {
        compact::bytes(&self.shared.list())
    }

    /// How many segment files there are.
    pub fn segments(&self) -> usize {
        self.shared.list().len()
    }

    /// The damage that reads and checks have met since the log was opened, in the files that it still
    /// has. Costs a look at each segment, and reads no file.
    pub fn damage(&self) -> Vec<Damage> {
        self.shared.list().iter().flat_map(|it| it.damage()).collect()
    }

    /// Each segment file, in order, the one that is being appended to last.
    pub fn extents(&self) -> Vec<Extent> {
        let extent = |it: &Arc<Segment>| Extent { first: it.place.base, bytes: it.view.read().end };
        self.shared.list().iter().map(extent).collect()
    }

    /// The log's files as of now, for a copy: every entry that was answered is in it, and nothing that
    /// is done to the log afterwards changes it. Checks sealed segments that opening only glanced at;
    /// [`Snapshot::check`] reads the others again, too.
    ///
    /// # Errors
    /// [`Error::Damaged`] if such a segment is damaged: a copy would be damaged, too.
    pub fn snapshot(&self) -> Result<Snapshot> {
        snapshot(&self.shared)
    }

    /// Removes or replaces entries for good: seals what is there, asks `keep` about each entry
    /// once and in order, and rewrites the segments where anything changes, merging small ones.
    /// Sequences stay. Appends and reads go on meanwhile; entries appended meanwhile are not asked
    /// about. After a crash each segment is as before or as after.
    ///
    /// # Errors
    /// [`Error::Full`] if a segment's new copy has no room; what was done by then stays done.
    pub fn compact(&self, keep: &mut dyn FnMut(&Entry) -> Keep) -> Result<Compacted> {
        self.shared.compact(keep)
    }

    /// Drops whole old segments that hold nothing from `sequence` on, never the last one, and
    /// returns the first sequence that the log covers then.
    pub fn truncate_before(&self, sequence: u64) -> Result<u64> {
        self.shared.truncate_before(sequence)
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
    check_len(records.iter().map(|it| it.payload.len()).sum(), BATCH_BYTES_MAX)?;
    Ok(Batch::new(records))
}

pub(crate) fn check_len(len: usize, limit: usize) -> Result<()> {
    if len <= limit {
        return Ok(());
    }
    Err(Error::TooLarge { len_bytes: len as u64, limit_bytes: limit as u64 })
}

/// The folders that this process has open: two writers of one folder would overwrite each other.
static OPEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

#[derive(Debug)]
struct Claim(PathBuf);

impl Claim {
    fn of(dir: &Path) -> Result<Self> {
        let path = dir.canonicalize().map_err(|it| Error::io("resolve", dir, it))?;
        if OPEN.lock().insert(path.clone()) { Ok(Self(path)) } else { Err(Error::InUse(path)) }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        OPEN.lock().remove(&self.0);
    }
}
