//! Used and free disk space.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use waypost_memory::Store;

/// Bytes on disk as of the last measurement, so that requests never walk folders.
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

    /// Measures the bytes on disk by walking the folders.
    pub(crate) fn measure(&self) {
        self.storage_bytes.store(self.store.storage_bytes(), Ordering::Relaxed);
    }

    /// Bytes on disk, as of the last measurement.
    pub(crate) fn storage_bytes(&self) -> u64 {
        self.storage_bytes.load(Ordering::Relaxed)
    }

    /// Free bytes on the disk of the data folder, if the system reports them.
    pub(crate) fn free_bytes(&self) -> Option<u64> {
        let stat = rustix::fs::statvfs(&self.data_dir);
        stat.ok().map(|it| it.f_bavail.saturating_mul(it.f_frsize))
    }
}
