//! The store's files for a backup.

use waypost_log::Snapshot;

use crate::Result;
use crate::log_error::vectors_error;
use crate::store::Store;

impl Store {
    /// The store's files as of now, by their paths in the data folder: the log with every
    /// acknowledged change, and the stored vectors. Derived data is not included; opening a copy
    /// builds it.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged) if the log is damaged: a copy would be damaged,
    /// too.
    pub fn snapshot(&self) -> Result<Snapshot> {
        // The vectors first: one of a memory that the log lacks is harmless but unnecessary.
        let vectors = self
            .embedding
            .vectors
            .snapshot()
            .map_err(|error| vectors_error(&error, &self.records.dir))?;
        let log = self.records.journal.snapshot()?;
        Ok(log.under("memory/log").and(vectors.under("memory/vectors")))
    }
}
