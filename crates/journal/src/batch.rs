//! The records of one append, checked and numbered.

use std::time::Duration;

use crate::deadline::Until;
use crate::error::{Error, Result};
use crate::id::BatchId;
use crate::limits::{ANSWER_MAX, BATCH_BYTES_MAX, BATCH_RECORDS_MAX};
use crate::pending::Pending;
use crate::position::Position;
use crate::record::Record;
use crate::sql::bigint;

/// The columns of the rows of one append.
pub(crate) struct Batch<'a> {
    pub(crate) pending: Pending,
    pub(crate) seqs: Vec<i64>,
    pub(crate) parts: Vec<i16>,
    pub(crate) places: Vec<i64>,
    pub(crate) kinds: Vec<i16>,
    pub(crate) versions: Vec<i16>,
    pub(crate) payloads: Vec<&'a [u8]>,
    pub(crate) hashes: Vec<Vec<u8>>,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(after: Position, records: &'a [Record], epoch: u64) -> Result<Self> {
        check(records)?;
        bigint(after.seq.saturating_add(records.len() as u64))?;
        let id = BatchId(random_id()?);
        let mut batch = Self {
            pending: Pending { batch: id, after, end: after },
            seqs: Vec::with_capacity(records.len()),
            parts: Vec::with_capacity(records.len()),
            places: Vec::with_capacity(records.len()),
            kinds: Vec::with_capacity(records.len()),
            versions: Vec::with_capacity(records.len()),
            payloads: Vec::with_capacity(records.len()),
            hashes: Vec::with_capacity(records.len()),
        };
        for record in records {
            let end = batch.pending.end.then(epoch, id, record);
            batch.pending.end = end;
            batch.seqs.push(bigint(end.seq)?);
            batch.parts.push(record.part.into());
            batch.places.push(bigint(record.place)?);
            batch.kinds.push(record.kind.into());
            batch.versions.push(record.version.into());
            batch.payloads.push(&record.payload);
            batch.hashes.push(end.hash.0.to_vec());
        }
        Ok(batch)
    }

    /// When the answer to an append of these records counts as lost: the more there is to send, the
    /// later.
    pub(crate) fn answered(&self, until: &Until) -> Until {
        let bytes: usize = self.payloads.iter().map(|payload| payload.len()).sum();
        let sending = Duration::from_millis(bytes as u64 / BYTES_PER_MILLI);
        until.at_most(ANSWER_MAX + sending)
    }
}

/// What a network for a cluster transfers at least.
const BYTES_PER_MILLI: u64 = 1024;

/// Records within the limits, and the places of each part without gaps.
fn check(records: &[Record]) -> Result<()> {
    let count = records.len();
    if count == 0 || count > BATCH_RECORDS_MAX {
        return Err(Error::Invalid(format!(
            "an append has 1 to {BATCH_RECORDS_MAX} records, not {count}"
        )));
    }
    let bytes: usize = records.iter().map(|record| record.payload.len()).sum();
    if bytes > BATCH_BYTES_MAX {
        return Err(Error::Invalid(format!(
            "an append has at most {BATCH_BYTES_MAX} bytes of payload, not {bytes}"
        )));
    }
    let mut places = Places::default();
    for record in records {
        if let Err(expected) = places.next(record) {
            return Err(Error::Invalid(format!(
                "part {}: place {} cannot follow place {}",
                record.part,
                record.place,
                expected - 1
            )));
        }
    }
    Ok(())
}

/// The next place of each part that was seen.
#[derive(Default)]
pub(crate) struct Places(Vec<(u8, u64)>);

impl Places {
    /// Takes the place of a record; the place that it should have had, if that is another one.
    pub(crate) fn next(&mut self, record: &Record) -> std::result::Result<(), u64> {
        match self.0.iter_mut().find(|(part, _)| *part == record.part) {
            Some((_, next)) if *next != record.place => return Err(*next),
            Some((_, next)) => *next = record.place.saturating_add(1),
            None => self.0.push((record.part, record.place.saturating_add(1))),
        }
        Ok(())
    }
}

/// Returns 16 random bytes, for a new name.
///
/// # Errors
/// [`Error::Invalid`] if the system has none.
pub fn random_id() -> Result<[u8; 16]> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::Invalid(format!("the system has no random numbers: {error}")))?;
    Ok(bytes)
}
