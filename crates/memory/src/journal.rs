//! The journal: the one place through which the store reads and appends its records.
//!
//! A journal is one sequence of records for the whole store: ids, links and the sequence belong to
//! the store, not to a space. Its operations are few: append at an expected position, feed the
//! records after a position, read one, trim, and a lease that one process holds. It is a log in the
//! files of this machine. With a [`SharedJournal`], that decides the order of the records, and the
//! log is the copy of this machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use waypost_log::{
    AppendMax, Compacted, Damage, Entry, EntryRef, FolderLock, Held, Keep, Log, OnDamage, Options,
    Pinned, Recovery, Refused, SharedJournal, Snapshot, Upstream,
};

use crate::layout::Folders;
use crate::log_error::log_error;
use crate::record::{Encoded, can_read, is_same_record};
use crate::{Error, Result};

/// The number of records that a change takes at most, but for a merge: an add and its note, a version
/// and the deletion after it. One more if it has a key.
pub(crate) const CHANGE_RECORDS: usize = 2;

/// The records of a store, in order.
#[derive(Debug)]
pub(crate) struct Journal {
    log: Log,
    /// Its folder, for errors.
    dir: PathBuf,
    /// What decides the order of the records, if it is not the log.
    shared: Option<Upstream>,
}

/// How a journal is opened when something else knows of the positions up to `reached`.
pub(crate) fn options(reached: u64) -> Options {
    Options::default()
        .with_on_damage(OnDamage::Refuse)
        .with_reached(reached)
        .with_can_read(can_read)
}

/// Takes the lease on the store in a data folder: one process has it at a time.
///
/// # Errors
/// [`Error::Locked`] if another process has it.
pub(crate) fn lease(data: &Path) -> Result<FolderLock> {
    FolderLock::take(data).map_err(|error| log_error(&error, data))
}

impl Journal {
    pub(crate) fn open(
        folders: &Folders,
        options: &Options,
        shared: Option<Arc<dyn SharedJournal>>,
    ) -> Result<(Self, Recovery)> {
        let (log, recovery) =
            Log::open(&folders.log, options).map_err(|error| log_error(&error, &folders.log))?;
        let shared = shared.map(|shared| Upstream::new(shared, is_same_record));
        Ok((Self { log, dir: folders.log.clone(), shared }, recovery))
    }

    /// The position of the last record on this machine, 0 for none.
    pub(crate) fn last(&self) -> u64 {
        self.log.last_sequence()
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// How much one append may have, if the shared journal limits it.
    pub(crate) fn append_max(&self) -> Option<AppendMax> {
        self.shared.as_ref().map(Upstream::append_max)
    }

    /// How many changes one command should make, at most `wanted`, so that its records fit one append.
    pub(crate) fn changes_max(&self, wanted: usize) -> usize {
        self.changes_of_max(CHANGE_RECORDS, wanted)
    }

    /// The same for changes with a key each.
    pub(crate) fn keyed_changes_max(&self, wanted: usize) -> usize {
        self.changes_of_max(CHANGE_RECORDS + 1, wanted)
    }

    fn changes_of_max(&self, records: usize, wanted: usize) -> usize {
        self.append_max().map_or(wanted, |it| wanted.min((it.records / records).max(1)))
    }

    /// Appends encoded records behind the position `after`, all or none, and returns when they are
    /// durable: on disk, or in the shared journal and in the file of this machine. Without records,
    /// checks that others have not appended.
    pub(crate) fn append(
        &self,
        after: u64,
        records: &[Encoded],
    ) -> std::result::Result<(), Refused> {
        let entries = borrowed(records);
        let Some(shared) = &self.shared else {
            return match self.log.append_batch_after(after, &entries) {
                Ok(_) => Ok(()),
                Err(waypost_log::Error::Moved { .. }) => Err(Refused::Moved),
                Err(error) => Err(Refused::Failed(error)),
            };
        };
        shared.append(&self.log, after, &entries)
    }

    /// Appends records that the shared journal has behind the position `after`.
    pub(crate) fn copy(&self, after: u64, records: &[Encoded]) -> std::result::Result<(), Refused> {
        let Some(shared) = &self.shared else { return Ok(()) };
        shared.copy(&self.log, after, &borrowed(records))
    }

    /// Compares the records with those of the shared journal, once.
    pub(crate) fn compare(&self) -> std::result::Result<(), Refused> {
        self.shared.as_ref().map_or(Ok(()), |shared| shared.compare(&self.log))
    }

    /// Some records that the shared journal has after a position, in order and without gaps.
    pub(crate) fn page(&self, after: u64) -> std::result::Result<Vec<Entry>, Refused> {
        self.shared.as_ref().map_or(Ok(Vec::new()), |shared| shared.page(&self.log, after))
    }

    /// Ends with the value that is returned what the shared journal may have begun when it refused an
    /// append.
    pub(crate) fn hold(&self) -> Option<Held<'_>> {
        self.shared.as_ref().map(Upstream::hold)
    }

    /// Why an append or a page was refused.
    pub(crate) fn error(&self, refused: &Refused) -> Error {
        match refused {
            Refused::Moved => Error::Unavailable("another process wrote to the log".to_owned()),
            Refused::Shared(why) => Error::SharedJournal(why.clone()),
            Refused::Failed(error) | Refused::Behind(error) => log_error(error, &self.dir),
        }
    }

    /// Calls `each` with every record after the position `after`, and returns the position that it
    /// has reached. Trimmed records and their positions are passed over.
    pub(crate) fn feed(
        &self,
        after: u64,
        each: &mut dyn FnMut(&EntryRef<'_>) -> Result<()>,
    ) -> Result<u64> {
        let last = self.last();
        let mut entries = self.log.entries_after(after);
        while let Some(entry) = entries.next_ref() {
            let entry = entry.map_err(|error| log_error(&error, &self.dir))?;
            if entry.sequence > last {
                break;
            }
            each(&entry)?;
        }
        Ok(last)
    }

    /// One record as it is stored on this machine; `None` if it was trimmed or does not exist.
    pub(crate) fn read(&self, position: u64) -> Result<Option<Entry>> {
        self.log.read(position).map_err(|error| log_error(&error, &self.dir))
    }

    /// Keeps the records of now readable, whatever [`Self::trim`] removes meanwhile.
    pub(crate) fn pin(&self) -> Pinned {
        self.log.pin()
    }

    /// One record of a pinned journal.
    pub(crate) fn read_pinned(&self, pinned: &Pinned, position: u64) -> Result<Option<Entry>> {
        pinned.read(position).map_err(|error| log_error(&error, &self.dir))
    }

    /// Removes or replaces records on this machine. Positions stay. Removes none that the next start
    /// compares with the shared journal.
    pub(crate) fn trim(&self, keep: &mut dyn FnMut(&Entry) -> Keep) -> Result<Compacted> {
        let base = self.shared.as_ref().map_or(u64::MAX, Upstream::base);
        let mut keep = |entry: &Entry| match keep(entry) {
            Keep::No if entry.sequence > base => Keep::Yes,
            kept => kept,
        };
        self.log.compact(&mut keep).map_err(|error| log_error(&error, &self.dir))
    }

    /// Brings what was copied to the disk, before derived data that has it.
    pub(crate) fn sync(&self) -> Result<()> {
        match &self.shared {
            Some(_) => self.log.sync().map_err(|error| log_error(&error, &self.dir)),
            None => Ok(()),
        }
    }

    /// The last position that is known to be on disk.
    pub(crate) fn reached(&self) -> u64 {
        self.log.reached()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.log.bytes()
    }

    /// The damage that reads have met since the journal was opened.
    pub(crate) fn damage(&self) -> Vec<Damage> {
        self.log.damage()
    }

    /// Why no more records are taken, if so.
    pub(crate) fn fault(&self) -> Option<String> {
        let of_log = self.log.fault().map(|fault| fault.to_string());
        of_log.or_else(|| self.shared.as_ref()?.fault())
    }

    /// The files as of now, for a backup.
    pub(crate) fn snapshot(&self) -> Result<Snapshot> {
        self.log.snapshot().map_err(|error| log_error(&error, &self.dir))
    }
}

fn borrowed(records: &[Encoded]) -> Vec<waypost_log::Record<'_>> {
    let all = records.iter();
    all.map(|Encoded { kind, version, payload }| waypost_log::Record {
        kind: *kind,
        version: *version,
        payload,
    })
    .collect()
}
