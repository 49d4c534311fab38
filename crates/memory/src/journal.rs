//! The journal: the one place through which the store reads and appends its records.
//!
//! A journal is one sequence of records for the whole store: ids, links and the sequence belong to
//! the store, not to a space. Its operations are few, so that another engine can take its place:
//! append at an expected position, feed the records after a position, read one, trim, and a lease
//! that one process holds. Today it is a log in the files of this machine.

use std::path::{Path, PathBuf};

use waypost_log::{
    Compacted, Damage, Entry, EntryRef, FolderLock, Keep, Log, OnDamage, Options, Recovery,
    Snapshot,
};

use crate::layout::Folders;
use crate::log_error::log_error;
use crate::record::{Encoded, can_read};
use crate::{Error, Result};

/// The records of a store, in order.
#[derive(Debug)]
pub(crate) struct Journal {
    log: Log,
    /// Its folder, for errors.
    dir: PathBuf,
}

/// Why an append was refused; nothing of it is in the journal then, or it is unknown.
#[derive(Debug)]
pub(crate) enum Refused {
    /// Others have appended since. The commands must be decided again on top of that.
    Moved,
    Failed(waypost_log::Error),
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
    FolderLock::take(data).map_err(|it| log_error(&it, data))
}

impl Journal {
    pub(crate) fn open(folders: &Folders, options: &Options) -> Result<(Self, Recovery)> {
        let (log, recovery) =
            Log::open(&folders.log, options).map_err(|it| log_error(&it, &folders.log))?;
        Ok((Self { log, dir: folders.log.clone() }, recovery))
    }

    /// The position of the last record, 0 for none.
    pub(crate) fn last(&self) -> u64 {
        self.log.last_sequence()
    }

    /// Appends encoded records behind the position `after`, all or none, and returns when they
    /// are on disk.
    pub(crate) fn append(
        &self,
        after: u64,
        records: &[Encoded],
    ) -> std::result::Result<(), Refused> {
        let entries: Vec<waypost_log::Record<'_>> = records
            .iter()
            .map(|it| waypost_log::Record {
                kind: it.kind,
                version: it.version,
                payload: &it.payload,
            })
            .collect();
        match self.log.append_batch_after(after, &entries) {
            Ok(_) => Ok(()),
            Err(waypost_log::Error::Moved { .. }) => Err(Refused::Moved),
            Err(error) => Err(Refused::Failed(error)),
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

    /// Removes or replaces records. Positions stay.
    pub(crate) fn trim(&self, keep: &mut dyn FnMut(&Entry) -> Keep) -> Result<Compacted> {
        self.log.compact(keep).map_err(|it| log_error(&it, &self.dir))
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

    /// Why the log takes no more records, if so.
    pub(crate) fn fault(&self) -> Option<String> {
        self.log.fault().map(|it| it.to_string())
    }

    /// The files as of now, for a backup.
    pub(crate) fn snapshot(&self) -> Result<Snapshot> {
        self.log.snapshot().map_err(|it| log_error(&it, &self.dir))
    }
}

impl Refused {
    pub(crate) fn error(&self, journal: &Journal) -> Error {
        match self {
            Self::Moved => Error::Unavailable("another process wrote to the log".to_owned()),
            Self::Failed(error) => log_error(error, &journal.dir),
        }
    }
}
