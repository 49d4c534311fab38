//! Snapshots: the state of a store at a position, from which a machine can join.

use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio_postgres::Row;

use crate::deadline::Until;
use crate::error::{Error, Result};
use crate::id::{MachineId, SnapshotId};
use crate::journal::Journal;
use crate::position::{Hash, Position};
use crate::sql::{column, hash, number};

/// What a machine says of a snapshot that it makes. The journal does not read the content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSnapshot {
    /// The position that the content has applied. The journal must have it, or have had it.
    pub position: Position,
    /// The place of the last record of each part that the content has.
    pub places: Vec<(u8, u64)>,
    /// The machine that makes it.
    pub machine: MachineId,
}

/// A snapshot in the database that is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// Its name.
    pub id: SnapshotId,
    /// The incarnation in which it was made.
    pub incarnation: u64,
    /// The position that its content has applied: the journal follows from here.
    pub position: Position,
    /// The place of the last record of each part that the content has.
    pub places: Vec<(u8, u64)>,
    /// The machine that made it.
    pub machine: MachineId,
    /// The bytes of its content.
    pub bytes: u64,
    /// The number of its chunks.
    pub chunks: u32,
    /// The SHA-256 hash of its content.
    pub sha256: Hash,
    /// The SHA-256 hash of the hashes of its chunks, in order. The server alone can verify it.
    pub chunks_sha256: Hash,
    /// How long ago it was completed, by the server's clock.
    pub age: Duration,
}

/// The columns of a [`Snapshot`], in its order.
const COLUMNS: &str = "id, incarnation, seq, hash, parts, places, machine, bytes, chunks, sha256, \
     chunks_sha256, (extract(epoch FROM clock_timestamp() - finished) * 1000)::int8";

impl Journal {
    /// Lists the complete snapshots of the store, those at the newest positions first. Snapshots
    /// before the base of the journal, from which it cannot be followed any more, are among them.
    ///
    /// # Errors
    /// If the database cannot be reached.
    pub fn snapshots(&self, until: &Until) -> Result<Vec<Snapshot>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM {{schema}}.snapshot WHERE store = $1 AND finished IS NOT NULL \
             ORDER BY incarnation DESC, seq DESC, finished DESC"
        );
        let rows = self.query(&sql, &[&self.store], until)?;
        rows.iter().map(Snapshot::from_row).collect()
    }

    /// Reads what the database says of one complete snapshot.
    ///
    /// # Errors
    /// [`Error::NoSnapshot`] if there is none with this id, or it is not complete.
    pub fn snapshot(&self, id: SnapshotId, until: &Until) -> Result<Snapshot> {
        let sql = format!(
            "SELECT {COLUMNS} FROM {{schema}}.snapshot \
             WHERE store = $1 AND id = $2 AND finished IS NOT NULL"
        );
        let rows = self.query(&sql, &[&self.store, &id], until)?;
        rows.first().map_or(Err(Error::NoSnapshot(id)), Snapshot::from_row)
    }
}

impl Snapshot {
    /// The last record of a part that the snapshot has, by the part's number; `None` for a part that it
    /// does not have.
    pub fn place(&self, part: u8) -> Option<u64> {
        self.places.iter().find(|place| place.0 == part).map(|place| place.1)
    }

    /// Reads [`COLUMNS`].
    fn from_row(row: &Row) -> Result<Self> {
        let (parts, places): (Vec<i16>, Vec<i64>) = (column(row, 4)?, column(row, 5)?);
        let outside = || Error::Answer("a place of a snapshot is outside its range".to_owned());
        let places = parts.into_iter().zip(places).map(|(part, place)| {
            let part = u8::try_from(part).map_err(|_| outside())?;
            Ok((part, u64::try_from(place).map_err(|_| outside())?))
        });
        let chunks: i32 = column(row, 8)?;
        Ok(Self {
            id: column(row, 0)?,
            incarnation: number(row, 1)?,
            position: Position { seq: number(row, 2)?, hash: hash(row, 3)? },
            places: places.collect::<Result<_>>()?,
            machine: column(row, 6)?,
            bytes: number(row, 7)?,
            chunks: u32::try_from(chunks).map_err(|_| outside())?,
            sha256: hash(row, 9)?,
            chunks_sha256: hash(row, 10)?,
            age: millis(row, 11)?,
        })
    }
}

/// A column with a time that has passed, in milliseconds. The clock of a server that was promoted
/// may be before that of the last one.
pub(crate) fn millis(row: &Row, at: usize) -> Result<Duration> {
    let value: i64 = column(row, at)?;
    Ok(Duration::from_millis(u64::try_from(value).unwrap_or(0)))
}

/// A duration as the milliseconds of a parameter, at most a hundred years.
pub(crate) fn in_millis(time: Duration) -> i64 {
    const MAX: i64 = 100 * 366 * 24 * 60 * 60 * 1000;
    i64::try_from(time.as_millis()).unwrap_or(MAX).min(MAX)
}

/// Follows the chunks of a snapshot in order and compares them with what it says of itself.
pub(crate) struct Check<'a> {
    snapshot: &'a Snapshot,
    next: u32,
    bytes: u64,
    hashes: Sha256,
}

impl<'a> Check<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot) -> Self {
        Self { snapshot, next: 0, bytes: 0, hashes: Sha256::new() }
    }

    pub(crate) fn id(&self) -> SnapshotId {
        self.snapshot.id
    }

    /// The number of the next chunk.
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// The bytes of the chunks up to here.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes a chunk: its number, its length, the hash of its bytes, and the hash stored with them.
    pub(crate) fn chunk(
        &mut self,
        number: i32,
        length: usize,
        found: Hash,
        stored: Hash,
    ) -> Result<()> {
        let next = self.next;
        if u32::try_from(number) != Ok(next) {
            return Err(self.damage(Some(next), format!("it is missing, and {number} follows")));
        }
        if next >= self.snapshot.chunks {
            let chunks = self.snapshot.chunks;
            return Err(self.damage(Some(next), format!("the snapshot has {chunks} chunks")));
        }
        if found != stored {
            let what = format!("its bytes have the hash {found} instead of {stored}");
            return Err(self.damage(Some(next), what));
        }
        self.hashes.update(found.0);
        self.bytes += length as u64;
        self.next += 1;
        Ok(())
    }

    /// Compares the whole, after the last chunk.
    pub(crate) fn end(self) -> Result<()> {
        let snapshot = self.snapshot;
        if self.next < snapshot.chunks {
            return Err(self.damage(Some(self.next), "it is missing".to_owned()));
        }
        if self.bytes != snapshot.bytes {
            let what = format!("its chunks have {} bytes, not {}", self.bytes, snapshot.bytes);
            return Err(self.damage(None, what));
        }
        let found = Hash(self.hashes.clone().finalize().into());
        if found != snapshot.chunks_sha256 {
            let what =
                format!("its chunks have the hash {found} instead of {}", snapshot.chunks_sha256);
            return Err(self.damage(None, what));
        }
        Ok(())
    }

    pub(crate) fn damage(&self, chunk: Option<u32>, what: String) -> Error {
        Error::DamagedSnapshot { snapshot: self.snapshot.id, chunk, what }
    }
}
