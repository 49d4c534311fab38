//! The head row, locked: for a writer that lost against another one.

use std::sync::Arc;

use crate::append::{Fence, Outcome, not_written};
use crate::batch::Batch;
use crate::deadline::Until;
use crate::error::{Error, Result};
use crate::journal::{Head, Journal};
use crate::limits::{ANSWER_MAX, LOCKED_BYTES_MAX, LOCKED_RECORDS_MAX};
use crate::link::{Failure, Link};
use crate::position::Position;
use crate::record::Record;
use crate::transaction::begin;

/// The locked head row, for one append. Nobody else appends until then, or until it is dropped. If its
/// holder is silent for [`LOCK_IDLE_MAX`](crate::LOCK_IDLE_MAX), the server ends it.
#[derive(Debug)]
pub struct Guard {
    journal: Arc<Journal>,
    link: Link,
    head: Head,
}

impl Journal {
    /// Locks the head row, so that only the caller can append.
    ///
    /// # Errors
    /// [`Error::Connection`] if others have not let go of it within 4 s, or before the deadline.
    pub fn lock(self: &Arc<Self>, until: &Until) -> Result<Guard> {
        let mut link = self.link(until)?;
        let head = begin(self, &mut link, &until.at_most(ANSWER_MAX))?;
        self.same_incarnation(&head)?;
        Ok(Guard { journal: Arc::clone(self), link, head })
    }
}

impl Guard {
    /// Returns the position at which the journal ends.
    pub fn position(&self) -> Position {
        self.head.position
    }

    /// Appends records, commits, and lets go of the lock. A lost answer is resolved before it returns.
    ///
    /// # Errors
    /// - [`Error::Invalid`] beyond [`LOCKED_RECORDS_MAX`](crate::LOCKED_RECORDS_MAX) records or
    ///   [`LOCKED_BYTES_MAX`](crate::LOCKED_BYTES_MAX) bytes.
    /// - [`Error::LockLost`] if the server has ended the transaction, or the caller has a position
    ///   after that of the lock. Nothing was written: take the lock again, or append without it.
    /// - Those of [`Journal::append`].
    pub fn append(
        self,
        after: Position,
        records: &[Record],
        fence: Fence,
        until: &Until,
    ) -> Result<Outcome> {
        let Self { journal, mut link, head } = self;
        // Nobody else appends while the lock lasts: it has ended, and the caller has read on. Or the
        // server is not the primary, or has lost records, which an append without the lock finds out.
        if Journal::not_behind(after, &head).is_err() {
            return Err(Error::LockLost);
        }
        if let Some(outcome) = not_written(&head, after, fence) {
            return Ok(outcome);
        }
        let batch = Batch::new(after, records, fence.unwrap_or(0))?;
        let bytes: usize = records.iter().map(|record| record.payload.len()).sum();
        let count = records.len();
        if count > LOCKED_RECORDS_MAX || bytes > LOCKED_BYTES_MAX {
            return Err(Error::Invalid(format!(
                "under the lock, at most {LOCKED_RECORDS_MAX} records and {LOCKED_BYTES_MAX} bytes \
                 are appended, not {count} and {bytes}"
            )));
        }
        let execute = Link::execute_and_commit;
        match link.warned(|link| journal.append_on(link, &batch, fence, execute, until)) {
            Ok(true) => {
                let end = batch.pending.end;
                journal.announce(&mut link, end.seq);
                journal.put_back(link);
                Ok(Outcome::Appended(end))
            }
            Ok(false) | Err(Failure::Ended(_)) => Err(Error::LockLost),
            Err(Failure::Unknown(reason)) => {
                drop(link);
                let (end, _) = journal.resolve_from(&batch.pending, reason, until)?;
                end.map_or(Err(Error::LockLost), |end| Ok(Outcome::Appended(end)))
            }
            Err(failure) => Err(failure.into()),
        }
    }
}
