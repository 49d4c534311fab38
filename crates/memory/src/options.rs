//! Options and report of opening a store.

use std::fmt;
use std::sync::Arc;

use waypost_log::SharedJournal;

use crate::SearchParams;
use crate::limits::KEY_WINDOW_REQUESTS;

/// Called with the progress of a rebuild while a store opens.
pub type OpenProgressFn = Arc<dyn Fn(OpenProgress) + Send + Sync>;

/// How far a store has reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reached {
    /// The last record of the log that is on disk, 0 for none.
    pub sequence: u64,
    /// The last assigned id, 0 for none.
    pub id: u64,
}

/// Options of [`Store::open`](crate::Store::open).
#[derive(Clone)]
#[non_exhaustive]
pub struct StoreOptions {
    /// How search weighs its signals.
    pub search: SearchParams,
    /// Maximum size of the state's cache in bytes.
    pub cache_bytes: u64,
    /// Size of the log's files, in bytes.
    pub log_segment_bytes: u64,
    /// About how many bytes one append to the log may have. The history of an imported memory that
    /// is longer is written in several: if the process ends between them, the store has the
    /// memory's older versions, and importing it again adds the rest.
    pub append_bytes_max: usize,
    /// Writes fail if less than this would stay free on the disk; on a small disk an eighth of it
    /// is enough.
    pub free_bytes_min: u64,
    /// Whether the store opens before the index is complete; the caller then calls
    /// [`Store::build_index`](crate::Store::build_index) until it returns `None`.
    pub index_later: bool,
    /// A compaction rewrites a state that takes more bytes than this.
    pub state_rewrite_bytes_min: u64,
    /// A [request key](crate::RequestKey) is kept at least until this many others have been used after
    /// it; 100,000 by default.
    pub key_window_requests: u64,
    /// How far the store had reached, as known from outside its folder: opening a store that ends
    /// before it fails with [`Error::Damaged`](crate::Error::Damaged), and new ids are above it.
    pub reached: Reached,
    /// What decides the order of the records, if the store is a replica: none by default. Opening
    /// does not use it.
    pub shared_journal: Option<Arc<dyn SharedJournal>>,
    /// Called at intervals while derived data is rebuilt.
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
            append_bytes_max: 64 * 1024 * 1024,
            free_bytes_min: 64 * 1024 * 1024,
            index_later: false,
            state_rewrite_bytes_min: 16 * 1024 * 1024,
            key_window_requests: KEY_WINDOW_REQUESTS,
            reached: Reached::default(),
            shared_journal: None,
            progress: None,
            on_change: None,
        }
    }
}

impl StoreOptions {
    /// Sets how search weighs its signals.
    #[must_use]
    pub fn with_search(self, search: SearchParams) -> Self {
        Self { search, ..self }
    }

    /// Sets the maximum size of the state's cache in bytes.
    #[must_use]
    pub fn with_cache_bytes(self, cache_bytes: u64) -> Self {
        Self { cache_bytes, ..self }
    }

    /// Sets the size of the log's files in bytes.
    #[must_use]
    pub fn with_log_segment_bytes(self, log_segment_bytes: u64) -> Self {
        Self { log_segment_bytes, ..self }
    }

    /// Sets about how many bytes one append to the log may have.
    #[must_use]
    pub fn with_append_bytes_max(self, append_bytes_max: usize) -> Self {
        Self { append_bytes_max, ..self }
    }

    /// Sets how many bytes of the disk writes leave free.
    #[must_use]
    pub fn with_free_bytes_min(self, free_bytes_min: u64) -> Self {
        Self { free_bytes_min, ..self }
    }

    /// Sets whether the store opens before the index is complete.
    #[must_use]
    pub fn with_index_later(self, index_later: bool) -> Self {
        Self { index_later, ..self }
    }

    /// Sets above how many bytes a compaction rewrites the state.
    #[must_use]
    pub fn with_state_rewrite_bytes_min(self, state_rewrite_bytes_min: u64) -> Self {
        Self { state_rewrite_bytes_min, ..self }
    }

    /// Sets how many other request keys must have been used before one is forgotten.
    #[must_use]
    pub fn with_key_window_requests(self, key_window_requests: u64) -> Self {
        Self { key_window_requests, ..self }
    }

    /// Sets how far the store had reached, as known from outside its folder.
    #[must_use]
    pub fn with_reached(self, reached: Reached) -> Self {
        Self { reached, ..self }
    }

    /// Makes the store a replica of those that use the same shared journal.
    ///
    /// | what replicas share | |
    /// |---|---|
    /// | memories, history, links, ids, notes, how far notes were published | by the records |
    /// | expiry, [`Store::expire`](crate::Store::expire) | one replica reads a clock; its records say what has expired, for all |
    /// | request keys | by the records; one replica decides which are forgotten |
    /// | compaction | the records say which texts are gone; each replica trims its own log |
    /// | imports | one replica decides; the records have the ids |
    /// | vectors, the index, the time of the last reindex | local: derived from the texts, and no part of the digest |
    /// | [`reached`](Self::reached) | local: what this machine's disk has; its `id` is ignored |
    #[must_use]
    pub fn with_shared_journal(self, journal: Arc<dyn SharedJournal>) -> Self {
        Self { shared_journal: Some(journal), ..self }
    }

    /// Sets what is called at intervals while derived data is rebuilt.
    #[must_use]
    pub fn with_progress(self, progress: OpenProgressFn) -> Self {
        Self { progress: Some(progress), ..self }
    }

    /// Sets what is called before each change of a file, for tests that end the process there.
    #[must_use]
    pub fn with_on_change(self, on_change: Option<fn()>) -> Self {
        Self { on_change, ..self }
    }

    pub(crate) fn changing(&self) {
        if let Some(hook) = self.on_change {
            hook();
        }
    }

    /// Reports the progress of a rebuild.
    pub(crate) fn report(&self, phase: OpenPhase, done: u64, total: u64) {
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
            .field("append_bytes_max", &self.append_bytes_max)
            .field("free_bytes_min", &self.free_bytes_min)
            .field("index_later", &self.index_later)
            .field("key_window_requests", &self.key_window_requests)
            .field("reached", &self.reached)
            .field("shared_journal", &self.shared_journal)
            .finish_non_exhaustive()
    }
}

/// The progress of a rebuild.
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
    /// Records of the log that were applied to the state.
    pub replayed_records: u64,
    /// Bytes of an unfinished write that were truncated from the end of the log.
    pub log_truncated_bytes: u64,
    /// Whether that write may have been acknowledged: the machine stopped while the store was open,
    /// and an acknowledged last write cannot be distinguished from an unacknowledged one.
    pub is_truncation_unsure: bool,
    /// Why the state was rebuilt from the log, if it was.
    pub state_rebuilt: Option<String>,
    /// Why the text index was rebuilt, or is being rebuilt, from the state, if so.
    pub index_rebuilt: Option<String>,
    /// Why the stored vectors were discarded, if they were; a backfill computes them again.
    pub vectors_discarded: Option<String>,
}
