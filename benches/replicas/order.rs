//! A shared journal in memory that shows its readers only the first records.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use waypost_log::{AppendMax, Entry, Record, SharedError, SharedJournal};

/// The most records that a read returns.
const PAGE: usize = 256;

/// The records, and how many of them readers see.
#[derive(Debug, Default)]
pub(crate) struct Order {
    entries: Mutex<Vec<Entry>>,
    shown: AtomicU64,
}

impl Order {
    pub(crate) fn written(&self) -> u64 {
        self.entries.lock().len() as u64
    }

    pub(crate) fn show(&self, position: u64) {
        self.shown.store(position, Ordering::Release);
    }

    pub(crate) fn bytes(&self, position: u64) -> usize {
        self.entries.lock()[position as usize - 1].payload.len()
    }
}

impl SharedJournal for Order {
    fn append_max(&self) -> AppendMax {
        AppendMax { records: 1024, bytes: 1 << 23 }
    }

    fn append(&self, after: u64, records: &[Record<'_>]) -> Result<(), SharedError> {
        let mut entries = self.entries.lock();
        if entries.len() as u64 != after {
            return Err(SharedError::Moved);
        }
        let new = (after + 1..).zip(records).map(|(sequence, it)| Entry {
            sequence,
            kind: it.kind,
            version: it.version,
            payload: it.payload.to_vec(),
        });
        entries.extend(new);
        Ok(())
    }

    fn release(&self) {}

    fn read(&self, after: u64) -> Result<Vec<Entry>, SharedError> {
        let shown = self.shown.load(Ordering::Acquire).saturating_sub(after);
        let entries = self.entries.lock();
        Ok(entries.iter().skip(after as usize).take(PAGE.min(shown as usize)).cloned().collect())
    }
}
