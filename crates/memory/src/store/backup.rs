//! The store's files for a backup.

use waypost_log::Snapshot;

use crate::Result;
use crate::log_error::vectors_error;
use crate::store::Store;

impl Store {
    /// The store's files as of now, by their paths in the data folder: the log with every change
    /// that was answered, and the vectors that are stored. What is derived from them is not among
    /// them; opening a copy makes it.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged) if the log is damaged: a copy would be damaged, too.
    pub fn snapshot(&self) -> Result<Snapshot> {
        // A vector of a memory that the log does not have does no harm, but need not be there.
        let vectors = self
            .embedding
            .vectors
            .snapshot()
            .map_err(|it| vectors_error(&it, &self.records.dir))?;
        let log = self.records.journal.snapshot()?;
        Ok(log.under("memory/log").and(vectors.under("memory/vectors")))
    }
}
