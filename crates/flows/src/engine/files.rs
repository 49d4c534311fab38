//! The engine's files, for use without a lock on the engine.

use std::path::PathBuf;
use std::sync::Arc;

use waypost_log::{Damage, FolderLock, Log, Snapshot};

use super::error::Error;
use crate::RunId;

/// The files of an engine: the journal, and the output of programs. They can be used while the engine
/// runs; the folder stays locked until the last copy is dropped.
#[derive(Debug, Clone)]
pub struct Files(Arc<Held>);

#[derive(Debug)]
struct Held {
    log: Log,
    dir: PathBuf,
    _lock: FolderLock,
}

impl Files {
    pub(crate) fn new(log: Log, dir: PathBuf, lock: FolderLock) -> Self {
        Self(Arc::new(Held { log, dir, _lock: lock }))
    }

    pub(crate) fn log(&self) -> &Log {
        &self.0.log
    }

    /// The files for a backup, by their paths in the engine's folder: the journal with everything that
    /// was committed, and what programs wrote. Output that is removed meanwhile is left out.
    ///
    /// # Errors
    /// [`Error::Log`].
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        let journal = self.0.log.snapshot()?.under("log");
        let output = Snapshot::default().and_folder(&self.0.dir.join("output"), &|_| true)?;
        Ok(journal.and(output.under("output")))
    }

    /// The damage that reads have met in the journal since it was opened: [`repair`](crate::repair)
    /// sets it aside. Reads no file.
    pub fn damage(&self) -> Vec<Damage> {
        self.0.log.damage()
    }

    /// Where the output of a run is.
    pub fn output_dir(&self, run: &RunId) -> PathBuf {
        self.0.dir.join("output").join(run.to_string())
    }
}
