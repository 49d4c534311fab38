//! Counts of changes since derived data was last written.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// Counts of changes since derived data was last written.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) since_snapshot: AtomicU64,
    /// Held while a snapshot is written.
    pub(crate) saving: Mutex<()>,
    /// `since_snapshot` at the last maintenance.
    pub(crate) at_upkeep: AtomicU64,
    pub(crate) since_sync: AtomicU64,
    pub(crate) vectors_since_sync: AtomicU64,
}

impl Changes {
    pub(crate) fn note(&self, count: u64) {
        self.since_snapshot.fetch_add(count, Ordering::Relaxed);
        self.since_sync.fetch_add(count, Ordering::Relaxed);
    }
}
