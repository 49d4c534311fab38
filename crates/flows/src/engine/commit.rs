//! Writes the engine's decisions to disk, without locking the engine.

use super::error::Error;
use super::files::Files;
use crate::machine::Decided;
use crate::record::Record;

/// Decisions of an engine, to be written to disk. Return it to the engine, written or not.
#[derive(Debug)]
#[must_use = "the engine no longer has these decisions"]
pub struct Commit {
    files: Files,
    decided: Decided,
    /// Where the journal has the first record.
    first: Option<u64>,
}

impl Commit {
    pub(super) fn new(files: Files, decided: Decided) -> Self {
        let first = decided.records.is_empty().then_some(0);
        Self { files, decided, first }
    }

    /// Writes it, and waits for the disk.
    ///
    /// # Errors
    /// [`Error::Log`]. If the disk is full, nothing is lost: free some space and commit again.
    /// After any other error, open the engine again.
    pub fn write(&mut self) -> Result<(), Error> {
        if self.first.is_some() {
            return Ok(());
        }
        let records = &self.decided.records;
        let payloads: Vec<Vec<u8>> = records.iter().map(Record::encode).collect();
        let entries = records.iter().zip(&payloads);
        let batch: Vec<_> = entries.map(|(record, payload)| record.entry(payload)).collect();
        let range = if records.iter().all(Record::can_wait) {
            self.files.log().append_batch_unsynced(&batch)?
        } else {
            self.files.log().append_batch(&batch)?
        };
        self.first = Some(range.start);
        Ok(())
    }

    pub(super) fn into_parts(self) -> (Decided, Option<u64>) {
        (self.decided, self.first)
    }
}
