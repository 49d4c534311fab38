//! What the store tells about itself.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use crate::{ModelInfo, Timestamp};

/// Health and statistics of a store.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Status {
    /// Memories that are there.
    pub memories: u64,
    /// How many of each kind.
    pub by_kind: BTreeMap<String, u64>,
    /// How many in each space.
    pub by_space: BTreeMap<String, u64>,
    /// Links that are there.
    pub links: u64,
    /// Memories with a vector of the present model.
    pub embedded: u64,
    /// Memories without.
    pub pending_embeddings: u64,
    /// The present model.
    pub model: Option<ModelInfo>,
    /// The index.
    pub index: IndexStatus,
    /// Bytes on disk, all of the store.
    pub storage_bytes: u64,
    /// When the last reindex ended.
    pub last_reindex_at: Option<Timestamp>,
    /// Why no more writes are taken, if so.
    pub write_fault: Option<String>,
}

/// Statistics of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexStatus {
    /// Memories in it.
    pub documents: u64,
    /// Unequal terms in it, summed over the spaces.
    pub terms: u64,
    /// Bytes of memory that it takes.
    pub bytes: u64,
    /// Memories that it lacks while it is being built.
    pub lacking: u64,
}

/// How far the index is that is being built while the store is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexProgress {
    /// Memories that have been taken in.
    pub done: u64,
    /// Memories that the index lacked when the store was opened.
    pub total: u64,
}

/// What kind of reindex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reindex {
    /// Also embed what lacks a vector of the present model.
    pub backfill: bool,
}

/// How far a reindex is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReindexProgress {
    /// What it is doing.
    pub phase: ReindexPhase,
    /// Memories done in this phase.
    pub done: u64,
    /// Memories to do in this phase.
    pub total: u64,
}

/// What a reindex is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReindexPhase {
    /// Building the text index.
    Indexing,
    /// Embedding what lacks a vector.
    Embedding,
}

/// What a reindex did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reindexed {
    /// Memories in the new index.
    pub indexed: u64,
    /// Memories that were embedded.
    pub embedded: u64,
    /// Memories whose text the model refused.
    pub failed: u64,
    /// Memories that had their vector already, or that there is no model for.
    pub skipped: u64,
}

/// What [`Store::maintain`](crate::Store::maintain) did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each says whether one thing was done")]
pub struct Maintained {
    /// An index snapshot was written.
    pub snapshot: bool,
    /// Derived files were synced.
    pub synced: bool,
    /// The vectors' files were compacted.
    pub vectors_compacted: bool,
    /// It was written down how far notes have been told.
    pub told: bool,
}

/// Which texts [`Store::compact`](crate::Store::compact) removes for good. By default none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Compaction {
    /// Those of deleted memories, all versions.
    pub purge: bool,
    /// Of memories that are there, those of all but so many newest versions.
    pub versions: Option<NonZeroU32>,
}

/// What [`Store::compact`](crate::Store::compact) did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Compacted {
    /// Bytes of the log before.
    pub bytes_before: u64,
    /// Bytes of the log after.
    pub bytes_after: u64,
    /// Versions whose content was removed for good.
    pub purged_versions: u64,
}
