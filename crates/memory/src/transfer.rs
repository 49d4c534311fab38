//! Export and import as NDJSON.

use crate::MemoryId;

/// What an export wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exported {
    /// Memories, those with history but deleted included.
    pub memories: u64,
    /// Links.
    pub links: u64,
}

/// What an import does with an id that another memory of the store has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ImportIds {
    /// The line is a problem; nothing of it is taken.
    #[default]
    Keep,
    /// The memory gets a new id, and the links of the import follow it.
    Map,
}

/// How to import.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ImportOptions {
    /// What is done with ids that are taken; [`ImportIds::Keep`] by default.
    pub ids: ImportIds,
}

impl ImportOptions {
    /// The same with this for ids that are taken.
    #[must_use]
    pub fn with_ids(mut self, ids: ImportIds) -> Self {
        self.ids = ids;
        self
    }
}

/// What an import did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Imported {
    /// Memories that are new.
    pub memories: u64,
    /// Links that are new.
    pub links: u64,
    /// Memories and links that were there already.
    pub existing: u64,
    /// Memories that have another id here than in the file, in the order of the file.
    pub mapped: Vec<MappedId>,
    /// Lines that were not taken.
    pub problems: Vec<ImportProblem>,
}

/// A memory that has another id here than in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MappedId {
    /// Its id in the file.
    pub from: MemoryId,
    /// Its id in the store.
    pub to: MemoryId,
}

/// A line of an import that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportProblem {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub message: String,
    /// Whether it would be taken with [`ImportIds::Map`].
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
