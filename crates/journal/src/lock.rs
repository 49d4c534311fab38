//! The head row, locked: for a writer that lost against another one.

use std::ops::Deref;
use std::sync::Arc;

use crate::append::{Fence, Outcome, not_written};
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::fetch::{FetchOptions, Fetched};
use crate::journal::{Head, Journal};
use crate::limits::{ANSWER_MAX, LOCKED_BYTES_MAX, LOCKED_RECORDS_MAX};
use crate::link::{Failure, Link};
use crate::pending::Pending;
use crate::position::Position;
use crate::record::Record;
use crate::transaction::{begin, commit};
use crate::until::Until;

/// The locked head row. Nobody else appends until it is committed or dropped; dropping it writes
/// nothing. If its holder is silent for [`LOCK_IDLE_MAX`](crate::LOCK_IDLE_MAX), the server ends it.
#[derive(Debug)]
pub struct Guard<J: Deref<Target = Journal>> {
    journal: J,
    link: Link,
    head: Head,
    start: Position,
    records: usize,
    bytes: usize,
    /// The last append, of which the hash covers the earlier ones.
    last: Option<Pending>,
}

impl Journal {
    /// Locks the head row, so that only the caller can append.
    ///
    /// # Errors
    /// [`Error::Connection`] if others have not let go of it within 4 s, or before the deadline.
    pub fn lock(&self, until: &Until) -> Result<Guard<&Self>> {
        lock(self, until)
    }

    /// The same with a guard that keeps the journal open, which can be stored.
    ///
    /// # Errors
    /// Those of [`lock`](Self::lock).
    pub fn lock_owned(self: &Arc<Self>, until: &Until) -> Result<Guard<Arc<Self>>> {
        lock(Arc::clone(self), until)
    }
}

fn lock<J: Deref<Target = Journal>>(journal: J, until: &Until) -> Result<Guard<J>> {
    let mut link = journal.link(until)?;
    let head = begin(&journal, &mut link, &until.at_most(ANSWER_MAX))?;
    journal.same_incarnation(&head)?;
    let start = head.position;
    Ok(Guard { journal, link, head, start, records: 0, bytes: 0, last: None })
}

impl<J: Deref<Target = Journal>> Guard<J> {
    /// Returns the position at which the journal ends, with what this guard has appended.
    pub fn position(&self) -> Position {
        self.head.position
    }

    /// Reads records, as [`Journal::fetch`] does. It uses another connection, because what it
    /// returns must be confirmed by the standbys before this transaction ends.
    ///
    /// # Errors
    /// Those of [`Journal::fetch`].
    pub fn fetch(&self, after: Position, options: &FetchOptions, until: &Until) -> Result<Fetched> {
        self.journal.fetch(after, options, until)
    }

    /// Appends records in the transaction. They count when [`commit`](Self::commit) has returned.
    ///
    /// # Errors
    /// - [`Error::Invalid`] beyond [`LOCKED_RECORDS_MAX`](crate::LOCKED_RECORDS_MAX) records or
    ///   [`LOCKED_BYTES_MAX`](crate::LOCKED_BYTES_MAX) bytes in one guard.
    /// - [`Error::LockLost`] if the server has ended the transaction, or the caller has a position
    ///   after that of the lock. Nothing was written: take the lock again, or append without it.
    pub fn append(
        &mut self,
        after: Position,
        records: &[Record],
        fence: Fence,
        until: &Until,
    ) -> Result<Outcome> {
        let batch = match self.batch(after, records, fence)? {
            Ok(batch) => batch,
            Err(outcome) => return Ok(outcome),
        };
        match self.journal.append_on(&mut self.link, &batch, fence, Link::execute, until) {
            Ok(true) => {}
            Ok(false) => return Err(Error::LockLost),
            Err(failure) => return Err(lost(failure)),
        }
        let pending = batch.pending;
        self.records += records.len();
        self.bytes += bytes(records);
        self.head.position = pending.end;
        self.last = Some(pending);
        Ok(Outcome::Appended(pending.end))
    }

    /// The same, followed by [`commit`](Self::commit), in one round trip.
    ///
    /// # Errors
    /// Those of both.
    pub fn append_and_commit(
        mut self,
        after: Position,
        records: &[Record],
        fence: Fence,
        until: &Until,
    ) -> Result<Outcome> {
        let batch = match self.batch(after, records, fence)? {
            Ok(batch) => batch,
            Err(outcome) => return Ok(outcome),
        };
        let execute = Link::execute_and_commit;
        let journal = &self.journal;
        let answer = self.link.warned(|it| journal.append_on(it, &batch, fence, execute, until));
        let pending = batch.pending;
        self.end(pending, answer, until)
    }

    /// The records of an append, or why it would write nothing.
    fn batch<'a>(
        &self,
        after: Position,
        records: &'a [Record],
        fence: Fence,
    ) -> Result<std::result::Result<Batch<'a>, Outcome>> {
        // Nobody else appends while the lock lasts: it has ended, and the caller has read on. Or the
        // server is not the primary, or has lost records, which an append without the lock finds out.
        if Journal::not_behind(after, &self.head).is_err() {
            return Err(Error::LockLost);
        }
        if let Some(outcome) = not_written(&self.head, after, fence) {
            return Ok(Err(outcome));
        }
        let batch = Batch::new(after, records, fence.unwrap_or(0))?;
        let bytes = self.bytes + bytes(records);
        let count = self.records + records.len();
        if count > LOCKED_RECORDS_MAX || bytes > LOCKED_BYTES_MAX {
            return Err(Error::Invalid(format!(
                "under the lock, at most {LOCKED_RECORDS_MAX} records and {LOCKED_BYTES_MAX} bytes \
                 are appended, not {count} and {bytes}"
            )));
        }
        Ok(Ok(batch))
    }

    /// Commits what was appended and lets go of the lock. A lost answer is resolved before it
    /// returns.
    ///
    /// # Errors
    /// [`Error::LockLost`] if the server had ended the transaction: nothing was written. Otherwise
    /// those of [`Journal::append`].
    pub fn commit(mut self, until: &Until) -> Result<Outcome> {
        let Some(last) = self.last else { return Ok(Outcome::Appended(self.start)) };
        let answer = commit(&mut self.link, &until.at_most(ANSWER_MAX));
        self.end(last, answer.map(|()| true), until)
    }

    /// What became of the transaction, after the answer to its COMMIT.
    fn end(self, last: Pending, answer: Result<bool, Failure>, until: &Until) -> Result<Outcome> {
        let Self { journal, mut link, start, .. } = self;
        match answer {
            Ok(false) => Err(Error::LockLost),
            Ok(true) => {
                journal.announce(&mut link, last.end.seq);
                journal.put_back(link);
                Ok(Outcome::Appended(last.end))
            }
            Err(Failure::Unknown(reason)) => {
                drop(link);
                let pending = Pending { after: start, ..last };
                let (end, _) = journal.resolve_from(&pending, reason, until)?;
                end.map_or(Err(Error::LockLost), |it| Ok(Outcome::Appended(it)))
            }
            Err(failure) => Err(lost(failure)),
        }
    }
}

fn bytes(records: &[Record]) -> usize {
    records.iter().map(|it| it.payload.len()).sum()
}

/// Before the commit is sent, every end of the connection is an end of the transaction.
fn lost(failure: Failure) -> Error {
    match failure {
        Failure::Ended(_) | Failure::Unknown(_) => Error::LockLost,
        failure => failure.into(),
    }
}
