//! Reads a snapshot, and verifies it where it is.

use std::io::Write;

use sha2::{Digest as _, Sha256};
use tokio_postgres::Row;

use crate::deadline::Until;
use crate::error::{Error, Result};
use crate::id::SnapshotId;
use crate::journal::Journal;
use crate::position::Hash;
use crate::snapshot::{Check, Snapshot};
use crate::sql::{column, hash};

/// How many chunks one statement returns.
const READ: i64 = 4;
/// How many chunks the server hashes in one statement: some 0.3 s of its time.
const HASHED: i64 = 64;

const CHUNKS: &str = "SELECT number, sha256, {value} FROM {schema}.snapshot_chunk \
     WHERE store = $1 AND snapshot = $2 AND number >= $3 ORDER BY number LIMIT $4";

impl Journal {
    /// Writes the content of a snapshot to `sink` and verifies the hash of each chunk before it is
    /// written, their order and number, and at last the whole. `progress` gets the bytes that were
    /// written. If it fails, `sink` has a beginning that must be thrown away.
    ///
    /// # Errors
    /// - [`Error::DamagedSnapshot`], with the chunk. Try an older snapshot.
    /// - [`Error::NoSnapshot`] if it was removed.
    /// - [`Error::Copy`] if `sink` fails.
    pub fn get_snapshot(
        &self,
        snapshot: &Snapshot,
        sink: &mut dyn Write,
        until: &Until,
        progress: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let copied = self.copy_chunks(snapshot, sink, until, progress);
        self.or_removed(snapshot.id, copied, until)
    }

    /// Verifies a snapshot without reading its content: the server hashes the stored chunks.
    ///
    /// # Errors
    /// - [`Error::DamagedSnapshot`], with the chunk.
    /// - [`Error::NoSnapshot`] if it does not exist or is not complete.
    pub fn verify_snapshot(&self, id: SnapshotId, until: &Until) -> Result<Snapshot> {
        let snapshot = self.snapshot(id, until)?;
        let checked = self.check_chunks(Check::new(&snapshot), until);
        self.or_removed(id, checked, until)?;
        Ok(snapshot)
    }

    fn copy_chunks(
        &self,
        snapshot: &Snapshot,
        sink: &mut dyn Write,
        until: &Until,
        progress: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let mut check = Check::new(snapshot);
        let mut whole = Sha256::new();
        loop {
            let rows = self.chunks(&check, ("bytes", READ), until)?;
            if rows.is_empty() {
                break;
            }
            for row in &rows {
                let bytes: &[u8] = column(row, 2)?;
                let found = Hash(Sha256::digest(bytes).into());
                check.chunk(column(row, 0)?, bytes.len(), found, hash(row, 1)?)?;
                whole.update(bytes);
                sink.write_all(bytes).map_err(Error::Copy)?;
            }
            progress(check.bytes());
        }
        let whole = Hash(whole.finalize().into());
        if whole != snapshot.sha256 && check.next() == snapshot.chunks {
            let what = format!("its content has the hash {whole} instead of {}", snapshot.sha256);
            return Err(check.damage(None, what));
        }
        check.end()?;
        sink.flush().map_err(Error::Copy)
    }

    /// Compares all stored chunks, hashed by the server, with what a snapshot says of itself.
    pub(crate) fn check_chunks(&self, mut check: Check<'_>, until: &Until) -> Result<()> {
        loop {
            let value = ("sha256(bytes), octet_length(bytes)", HASHED);
            let rows = self.chunks(&check, value, until)?;
            if rows.is_empty() {
                return check.end();
            }
            for row in &rows {
                let length: i32 = column(row, 3)?;
                let length = usize::try_from(length).unwrap_or(0);
                check.chunk(column(row, 0)?, length, hash(row, 2)?, hash(row, 1)?)?;
            }
        }
    }

    fn chunks(
        &self,
        check: &Check<'_>,
        (value, count): (&str, i64),
        until: &Until,
    ) -> Result<Vec<Row>> {
        let sql = CHUNKS.replace("{value}", value);
        let next = i32::try_from(check.next()).unwrap_or(i32::MAX);
        self.repeat_query(&sql, &[&self.store, &check.id(), &next, &count], until)
    }

    /// Chunks that are missing because the snapshot was removed are not damage.
    fn or_removed<T>(&self, id: SnapshotId, result: Result<T>, until: &Until) -> Result<T> {
        match result {
            Err(damage @ Error::DamagedSnapshot { .. }) => match self.snapshot(id, until) {
                Err(removed @ Error::NoSnapshot(_)) => Err(removed),
                _ => Err(damage),
            },
            result => result,
        }
    }
}
