//! Status, progress and results of maintenance.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use crate::{ModelInfo, Timestamp};

/// Health and statistics of a store.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Status {
    /// Number of memories.
    pub memories: u64,
    /// Number of memories by kind.
    pub by_kind: BTreeMap<String, u64>,
    /// Number of memories by space.
    pub by_space: BTreeMap<String, u64>,
    /// Number of links.
    pub links: u64,
    /// Memories with a vector of the current model.
    pub embedded: u64,
    /// Memories without one.
    pub pending_embeddings: u64,
    /// The current model.
    pub model: Option<ModelInfo>,
    /// The index.
    pub index: IndexStatus,
    /// Size of the whole store on disk, in bytes.
    pub storage_bytes: u64,
    /// When the last reindex ended.
    pub last_reindex_at: Option<Timestamp>,
    /// Why writes fail, if they do.
    pub write_fault: Option<String>,
}

/// Statistics of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexStatus {
    /// Memories in it.
    pub documents: u64,
    /// Distinct terms in it, summed over the spaces.
    pub terms: u64,
    /// Its size in memory, in bytes.
    pub bytes: u64,
    /// Memories that it still lacks while it is being built.
    pub lacking: u64,
}

/// The progress of an index that is being built while the store is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexProgress {
    /// Memories that have been indexed.
    pub done: u64,
    /// Memories that the index lacked when the store was opened.
    pub total: u64,
}

/// Options of a reindex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reindex {
    /// Also embed memories without a vector of the current model.
    pub backfill: bool,
}

/// The progress of a reindex.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReindexProgress {
    /// The current phase.
    pub phase: ReindexPhase,
    /// Memories done in this phase.
    pub done: u64,
    /// Memories to do in this phase.
    pub total: u64,
}

/// A phase of a reindex.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReindexPhase {
    /// Building the text index.
    Indexing,
    /// Embedding memories without a vector.
    Embedding,
}

/// The result of a reindex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reindexed {
    /// Memories in the new index.
    pub indexed: u64,
    /// Memories that were embedded.
    pub embedded: u64,
    /// Memories whose text the model rejected.
    pub failed: u64,
    /// Memories that already had a vector, or were not embedded because there is no model.
    pub skipped: u64,
}

/// The result of [`Store::maintain`](crate::Store::maintain).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each says whether one thing was done")]
pub struct Maintained {
    /// An index snapshot was written.
    pub snapshot: bool,
    /// Derived files were synced.
    pub synced: bool,
    /// The vectors' files were compacted.
    pub vectors_compacted: bool,
    /// The position up to which notes have been published was recorded.
    pub told: bool,
}

/// The texts that [`Store::compact`](crate::Store::compact) removes permanently. None by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Compaction {
    /// The texts of deleted memories, in all versions.
    pub purge: bool,
    /// The number of newest versions of each existing memory whose texts stay; `None` for all.
    pub versions: Option<NonZeroU32>,
}

impl Compaction {
    /// Sets whether the texts of deleted memories are removed.
    #[must_use]
    pub fn with_purge(self, purge: bool) -> Self {
        Self { purge, ..self }
    }

    /// Sets the number of newest versions of each memory whose texts stay.
    #[must_use]
    pub fn with_versions(self, versions: impl Into<Option<NonZeroU32>>) -> Self {
        Self { versions: versions.into(), ..self }
    }
}

/// Counts of the memories that match a filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// All of them.
    pub memories: u64,
    /// By kind (`type` on the wire).
    pub by_kind: BTreeMap<String, u64>,
    /// By tag; a memory counts for each of its tags.
    pub by_tag: BTreeMap<String, u64>,
    /// By space.
    pub by_space: BTreeMap<String, u64>,
}
