//! Appends records, and finds out what became of an append whose answer was lost.

use std::time::Duration;

use crate::batch::Batch;
use crate::deadline::Until;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::HASH_AT;
use crate::journal::{Head, Journal};
use crate::link::{Failure, Link};
use crate::pending::Pending;
use crate::position::Position;
use crate::record::Record;
use crate::sql::{Parameter, bigint, hash};
use crate::transaction::{begin, commit};

/// The fence of an append: the epoch of the lease that the caller holds.
pub type Fence = Option<u64>;

/// What became of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The records are committed, on as many standbys as the server waits for. The journal ends, or
    /// has ended, here.
    Appended(Position),
    /// The journal did not end where the caller expected, but here. Nothing was written.
    Moved(Position),
    /// Another process has taken the lease, in this epoch. Nothing was written.
    Fenced(u64),
}

/// One statement: the head row moves only from the position that the writer knows, and only if
/// the setting has taken effect; the rows follow only if it has moved. `probe` changes when another
/// statement was found not to be written, so that one that is still on its way cannot be carried
/// out later. It is short, because the server plans it each time.
const APPEND: &str = "WITH moved AS (\
         UPDATE {schema}.head SET seq = $7, hash = $8 \
         WHERE store = $1 AND incarnation = $2 AND seq = $3 AND hash = $4 AND probe = $5 \
         AND ($6::int8 IS NULL OR lease_epoch = $6) \
         AND set_config('synchronous_commit', 'on', true) = 'on' RETURNING 1\
     ) INSERT INTO {schema}.journal \
     (store, epoch, batch, seq, part, place, kind, version, payload, hash) \
     SELECT $1, coalesce($6, 0), $9, unnest($10::int8[]), unnest($11::int2[]), \
     unnest($12::int8[]), unnest($13::int2[]), unnest($14::int2[]), unnest($15::bytea[]), \
     unnest($16::bytea[]) FROM moved";

const PROBE: &str = "UPDATE {schema}.head SET probe = probe + 1 WHERE store = $1";

/// [`Link::execute`] or [`Link::execute_and_commit`].
type Execute = fn(&mut Link, &str, &[&dyn Parameter], &Until) -> Result<u64, Failure>;

/// How many times the probe may change under an append before it gives up.
const PROBES_MAX: u32 = 100;

/// The pauses between two attempts to resolve double from the first to the last.
const PAUSE_FIRST: Duration = Duration::from_millis(10);
const PAUSE_LAST: Duration = Duration::from_millis(500);
/// The limits of one attempt double from the first to the last.
const ATTEMPT_FIRST: Duration = Duration::from_secs(2);
const ATTEMPT_LAST: Duration = Duration::from_secs(30);

impl Journal {
    /// Appends records behind a position, all or none, and returns when they are committed.
    ///
    /// A lost answer is resolved before it returns, as by [`resolve`](Self::resolve).
    ///
    /// # Errors
    /// - [`Error::Unresolved`] if the deadline passed before the outcome was known.
    /// - [`Error::Incarnation`], [`Error::Shorter`] and [`Error::Diverged`] if the database has
    ///   another history than the caller.
    /// - [`Error::Invalid`] if the records exceed [`BATCH_RECORDS_MAX`](crate::BATCH_RECORDS_MAX)
    ///   or [`BATCH_BYTES_MAX`](crate::BATCH_BYTES_MAX), or the places of a part have a gap. The
    ///   first record of a part in the append may have any place.
    /// - [`Error::Trimmed`], as from [`resolve`](Self::resolve).
    /// - Others mean that nothing was written.
    pub fn append(
        &self,
        after: Position,
        records: &[Record],
        fence: Fence,
        until: &Until,
    ) -> Result<Outcome> {
        let batch = Batch::new(after, records, fence.unwrap_or(0))?;
        for _ in 0..PROBES_MAX {
            let mut link = self.link(until)?;
            let append =
                |link: &mut Link| self.append_on(link, &batch, fence, Link::execute, until);
            match link.warned(append) {
                Ok(true) => {
                    let end = batch.pending.end;
                    self.announce(&mut link, end.seq);
                    self.put_back(link);
                    return Ok(Outcome::Appended(end));
                }
                Ok(false) => {
                    self.put_back(link);
                    let head = self.head_beyond(after, until)?;
                    if let Some(outcome) = not_written(&head, after, fence) {
                        return Ok(outcome);
                    }
                }
                Err(Failure::Ended(_)) => {}
                Err(Failure::Unknown(reason)) => {
                    drop(link);
                    match self.resolve_from(&batch.pending, reason, until)? {
                        // Only the answer was lost on the way there.
                        (None, head) => {
                            if let Some(outcome) = not_written(&head, after, fence) {
                                return Ok(outcome);
                            }
                        }
                        (Some(end), _) => return Ok(Outcome::Appended(end)),
                    }
                }
                Err(failure) => return Err(failure.into()),
            }
        }
        Err(Error::Connection("other writers never ceased to probe the journal".to_owned()))
    }

    /// Finds out whether an append was written, and makes sure that it stays so: reconnects, locks
    /// the head row, looks the records up, and commits a write of its own. Tries until the
    /// deadline. An append that is found not to be written cannot be written later.
    ///
    /// Returns [`Outcome::Appended`], or [`Outcome::Moved`] with the end of the journal, which may be
    /// where it was.
    ///
    /// # Errors
    /// - [`Error::Unresolved`] if the deadline passes first.
    /// - [`Error::Trimmed`] if the journal was trimmed beyond the append: whether it was written can
    ///   only be seen in the snapshot, from which this machine must join again.
    /// - Those of [`append`](Self::append).
    pub fn resolve(&self, pending: &Pending, until: &Until) -> Result<Outcome> {
        let reason = "the deadline had passed".to_owned();
        let (end, head) = self.resolve_from(pending, reason, until)?;
        Ok(end.map_or(Outcome::Moved(head.position), Outcome::Appended))
    }

    pub(crate) fn resolve_from(
        &self,
        pending: &Pending,
        reason: String,
        until: &Until,
    ) -> Result<(Option<Position>, Head)> {
        let mut reason = reason;
        let mut pause = PAUSE_FIRST;
        let mut attempt = ATTEMPT_FIRST;
        while !until.is_over() {
            self.turn_away();
            match self.attempt(pending, &until.at_most(attempt)) {
                Ok(found) => return Ok(found),
                Err(error) if matches!(error.kind(), ErrorKind::Lost | ErrorKind::Behind) => {
                    return Err(error);
                }
                Err(error) => reason = error.to_string(),
            }
            until.pause(pause);
            pause = PAUSE_LAST.min(2 * pause);
            attempt = ATTEMPT_LAST.min(2 * attempt);
        }
        Err(Error::Unresolved { pending: *pending, reason })
    }

    /// One attempt. Nothing that it has read counts before its own commit is acknowledged: a server
    /// that is no longer the primary cannot acknowledge it.
    fn attempt(&self, pending: &Pending, until: &Until) -> Result<(Option<Position>, Head)> {
        let mut link = self.link(until)?;
        let head = begin(self, &mut link, until)?;
        let rows = link.query(HASH_AT, &[&self.store, &bigint(pending.end.seq)?], until)?;
        let found = rows.first().map(|row| hash(row, 0)).transpose()?;
        link.execute(PROBE, &[&self.store], until)?;
        commit(&mut link, until)?;
        self.know(&Head { probe: head.probe + 1, ..head });
        self.put_back(link);
        self.same_incarnation(&head)?;
        Self::not_behind(pending.after, &head)?;
        self.note_confirmed(head.position.seq);
        let found = match found {
            None if pending.end.seq == head.base.seq => Some(head.base.hash),
            None if pending.end.seq < head.base.seq => {
                return Err(Error::Trimmed { first: head.base.seq + 1 });
            }
            found => found,
        };
        // The hash covers the random id of the append.
        let end = (found == Some(pending.end.hash)).then_some(pending.end);
        Ok((end, head))
    }

    /// Runs the statement by `execute`; whether it wrote.
    pub(crate) fn append_on(
        &self,
        link: &mut Link,
        batch: &Batch<'_>,
        fence: Fence,
        execute: Execute,
        until: &Until,
    ) -> Result<bool, Failure> {
        let fence = fence.map(|fence| i64::try_from(fence).unwrap_or(i64::MAX));
        let (after, end) = (batch.pending.after, batch.pending.end);
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let (incarnation, from, to) =
            (number(self.incarnation), number(after.seq), number(end.seq));
        let (from_hash, to_hash) = (after.hash.0.as_slice(), end.hash.0.as_slice());
        let Batch { seqs, parts, places, kinds, versions, payloads, hashes, .. } = batch;
        let added = execute(
            link,
            APPEND,
            &[
                &self.store,
                &incarnation,
                &from,
                &from_hash,
                &self.probe(),
                &fence,
                &to,
                &to_hash,
                &batch.pending.batch,
                seqs,
                parts,
                places,
                kinds,
                versions,
                payloads,
                hashes,
            ],
            &batch.answered(until),
        )?;
        match added {
            0 => Ok(false),
            it if it == batch.seqs.len() as u64 => Ok(true),
            it => Err(Failure::Unknown(format!("{it} of {} records", batch.seqs.len()))),
        }
    }
}

/// Why an append found another head row; `None` if only the probe was another one.
pub(crate) fn not_written(head: &Head, after: Position, fence: Fence) -> Option<Outcome> {
    if fence.is_some_and(|fence| fence != head.lease_epoch) {
        return Some(Outcome::Fenced(head.lease_epoch));
    }
    (head.position != after).then_some(Outcome::Moved(head.position))
}
