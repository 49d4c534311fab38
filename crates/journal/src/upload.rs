//! Puts a snapshot into the database, in chunks that are transactions of their own.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use crate::batch::random_id;
use crate::deadline::Until;
use crate::error::{Error, Result};
use crate::id::SnapshotId;
use crate::journal::Journal;
use crate::limits::SNAPSHOT_CHUNK_BYTES;
use crate::position::{Hash, Position};
use crate::snapshot::{Check, NewSnapshot, Snapshot};
use crate::sql::bigint;

const BEGIN: &str = "INSERT INTO {schema}.snapshot \
     (store, id, incarnation, seq, hash, parts, places, machine, bytes, chunks, started, written) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0, clock_timestamp(), clock_timestamp()) \
     ON CONFLICT (store, id) DO NOTHING";

/// Writes chunk `$3`, or writes nothing if it has been written. It returns no row if the upload
/// was removed. Each chunk waits for the standbys, so that other commits do not wait for many.
const CHUNK: &str = "WITH upload AS (\
         UPDATE {schema}.snapshot SET chunks = $3 + 1, bytes = $6, written = clock_timestamp() \
         WHERE store = $1 AND id = $2 AND finished IS NULL AND chunks IN ($3, $3 + 1) \
         AND set_config('synchronous_commit', 'on', true) = 'on' RETURNING 1\
     ), added AS (\
         INSERT INTO {schema}.snapshot_chunk (store, snapshot, number, bytes, sha256) \
         SELECT $1, $2, $3, $4, $5 FROM upload ON CONFLICT (store, snapshot, number) DO NOTHING\
     ) SELECT 1 FROM upload";

/// Makes a snapshot complete, if its position is one of this journal. Repeating it changes nothing
/// and confirms it.
const FINISH: &str = "UPDATE {schema}.snapshot AS it \
     SET finished = coalesce(it.finished, clock_timestamp()), sha256 = $3, chunks_sha256 = $4 \
     FROM {schema}.head AS head \
     WHERE it.store = $1 AND it.id = $2 AND it.chunks = $5 AND it.bytes = $6 \
     AND head.store = $1 AND head.incarnation = it.incarnation \
     AND ((it.seq = head.base_seq AND it.hash = head.base_hash) OR (it.seq > head.base_seq \
         AND EXISTS (SELECT 1 FROM {schema}.journal AS record \
             WHERE record.store = $1 AND record.seq = it.seq AND record.hash = it.hash))) \
     AND set_config('synchronous_commit', 'on', true) = 'on' RETURNING 1";

/// How long one statement is repeated. A failover ends before; a database without space may stay so.
const STATEMENT_TIME_MAX: Duration = Duration::from_secs(120);
/// How long the removal of a failed upload may take.
const REMOVAL_TIME_MAX: Duration = Duration::from_secs(30);

impl Journal {
    /// Puts a snapshot into the database: reads `source` to its end, writes it in chunks of 1 MiB,
    /// compares what the server has with what was sent, and completes the snapshot by a commit that
    /// waits for the standbys. `progress` gets the bytes that were written.
    ///
    /// Other machines see nothing of it before it is complete. A failed upload is removed, if the
    /// database allows it then; what is left is removed by
    /// [`remove_unfinished`](Self::remove_unfinished). Each statement fails after 2 minutes.
    ///
    /// # Errors
    /// - [`Error::Copy`] if `source` fails.
    /// - [`Error::Shorter`], [`Error::Diverged`], [`Error::Trimmed`] and [`Error::Incarnation`] if
    ///   the journal does not have the position, at the beginning or at the end.
    /// - [`Error::NoSnapshot`] if the upload was removed meanwhile.
    /// - [`Error::DamagedSnapshot`] if the server stored something else than was sent.
    /// - [`Error::Invalid`] if a part has two places.
    pub fn put_snapshot(
        &self,
        new: &NewSnapshot,
        source: &mut dyn Read,
        until: &Until,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Snapshot> {
        self.has(new.position, until)?;
        let id = self.begin_snapshot(new, &until.at_most(STATEMENT_TIME_MAX))?;
        let put = self.put_content(id, new, source, until, progress);
        if put.is_err() {
            // The first error is the one to report, and what is left is removed later.
            drop(self.remove_snapshot(id, &until.at_most(REMOVAL_TIME_MAX)));
        }
        put
    }

    fn put_content(
        &self,
        id: SnapshotId,
        new: &NewSnapshot,
        source: &mut dyn Read,
        until: &Until,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Snapshot> {
        let mut sent = Sent::default();
        let mut chunk = vec![0; SNAPSHOT_CHUNK_BYTES];
        loop {
            let length = fill(source, &mut chunk)?;
            let Some(bytes) = chunk.get(..length).filter(|chunk| !chunk.is_empty()) else { break };
            self.put_chunk(id, bytes, &mut sent, &until.at_most(STATEMENT_TIME_MAX))?;
            progress(sent.bytes);
            if length < SNAPSHOT_CHUNK_BYTES {
                break;
            }
        }
        let snapshot = Snapshot {
            id,
            incarnation: self.incarnation,
            position: new.position,
            places: new.places.clone(),
            machine: new.machine,
            bytes: sent.bytes,
            chunks: sent.chunks,
            sha256: Hash(sent.whole.finalize().into()),
            chunks_sha256: Hash(sent.hashes.finalize().into()),
            age: Duration::ZERO,
        };
        self.check_chunks(Check::new(&snapshot), until)?;
        self.finish_snapshot(&snapshot, &until.at_most(STATEMENT_TIME_MAX))?;
        Ok(snapshot)
    }

    /// Refuses a position that the journal does not have now.
    fn has(&self, position: Position, until: &Until) -> Result<()> {
        let head = self.head_beyond(position, until)?;
        Self::not_trimmed(position, &head)?;
        if position == head.base || position == head.position {
            return Ok(());
        }
        match self.hash_at(position.seq, until)? {
            Some(theirs) if theirs == position.hash => Ok(()),
            Some(theirs) => Err(Error::Diverged { seq: position.seq, ours: position.hash, theirs }),
            None => Err(Error::Gap { expected: position.seq, found: head.position.seq }),
        }
    }

    fn begin_snapshot(&self, new: &NewSnapshot, until: &Until) -> Result<SnapshotId> {
        let parts: Vec<i16> = new.places.iter().map(|place| place.0.into()).collect();
        let distinct: BTreeSet<&i16> = parts.iter().collect();
        if distinct.len() != parts.len() {
            return Err(Error::Invalid("a part of a snapshot has two places".to_owned()));
        }
        let places =
            new.places.iter().map(|place| bigint(place.1)).collect::<Result<Vec<i64>>>()?;
        let id = SnapshotId(random_id()?);
        let (incarnation, seq) = (bigint(self.incarnation)?, bigint(new.position.seq)?);
        let hash = new.position.hash.0.as_slice();
        self.repeat_execute(
            BEGIN,
            &[&self.store, &id, &incarnation, &seq, &hash, &parts, &places, &new.machine],
            until,
        )?;
        Ok(id)
    }

    fn put_chunk(
        &self,
        id: SnapshotId,
        bytes: &[u8],
        sent: &mut Sent,
        until: &Until,
    ) -> Result<()> {
        let number = i32::try_from(sent.chunks)
            .ok()
            .filter(|number| *number < i32::MAX)
            .ok_or_else(|| Error::Invalid("a snapshot has fewer than 2^31 chunks".to_owned()))?;
        let hash: [u8; 32] = Sha256::digest(bytes).into();
        sent.whole.update(bytes);
        sent.hashes.update(hash);
        sent.bytes += bytes.len() as u64;
        sent.chunks += 1;
        let (hash, total) = (hash.as_slice(), bigint(sent.bytes)?);
        let rows =
            self.repeat_query(CHUNK, &[&self.store, &id, &number, &bytes, &hash, &total], until)?;
        if rows.is_empty() { Err(Error::NoSnapshot(id)) } else { Ok(()) }
    }

    fn finish_snapshot(&self, snapshot: &Snapshot, until: &Until) -> Result<()> {
        let chunks = i32::try_from(snapshot.chunks).unwrap_or(i32::MAX);
        let (whole, hashes) = (snapshot.sha256.0.as_slice(), snapshot.chunks_sha256.0.as_slice());
        let rows = self.repeat_query(
            FINISH,
            &[&self.store, &snapshot.id, &whole, &hashes, &chunks, &bigint(snapshot.bytes)?],
            until,
        )?;
        if rows.is_empty() {
            self.has(snapshot.position, until)?;
            return Err(Error::NoSnapshot(snapshot.id));
        }
        Ok(())
    }
}

/// What was sent of a snapshot.
#[derive(Default)]
struct Sent {
    bytes: u64,
    chunks: u32,
    whole: Sha256,
    hashes: Sha256,
}

/// Reads until the buffer is full or the source ends; returns how much it has read.
fn fill(source: &mut dyn Read, buffer: &mut [u8]) -> Result<usize> {
    let mut length = 0;
    while let Some(rest) = buffer.get_mut(length..).filter(|buffer| !buffer.is_empty()) {
        match source.read(rest) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::Copy(error)),
        }
    }
    Ok(length)
}
