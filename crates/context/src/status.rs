//! Status and reports.

use std::collections::BTreeMap;

use waypost_time::Timestamp;

use crate::Kind;

/// What the index contains, and what it lacks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Status {
    /// Indexed files.
    pub files: u64,
    /// Chunks of them that can be items, by kind.
    pub chunks: BTreeMap<Kind, u64>,
    /// Files left out, by reason.
    pub skipped: BTreeMap<&'static str, u64>,
    /// Some of the paths left out, by reason.
    pub skipped_samples: BTreeMap<&'static str, Vec<String>>,
    /// Files known to be waiting for indexing.
    pub pending: u64,
    /// Whether a scan is running.
    pub scanning: bool,
    /// Whether a limit excluded files.
    pub truncated: bool,
    /// When the index last matched the whole folder.
    pub indexed_at: Option<Timestamp>,
    /// Secrets that were replaced, by type.
    pub redactions: BTreeMap<String, u64>,
    /// Code files whose headers were found line by line, because parsing took too long or there is
    /// no grammar.
    pub parsed_by_lines: u64,
    /// The commit whose history is in use.
    pub head: Option<String>,
    /// Commits of the history in use.
    pub commits: u64,
    /// Why the history could not be read, if so.
    pub history_error: Option<String>,
    /// Chunks with a vector.
    pub vectors: u64,
    /// Chunks waiting for a vector.
    pub vectors_pending: u64,
    /// Why the index was rebuilt when it was opened.
    pub rebuilt: Option<String>,
    /// Approximate size of the index in memory, in bytes.
    pub memory_bytes: u64,
    /// Bytes on disk.
    pub disk_bytes: u64,
}

/// What a scan or an update did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScanReport {
    /// Files in the folder that belong in the index.
    pub found: u64,
    /// Files that were read and indexed: new and changed ones.
    pub indexed: u64,
    /// Files that were removed from the index.
    pub removed: u64,
    /// Whether it was cancelled before it finished.
    pub cancelled: bool,
}

/// What [`Context::embed_pending`](crate::Context::embed_pending) did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EmbedProgress {
    /// Chunks that have a vector now.
    pub embedded: u64,
    /// Chunks whose text the model rejected; they are retried after the next opening.
    pub failed: u64,
    /// Chunks still waiting.
    pub pending: u64,
    /// The model's error for the last text that it rejected.
    pub last_error: Option<String>,
}
