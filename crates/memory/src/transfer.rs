//! Export and import as NDJSON.

use crate::limits::IMPORT_HISTORY_BYTES_MAX;
use crate::{ImportIds, RequestKey};

/// The result of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exported {
    /// Number of memories, including deleted ones.
    pub memories: u64,
    /// Links.
    pub links: u64,
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
