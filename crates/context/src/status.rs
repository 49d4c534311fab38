//! How things stand.

use std::collections::BTreeMap;

use crate::Kind;

/// What is in the index, and what is not.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Status {
    /// Files that are indexed.
    pub files: u64,
    /// Pieces of them that can be items, by kind.
    pub chunks: BTreeMap<Kind, u64>,
    /// Files that are left out, by reason.
    pub skipped: BTreeMap<&'static str, u64>,
    /// Some of the paths that are left out, by reason.
    pub skipped_samples: BTreeMap<&'static str, Vec<String>>,
    /// Files that are known to wait for indexing.
    pub pending: u64,
    /// Whether a scan goes on.
    pub scanning: bool,
    /// Whether a limit kept files out.
    pub truncated: bool,
    /// When the index last agreed with the whole folder, in seconds since 1970.
    pub indexed_at: Option<i64>,
    /// What was replaced because it looked like a secret, by kind.
    pub redactions: BTreeMap<String, u64>,
    /// Code files whose headers were found line by line, because parsing took too long or there is
    /// no grammar.
    pub parsed_by_lines: u64,
    /// The commit whose history is in use.
    pub head: Option<String>,
    /// Commits of the history that are in use.
    pub commits: u64,
    /// Why the history could not be read, if it could not.
    pub history_error: Option<String>,
    /// Chunks that have a vector.
    pub vectors: u64,
    /// Chunks that wait for one.
    pub vectors_pending: u64,
    /// Why the index was built anew when it was opened.
    pub rebuilt: Option<String>,
    /// Bytes of the index in memory, about.
    pub memory_bytes: u64,
    /// Bytes on disk.
    pub disk_bytes: u64,
}

/// What a scan or an update did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScanReport {
    /// Files that the folder has and that are wanted.
    pub found: u64,
    /// Files that were read and indexed: new ones and changed ones.
    pub indexed: u64,
    /// Files that were removed from the index.
    pub removed: u64,
    /// Whether it was ended before it was through.
    pub cancelled: bool,
}

/// What [`Context::embed_pending`](crate::Context::embed_pending) did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EmbedProgress {
    /// Chunks that have a vector now.
    pub embedded: u64,
    /// Chunks whose text the model refused; they are tried again after the next opening.
    pub failed: u64,
    /// Chunks that still wait.
    pub pending: u64,
    /// What the model said of the last text that it refused.
    pub last_error: Option<String>,
}
