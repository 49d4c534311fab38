//! How much room the service takes on disk, and how much is left.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use waypost_memory::Store;

/// Bytes on disk as of the last measurement: requests read them, and never walk over folders.
#[derive(Debug)]
pub(crate) struct DiskUsage {
    data_dir: PathBuf,
    store: Arc<Store>,
    storage_bytes: AtomicU64,
}

impl DiskUsage {
    pub(crate) fn new(data_dir: &Path, store: &Arc<Store>) -> Self {
        let (data_dir, store) = (data_dir.to_owned(), Arc::clone(store));
        Self { data_dir, store, storage_bytes: AtomicU64::new(0) }
    }

    /// Measures how many bytes are on disk, which walks over folders.
    pub(crate) fn measure(&self) {
        self.storage_bytes.store(self.store.storage_bytes(), Ordering::Relaxed);
    }

    /// Bytes on disk, as of the last measurement.
    pub(crate) fn storage_bytes(&self) -> u64 {
        self.storage_bytes.load(Ordering::Relaxed)
    }

    /// Bytes that are free where the data folder is, if the system says.
    pub(crate) fn free_bytes(&self) -> Option<u64> {
        let stat = rustix::fs::statvfs(&self.data_dir);
        stat.ok().map(|it| it.f_bavail.saturating_mul(it.f_frsize))
    }
}
