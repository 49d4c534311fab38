//! Where the journal ends, and the hash that commits to everything up to there.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::id::{BatchId, StoreId, hex};
use crate::record::Record;

/// The hash of a record, which covers the hash of the record before it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hash(pub [u8; 32]);

/// A sequence number and the hash of its record. Two journals with the same position have the same
/// records up to there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The sequence number of the last record; 0 for none.
    pub seq: u64,
    /// The hash of that record.
    pub hash: Hash,
}

impl Position {
    /// Returns the position of an empty journal of this store.
    pub fn start(store: StoreId) -> Self {
        let mut sha = Sha256::new();
        sha.update(b"waypost journal 1\0");
        sha.update(store.0);
        Self { seq: 0, hash: Hash(sha.finalize().into()) }
    }

    /// Returns the position after one more record.
    ///
    /// The hash is SHA-256 of: the previous hash, `seq`, `epoch`, `part`, `place`, `kind`,
    /// `version`, `batch`, the length of the payload, the payload. Numbers are little-endian;
    /// `part`, `kind` and `version` have one byte, the others eight.
    #[must_use]
    pub fn then(&self, epoch: u64, batch: BatchId, record: &Record) -> Self {
        let seq = self.seq + 1;
        let mut sha = Sha256::new();
        sha.update(self.hash.0);
        sha.update(seq.to_le_bytes());
        sha.update(epoch.to_le_bytes());
        sha.update([record.part]);
        sha.update(record.place.to_le_bytes());
        sha.update([record.kind, record.version]);
        sha.update(batch.0);
        sha.update((record.payload.len() as u64).to_le_bytes());
        sha.update(&record.payload);
        Self { seq, hash: Hash(sha.finalize().into()) }
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(f, &self.0)
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({self})")
    }
}

impl fmt::Display for Position {
    /// The sequence number and the first 16 digits of the hash.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (", self.seq)?;
        hex(f, &self.hash.0[..8])?;
        f.write_str(")")
    }
}
