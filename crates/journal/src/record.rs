//! What is appended, and what is read.

use crate::id::BatchId;
use crate::position::{Hash, Position};

/// A record as its writer has it. The journal does not read payloads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Which of the store's parts it belongs to; the caller numbers them.
    pub part: u8,
    /// Its number within the part. Numbers of a part have no gaps.
    pub place: u64,
    /// What the payload is.
    pub kind: u8,
    /// The version of its format.
    pub version: u8,
    /// Its bytes.
    pub payload: Vec<u8>,
}

/// A record of the journal. Reading it has verified the hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its number in the journal, from 1.
    pub seq: u64,
    /// The epoch of the lease under which it was appended; 0 if it was appended without one.
    pub epoch: u64,
    /// The append that it came with.
    pub batch: BatchId,
    /// Its hash.
    pub hash: Hash,
    /// What was appended.
    pub record: Record,
}

impl Row {
    /// Returns the position of the journal after this record.
    pub fn position(&self) -> Position {
        Position { seq: self.seq, hash: self.hash }
    }
}
