//! The journal: the one place through which the store reads and appends its records.
//!
//! A journal is one sequence of records for the whole store: ids, links and the sequence belong to
//! the store, not to a space. Its operations are few: append at an expected position, feed the
//! records after a position, read one, trim, and a lease that one process holds. It is a log in the
//! files of this machine. With a [`SharedJournal`], that decides the order of the records, and the
//! log is the copy of this machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use waypost_log::{
    AppendMax, Compacted, Damage, Entry, EntryRef, FolderLock, Keep, Log, OnDamage, Options,
    Recovery, SharedError, SharedJournal, Snapshot,
};

use crate::layout::Folders;
use crate::log_error::log_error;
use crate::record::{Encoded, can_read};
use crate::{Error, Result};

/// The number of records that a change takes at most, but for a merge: an add and its note, a version
/// and the deletion after it.
pub(crate) const CHANGE_RECORDS: usize = 2;

/// The records of a store, in order.
#[derive(Debug)]
pub(crate) struct Journal {
    log: Log,
    /// Its folder, for errors.
    dir: PathBuf,
    shared: Option<Shared>,
}

/// What decides the order of the records, if it is not the log.
#[derive(Debug)]
struct Shared {
    journal: Arc<dyn SharedJournal>,
    /// Whether it has the last record that the log had when it was opened.
    is_compared: AtomicBool,
    /// Why it is no longer used, if so.
    fault: Mutex<Option<String>>,
}

/// Why an append was refused.
#[derive(Debug)]
pub(crate) enum Refused {
    /// Others have appended since. The commands must be decided again on top of that.
    Moved,
    /// Nothing of it is in the log; the shared journal may have it.
    Shared(String),
    /// Nothing of it is in the log, or it is unknown.
    Failed(waypost_log::Error),
    /// The shared journal has it, and the log of this machine does not, or it is unknown.
    Behind(waypost_log::Error),
}

/// A lock of the shared journal, perhaps, which is released when this is dropped.
#[derive(Debug)]
pub(crate) struct Held<'a>(Option<&'a dyn SharedJournal>);

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
    FolderLock::take(data).map_err(|it| log_error(&it, data))
}

impl Journal {
    pub(crate) fn open(
        folders: &Folders,
        options: &Options,
        shared: Option<Arc<dyn SharedJournal>>,
    ) -> Result<(Self, Recovery)> {
        let (log, recovery) =
            Log::open(&folders.log, options).map_err(|it| log_error(&it, &folders.log))?;
        let shared = shared.map(|journal| Shared {
            journal,
            is_compared: AtomicBool::new(false),
            fault: Mutex::default(),
        });
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
        self.shared.as_ref().map(|it| it.journal.append_max())
    }

    /// How many changes one command should make, at most `wanted`, so that its records fit one append.
    pub(crate) fn changes_max(&self, wanted: usize) -> usize {
        self.append_max().map_or(wanted, |it| wanted.min((it.records / CHANGE_RECORDS).max(1)))
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
        // The shared journal must not get what this machine cannot take.
        self.check_end(after)?;
        shared.check()?;
        self.compare_last(shared)?;
        shared.journal.append(after, &entries).map_err(|it| shared.refused(&it))?;
        self.copy_all(&entries).map_err(Refused::Behind)
    }

    /// Appends records that the shared journal has behind the position `after`.
    pub(crate) fn copy(&self, after: u64, records: &[Encoded]) -> std::result::Result<(), Refused> {
        self.check_end(after)?;
        self.copy_all(&borrowed(records)).map_err(Refused::Behind)
    }

    /// What a power cut takes from the log is in the shared journal: it needs no sync.
    fn copy_all(
        &self,
        records: &[waypost_log::Record<'_>],
    ) -> std::result::Result<(), waypost_log::Error> {
        if records.is_empty() {
            return Ok(());
        }
        self.log.append_batch_unsynced(records).map(|_| ())
    }

    fn check_end(&self, after: u64) -> std::result::Result<(), Refused> {
        if let Some(error) = self.log.fault() {
            return Err(Refused::Failed(error));
        }
        match self.last() {
            last if last == after => Ok(()),
            last => Err(Refused::Failed(waypost_log::Error::Moved { expected: after, last })),
        }
    }

    /// Compares the last record of the log with the shared journal, once: a log that was repaired, or
    /// belongs to another store, may have as many records, but others.
    fn compare_last(&self, shared: &Shared) -> std::result::Result<(), Refused> {
        if shared.is_compared.load(Ordering::Acquire) {
            return Ok(());
        }
        let last = self.last();
        if let Some(own) = self.log.read(last).map_err(Refused::Failed)? {
            let found = match shared.journal.read(last - 1) {
                Ok(page) => page.into_iter().next(),
                Err(error @ SharedError::Unavailable(_)) => return Err(shared.refused(&error)),
                // What follows reports a shorter one. It may begin behind this record.
                Err(_) => None,
            };
            // Its text is not gone: the removal of texts is a later record.
            if found.is_some_and(|it| it != own) {
                let why = format!("it has another record {last}");
                return Err(shared.refused(&SharedError::Diverged(why)));
            }
        }
        shared.is_compared.store(true, Ordering::Release);
        Ok(())
    }

    /// Some records that the shared journal has after a position, in order and without gaps.
    pub(crate) fn page(&self, after: u64) -> std::result::Result<Vec<Entry>, Refused> {
        let Some(shared) = &self.shared else { return Ok(Vec::new()) };
        shared.check()?;
        self.compare_last(shared)?;
        let page = shared.journal.read(after).map_err(|it| shared.refused(&it))?;
        let expected = (after + 1..).zip(&page);
        if let Some((number, found)) = expected.into_iter().find(|it| it.0 != it.1.sequence) {
            let why = format!("it has record {} where {number} is expected", found.sequence);
            return Err(shared.refused(&SharedError::Diverged(why)));
        }
        Ok(page)
    }

    /// Ends with the value that is returned what the shared journal may have begun when it refused an
    /// append.
    pub(crate) fn hold(&self) -> Held<'_> {
        Held(self.shared.as_ref().map(|it| &*it.journal))
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
            let entry = entry.map_err(|it| log_error(&it, &self.dir))?;
            if entry.sequence > last {
                break;
            }
            each(&entry)?;
        }
        Ok(last)
    }

    /// One record as it is stored on this machine; `None` if it was trimmed or does not exist.
    pub(crate) fn read(&self, position: u64) -> Result<Option<Entry>> {
        self.log.read(position).map_err(|it| log_error(&it, &self.dir))
    }

    /// Removes or replaces records on this machine. Positions stay.
    pub(crate) fn trim(&self, keep: &mut dyn FnMut(&Entry) -> Keep) -> Result<Compacted> {
        self.log.compact(keep).map_err(|it| log_error(&it, &self.dir))
    }

    /// Brings what was copied to the disk, before derived data that has it.
    pub(crate) fn sync(&self) -> Result<()> {
        match &self.shared {
            Some(_) => self.log.sync().map_err(|it| log_error(&it, &self.dir)),
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
        let of_log = self.log.fault().map(|it| it.to_string());
        of_log.or_else(|| self.shared.as_ref()?.fault.lock().clone())
    }

    /// The files as of now, for a backup.
    pub(crate) fn snapshot(&self) -> Result<Snapshot> {
        self.log.snapshot().map_err(|it| log_error(&it, &self.dir))
    }
}

impl Shared {
    fn check(&self) -> std::result::Result<(), Refused> {
        match &*self.fault.lock() {
            Some(fault) => Err(Refused::Shared(fault.clone())),
            None => Ok(()),
        }
    }

    fn refused(&self, error: &SharedError) -> Refused {
        match error {
            SharedError::Moved => Refused::Moved,
            SharedError::Unavailable(_) | SharedError::Unknown(_) => {
                Refused::Shared(error.to_string())
            }
            SharedError::Diverged(_) => {
                let fault = format!("it differs from this replica: {error}");
                Refused::Shared(self.fault.lock().insert(fault).clone())
            }
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Some(journal) = self.0 {
            journal.release();
        }
    }
}

impl Refused {
    pub(crate) fn error(&self, journal: &Journal) -> Error {
        match self {
            Self::Moved => Error::Unavailable("another process wrote to the log".to_owned()),
            Self::Shared(why) => Error::SharedJournal(why.clone()),
            Self::Failed(error) | Self::Behind(error) => log_error(error, &journal.dir),
        }
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
