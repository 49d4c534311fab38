//! The shared journal: the order of records for several logs that are copies of one another.

use std::fmt;

use crate::{Entry, Record};

/// Decides the order of the records of several stores on several machines, and keeps them.
///
/// A store that has one is a replica. The shared journal is the truth: a change is acknowledged when
/// the shared journal has its records and the store has applied them. The store's own log, state and
/// index are a copy that serves every read.
///
/// Records have the numbers 1, 2, 3 …, without gaps. A record's number in the shared journal is its
/// sequence in the log of each replica. The contents are opaque here; whoever implements this adds
/// no record of its own to this sequence.
///
/// # What an implementation must guarantee
///
/// - A record that was appended stays, with its number, kind, version and payload. When
///   [`append`](Self::append) returns `Ok`, the loss of a machine cannot remove it.
/// - An append writes all of its records or none.
/// - Every replica [reads](Self::read) the same records under the same numbers. What was read has
///   been checked: an implementation detects records that are missing, changed or in another order,
///   and returns [`SharedError::Diverged`].
/// - No call waits forever. While a call waits, the replica writes nothing else, and reads and
///   searches continue.
///
/// # How a store calls it
///
/// Before anything else, the store [compares](Self::compare) its records with those here.
///
/// One thread at a time calls [`append`](Self::append), and [`release`](Self::release) after it.
/// [`read`](Self::read) is called by that thread and by those that make the store follow, at the
/// same time.
pub trait SharedJournal: fmt::Debug + Send + Sync {
    /// Compares the records of this replica, whose last one has the number `last`, with those here:
    /// a log that was repaired, belongs to another store, or has outlived a loss of this journal may
    /// have as many records, but others. Calls `is_same` with records that have the numbers of the
    /// replica's, and fails at the first for which it returns false.
    ///
    /// By default, only the last record is compared. Where several stores of one machine share the
    /// journal, an implementation can refuse [`append`](Self::append) and [`read`](Self::read) with
    /// [`SharedError::Unavailable`] until each of them was compared: a loss of the journal may show in
    /// one store only, and the others must not apply what was written after it.
    ///
    /// # Errors
    /// [`SharedError::Diverged`] if a record differs, or the journal ends before `last`;
    /// [`SharedError::Unavailable`].
    fn compare(
        &self,
        last: u64,
        is_same: &mut dyn FnMut(&Entry) -> bool,
    ) -> Result<(), SharedError> {
        let Some(before) = last.checked_sub(1) else { return Ok(()) };
        match self.read(before) {
            Ok(page) if page.first().is_some_and(|page| !is_same(page)) => {
                Err(SharedError::Diverged(format!(
                    "record {last} of this log is another one in the shared journal"
                )))
            }
            // It may begin behind this record. If it ends before it, this reports that.
            Err(error) if !error.is_final() => Err(error),
            Ok(_) | Err(_) => self.read(last).map(drop),
        }
    }

    /// The last record that the next [`compare`](Self::compare) need not be given. A store keeps the
    /// records behind it: a compaction may replace them by what is still the same record, and removes
    /// none. By default, it may remove all.
    fn base(&self) -> u64 {
        u64::MAX
    }

    /// How much the next append may have. The store asks before it decides commands, so the answer
    /// may be another one after [`SharedError::Moved`].
    fn append_max(&self) -> AppendMax;

    /// Appends records directly behind the number `after`, which is the last that this replica has
    /// applied, and returns when they are durable.
    ///
    /// Without records, it returns whether `after` is still the last number: then what the replica
    /// has decided about commands that change nothing holds.
    ///
    /// After [`SharedError::Moved`], an implementation may keep other replicas from appending until
    /// the next call of `append` or [`release`](Self::release), whatever that call returns. The
    /// store then reads and applies what it lacks, decides its commands again, and calls one of the
    /// two. So each batch loses at most once. The store may take long to apply what it lacks, or
    /// fail, so an implementation must limit the time.
    ///
    /// # Errors
    /// Any [`SharedError`].
    fn append(&self, after: u64, records: &[Record<'_>]) -> Result<(), SharedError>;

    /// Ends what [`SharedError::Moved`] began: the store appends nothing. Does nothing otherwise.
    fn release(&self);

    /// The records after the number `after`, in order and without gaps: the first has the number
    /// `after + 1`. Returns at most as many as should become visible at once. It may return none
    /// although others have appended, unless [`append`](Self::append) has refused with
    /// [`SharedError::Moved`] and nothing was read since.
    ///
    /// The last one should be the last of its append, so that no reader sees a part of a command.
    /// A store applies them in one step, and searches wait for a part of it: some hundred records
    /// take some milliseconds.
    ///
    /// # Errors
    /// [`SharedError::Diverged`] if the journal ends before `after` or begins behind it,
    /// [`SharedError::Unavailable`].
    fn read(&self, after: u64) -> Result<Vec<Entry>, SharedError>;
}

/// The limits of one append to a [`SharedJournal`].
///
/// The records of one command are one append. So an append exceeds the limits if it is that of a
/// single command which exceeds them: the merge of memories with many links, the import of a memory
/// with a long history, or a batch of many events. A payload has at most
/// [`PAYLOAD_BYTES_MAX`](crate::PAYLOAD_BYTES_MAX) bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppendMax {
    /// The number of records.
    pub records: usize,
    /// The sum of the payloads in bytes.
    pub bytes: usize,
}

/// Why a [`SharedJournal`] did not append or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SharedError {
    /// Other replicas have appended behind the expected number; nothing was written. The store
    /// applies what it lacks and decides its commands again.
    #[error("other replicas have appended")]
    Moved,
    /// Nothing was written, and a later attempt may succeed: the database cannot be reached, or
    /// takes no writes at the moment.
    #[error("{0}")]
    Unavailable(String),
    /// Nothing was written or read, and a person has to change something first: a setting, a
    /// privilege, or the release of this replica.
    #[error("{0}")]
    Refused(String),
    /// Only another replica may append at the moment, which the message names; nothing was written.
    #[error("{0}")]
    Elsewhere(String),
    /// The records may have been written or not. The commands fail, and what became of them shows
    /// when the store reads on: an implementation returns this only if a later
    /// [`append`](SharedJournal::append) or [`read`](SharedJournal::read) cannot succeed before that
    /// has been settled.
    #[error("{0}; the change may have been written or not")]
    Unknown(String),
    /// The shared journal is not the one that this replica has copied: it is shorter, or has other
    /// records. The store writes and reads nothing more there until it is opened again.
    #[error("{0}")]
    Diverged(String),
    /// This replica cannot follow the shared journal any more, or was excluded: it must be copied
    /// again from another one. Until then, it is the same as after [`SharedError::Diverged`].
    #[error("{0}")]
    Excluded(String),
}

impl SharedError {
    /// Whether the replica cannot use the shared journal until it is opened again: after
    /// [`SharedError::Diverged`] and [`SharedError::Excluded`].
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Diverged(_) | Self::Excluded(_))
    }
}
