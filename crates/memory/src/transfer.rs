//! Export and import as NDJSON.

use crate::limits::IMPORT_HISTORY_BYTES_MAX;
use crate::{MemoryId, RequestKey};

/// The result of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exported {
    /// Number of memories, including deleted ones.
    pub memories: u64,
    /// Links.
    pub links: u64,
}

/// What an import does if another memory of the store has the id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ImportIds {
    /// The line is a problem and is not imported.
    #[default]
    Keep,
    /// The memory gets a new id, and the links of the import follow it.
    Map,
}

/// Options of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportOptions {
    /// What to do with ids that are taken; [`ImportIds::Keep`] by default.
    pub ids: ImportIds,
    /// Maximum length of all lines of one memory together, in bytes; 1 GiB by default. The import
    /// needs about twice as much memory.
    pub history_bytes_max: usize,
    /// The key of the request. Each memory with its history, and each link, has a key of its own, made
    /// from this one and its first line: if the import is repeated, what was imported is not compared
    /// with the store again, even if it was changed or removed since, and the rest is imported.
    pub key: Option<RequestKey>,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self { ids: ImportIds::default(), history_bytes_max: IMPORT_HISTORY_BYTES_MAX, key: None }
    }
}

impl ImportOptions {
    /// Sets what to do with ids that are taken.
    #[must_use]
    pub fn with_ids(mut self, ids: ImportIds) -> Self {
        self.ids = ids;
        self
    }

    /// Sets the maximum length of the lines of one memory, in bytes.
    #[must_use]
    pub fn with_history_bytes_max(mut self, bytes: usize) -> Self {
        self.history_bytes_max = bytes;
        self
    }

    /// Sets the key of the request.
    #[must_use]
    pub fn with_key(mut self, key: RequestKey) -> Self {
        self.key = Some(key);
        self
    }
}

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Imported {
    /// New memories.
    pub memories: u64,
    /// New links.
    pub links: u64,
    /// Memories and links that already existed.
    pub existing: u64,
    /// Memories whose id in the store differs from that in the file, in the order of the file.
    pub mapped: Vec<MappedId>,
    /// Lines that were rejected.
    pub problems: Vec<ImportProblem>,
}

/// A memory whose id in the store differs from that in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MappedId {
    /// Its id in the file.
    pub from: MemoryId,
    /// Its id in the store.
    pub to: MemoryId,
}

/// A rejected line of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportProblem {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub message: String,
    /// Whether it would be accepted with [`ImportIds::Map`].
    pub is_id_taken: bool,
}

impl ImportProblem {
    pub(crate) fn new(line: u64, message: impl Into<String>) -> Self {
        Self { line, message: message.into(), is_id_taken: false }
    }

    pub(crate) fn taken(line: u64, id: MemoryId) -> Self {
        let message = format!("id {id} belongs to another memory");
        Self { line, message, is_id_taken: true }
    }

    pub(crate) fn beyond(line: u64, id: MemoryId, last: u64) -> Self {
        let message = format!("id {id} is too far above the ids in use; expected 1 to {last}");
        Self { line, message, is_id_taken: true }
    }
}
