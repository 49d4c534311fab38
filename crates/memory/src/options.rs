//! How a store is opened, and what opening found.

use std::fmt;
use std::sync::Arc;

use crate::SearchParams;

/// Told how far a rebuild is while a store opens.
pub type OpenProgressFn = Arc<dyn Fn(OpenProgress) + Send + Sync>;

/// How far a store has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reached {
    /// The last record of the log that is on disk, 0 for none.
    pub sequence: u64,
    /// The last id that was given out, 0 for none.
    pub id: u64,
}

/// Knobs of [`Store::open`](crate::Store::open).
#[derive(Clone)]
pub struct StoreOptions {
    /// How search weighs its signals.
    pub search: SearchParams,
    /// Bytes that the state's cache may take.
    pub cache_bytes: u64,
    /// Size of the log's files, in bytes.
    pub log_segment_bytes: u64,
    /// Writes are refused when less than this would stay free on the disk; on a small disk an
    /// eighth of it is enough.
    pub free_bytes_min: u64,
    /// Whether the store opens before the index has every memory; the caller then calls
    /// [`Store::build_index`](crate::Store::build_index) until there is no more to do.
    pub index_later: bool,
    /// A compaction rewrites a state that takes more bytes than this.
    pub state_rewrite_bytes_min: u64,
    /// What is known from outside of the store's folder of how far the store had come: one that has
    /// less is [`Error::Damaged`](crate::Error::Damaged), and ids go on above.
    pub reached: Reached,
    /// Called now and then while something derived is rebuilt.
    pub progress: Option<OpenProgressFn>,
    /// Called before each change of a file, for tests that end the process there.
    pub on_change: Option<fn()>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            search: SearchParams::default(),
            cache_bytes: 16 * 1024 * 1024,
            log_segment_bytes: 16 * 1024 * 1024,
            free_bytes_min: 64 * 1024 * 1024,
            index_later: false,
            state_rewrite_bytes_min: 16 * 1024 * 1024,
            reached: Reached::default(),
            progress: None,
            on_change: None,
        }
    }
}

impl StoreOptions {
    pub(crate) fn changing(&self) {
        if let Some(hook) = self.on_change {
            hook();
        }
    }

    /// Tells how far a rebuild is.
    pub(crate) fn tell(&self, phase: OpenPhase, done: u64, total: u64) {
        if let Some(progress) = &self.progress {
            progress(OpenProgress { phase, done, total });
        }
    }
}

impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreOptions")
            .field("search", &self.search)
            .field("cache_bytes", &self.cache_bytes)
            .field("log_segment_bytes", &self.log_segment_bytes)
            .field("free_bytes_min", &self.free_bytes_min)
            .field("index_later", &self.index_later)
            .field("reached", &self.reached)
            .finish_non_exhaustive()
    }
}

/// How far a rebuild is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenProgress {
    /// What is being rebuilt.
    pub phase: OpenPhase,
    /// Records or memories done.
    pub done: u64,
    /// Records or memories to do.
    pub total: u64,
}

/// What is being rebuilt while a store opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenPhase {
    /// The state, from the log.
    State,
    /// The text index, from the state.
    Index,
}

/// What opening found and did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpenReport {
    /// Memories in the store.
    pub memories: u64,
    /// Log records that the state did not have yet and has now.
    pub replayed_records: u64,
    /// Bytes of an unfinished write that were cut from the end of the log.
    pub log_truncated_bytes: u64,
    /// Whether that write may have been acknowledged: the machine stopped while the store was
    /// open, and its very last write cannot be told from one that was not acknowledged.
    pub is_truncation_unsure: bool,
    /// Why the state was rebuilt from the log, if it was.
    pub state_rebuilt: Option<String>,
    /// Why the text index was rebuilt from the state, or still is, if so.
    pub index_rebuilt: Option<String>,
    /// Why the stored vectors were given up, if they were; a backfill makes them again.
    pub vectors_discarded: Option<String>,
}
