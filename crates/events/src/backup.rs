//! The bus's files for a backup.

use waypost_log::Snapshot;

use crate::floor::{self, Floor};
use crate::{Bus, Result};

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
        let floor = self.floor();
        let log = self.log.snapshot().map_err(|error| self.log_error(&error))?.under("log");
        Ok(if floor == Floor::default() { log } else { log.and_bytes(floor::NAME, floor.bytes()) })
    }
}
