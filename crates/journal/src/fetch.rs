//! Reads records in order and verifies the chain of their hashes.

use tokio_postgres::Row as SqlRow;

use crate::batch::Places;
use crate::deadline::Until;
use crate::error::{Error, ErrorKind, Result};
use crate::journal::{Head, Journal, MARK};
use crate::position::{Hash, Position};
use crate::record::{Record, Row};
use crate::sql::{bigint, column, hash, number};

/// How much one [`Journal::fetch`] returns.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FetchOptions {
    /// The most records; 1000 by default.
    pub records_max: u32,
    /// The most bytes of payload, in bytes; 8 MiB by default. The first record is returned whatever
    /// its size.
    pub bytes_max: u64,
}

/// Records after a position, verified.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Fetched {
    /// The records, in order.
    pub rows: Vec<Row>,
    /// The head row at some time before they were read.
    pub head: Head,
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self { records_max: 1000, bytes_max: 8 * 1024 * 1024 }
    }
}

impl FetchOptions {
    /// Sets the most records.
    #[must_use]
    pub fn with_records_max(mut self, records_max: u32) -> Self {
        self.records_max = records_max;
        self
    }

    /// Sets the most bytes of payload, in bytes.
    #[must_use]
    pub fn with_bytes_max(mut self, bytes_max: u64) -> Self {
        self.bytes_max = bytes_max;
        self
    }
}

const FETCH: &str = "SELECT seq, epoch, part, place, kind, version, batch, payload, hash{mark} FROM (\
         SELECT *, sum(octet_length(payload)) OVER (ORDER BY seq) AS bytes FROM (\
             SELECT * FROM {schema}.journal WHERE store = $1 AND seq > $2 AND seq <= $3 \
             ORDER BY seq LIMIT $4\
         ) AS next\
     ) AS sized WHERE bytes <= $5 OR seq = $2 + 1 ORDER BY seq";

pub(crate) const HASH_AT: &str = "SELECT hash FROM {schema}.journal WHERE store = $1 AND seq = $2";

/// The most records of a page whose answer can count as lost.
const SHORT: i64 = 64;

/// The same in one transaction that waits for the standbys; the mark is evaluated once.
const CONFIRMED: &str = "WITH mark AS MATERIALIZED (SELECT {values}) SELECT found.*, mark.* FROM ({fetch}) AS found, mark";

impl Journal {
    /// Reads the records after a position that the caller has, in order, and verifies that none is
    /// missing and that each has the hash of what was appended.
    ///
    /// The first record of a part may have any place: only what one call returns is compared.
    ///
    /// It may return fewer than there are; it returns none only if there are none. The records that it returns survive the loss of the primary: if commits wait for standbys,
    /// it has waited for them as well, unless it knows that another one has.
    ///
    /// # Errors
    /// - [`Error::Shorter`], [`Error::Diverged`] and [`Error::Incarnation`] if the database has
    ///   another history than the caller.
    /// - [`Error::Trimmed`] if records after the position were trimmed.
    /// - [`Error::Gap`], [`Error::Mismatch`] and [`Error::Malformed`] if stored records are
    ///   damaged. Records before the damage can be read with a smaller limit.
    pub fn fetch(&self, after: Position, options: &FetchOptions, until: &Until) -> Result<Fetched> {
        // What was read before, when the lock was taken or a wait ended, tells enough of the end.
        if let Some(head) = self.head_known_beyond(after.seq) {
            match self.fetch_to(after, head, options, until) {
                Err(error) if error.kind() != ErrorKind::Retry => self.forget_head(),
                fetched => return fetched,
            }
        }
        let head = self.head_beyond(after, until)?;
        self.fetch_to(after, head, options, until)
    }

    fn fetch_to(
        &self,
        after: Position,
        head: Head,
        options: &FetchOptions,
        until: &Until,
    ) -> Result<Fetched> {
        Self::not_trimmed(after, &head)?;
        if head.position.seq == after.seq {
            return Ok(Fetched { rows: Vec::new(), head });
        }
        let (end, confirmed) = (head.position.seq, self.confirmed());
        // What is known to be on the standbys needs no wait; the rest comes with the next call.
        let (last, marked) = if !head.is_synchronous || confirmed >= end {
            (end, false)
        } else if confirmed > after.seq {
            (confirmed, false)
        } else {
            (end, true)
        };
        let found = self.fetch_rows((after.seq, last), options, marked, until)?;
        let rows = match verify(after, &head, &found) {
            Ok(rows) => rows,
            Err(damage) => return Err(self.explain(after, damage, until)),
        };
        if let (true, Some(last)) = (marked, rows.last()) {
            self.note_confirmed(last.seq);
        }
        Ok(Fetched { rows, head })
    }

    fn fetch_rows(
        &self,
        (after, last): (u64, u64),
        options: &FetchOptions,
        marked: bool,
        until: &Until,
    ) -> Result<Vec<SqlRow>> {
        let sql = FETCH.replace("{mark}", "");
        let sql =
            if marked { CONFIRMED.replace("{values}", MARK).replace("{fetch}", &sql) } else { sql };
        let (first, last) = (bigint(after)?, bigint(last)?);
        let bytes = i64::try_from(options.bytes_max).unwrap_or(i64::MAX);
        let records = i64::from(options.records_max.max(1));
        self.read(until, |link, attempt| {
            // A wait for the standbys, or a long page, may take as long as the caller waits.
            let until = if marked || last - first > SHORT { until } else { attempt };
            link.warned(|link| {
                link.query(&sql, &[&self.store, &first, &last, &records, &bytes], until)
            })
        })
    }

    /// What looks like damage can be a trim that came in between, or another history.
    fn explain(&self, after: Position, damage: Error, until: &Until) -> Error {
        let explained = match damage {
            Error::Gap { .. } => {
                self.head(until).and_then(|head| Self::not_trimmed(after, &head)).err()
            }
            Error::Mismatch { seq, .. } if seq == after.seq + 1 && after.seq > 0 => {
                match self.hash_at(after.seq, until) {
                    Ok(Some(theirs)) if theirs != after.hash => {
                        Some(Error::Diverged { seq: after.seq, ours: after.hash, theirs })
                    }
                    Ok(_) => None,
                    Err(error) => Some(error),
                }
            }
            _ => None,
        };
        explained.unwrap_or(damage)
    }

    /// The hash of a record, if the journal has it.
    pub(crate) fn hash_at(&self, seq: u64, until: &Until) -> Result<Option<Hash>> {
        let rows = self.query(HASH_AT, &[&self.store, &bigint(seq)?], until)?;
        rows.first().map(|row| hash(row, 0)).transpose()
    }
}

fn verify(after: Position, head: &Head, found: &[SqlRow]) -> Result<Vec<Row>> {
    let mut at = after;
    let mut places = Places::default();
    let mut rows = Vec::with_capacity(found.len());
    for row in found {
        let row = decode(row)?;
        let seq = at.seq + 1;
        if row.seq != seq {
            return Err(Error::Gap { expected: seq, found: row.seq });
        }
        let next = at.then(row.epoch, row.batch, &row.record);
        if next.hash != row.hash {
            return Err(Error::Mismatch { seq, expected: next.hash, found: row.hash });
        }
        if let Err(expected) = places.next(&row.record) {
            let (part, place) = (row.record.part, row.record.place);
            let what = format!("part {part} has place {place} where {expected} follows");
            return Err(Error::Malformed { seq, what });
        }
        at = next;
        rows.push(row);
    }
    if rows.is_empty() {
        return Err(Error::Gap { expected: after.seq + 1, found: head.position.seq });
    }
    if at.seq == head.position.seq && at.hash != head.position.hash {
        return Err(Error::Mismatch { seq: at.seq, expected: head.position.hash, found: at.hash });
    }
    Ok(rows)
}

fn decode(row: &SqlRow) -> Result<Row> {
    let seq = number(row, 0)?;
    let malformed = |what: &str| Error::Malformed { seq, what: what.to_owned() };
    let byte = |at: usize, what: &str| {
        let value: i16 = column(row, at)?;
        u8::try_from(value).map_err(|_| malformed(&format!("{what} {value}")))
    };
    Ok(Row {
        seq,
        epoch: number(row, 1)?,
        batch: column(row, 6)?,
        hash: hash(row, 8)?,
        record: Record {
            part: byte(2, "part")?,
            place: number(row, 3)?,
            kind: byte(4, "kind")?,
            version: byte(5, "version")?,
            payload: column::<&[u8]>(row, 7)?.to_vec(),
        },
    })
}
