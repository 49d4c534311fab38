//! The bus's files for a backup.

use waypost_log::Snapshot;

use crate::{Bus, Result, floor};

impl Bus {
    /// The bus's files as of now, by their paths in its folder: every acknowledged event with its
    /// id and its idempotency key. The index is not included; opening a copy builds it.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged) if the log is damaged: a copy would be damaged,
    /// too.
    pub fn snapshot(&self) -> Result<Snapshot> {
        // Retention may continue after this: the log then covers less than the file says, never
        // more.
        let first = self.first();
        let log = self.log.snapshot().map_err(|it| self.log_error(&it))?.under("log");
        Ok(if first > 1 { log.and_bytes(floor::NAME, floor::text(first)) } else { log })
    }
}
