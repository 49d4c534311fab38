//! Rows that are buffered before they are written to sled.

use std::collections::BTreeMap;

use crate::tree::Write;
use crate::value::wrap;

/// Maximum number of rows in a batch for sled …
pub(crate) const ROWS_AT_ONCE: usize = 200;
/// … and of bytes.
pub(crate) const BYTES_AT_ONCE: usize = 128 * 1024;

/// The newest value of each row that has been applied but not yet written to sled.
///
/// A batch wakes sled's threads and costs more than its contents; consecutive changes often affect
/// the same few rows, so that one batch covers hundreds of them. What is lost with the process is
/// replayed from the log: the log position is buffered with its rows.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    rows: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    bytes: usize,
}

impl Pending {
    /// The buffered value of a key, or its removal, if there is one.
    pub(crate) fn get(&self, key: &[u8]) -> Option<&Option<Vec<u8>>> {
        self.rows.get(key)
    }

    /// Whether some rows fit in the buffer.
    pub(crate) fn has_room(&self, rows: &[Write]) -> bool {
        let bytes: usize = rows.iter().map(bytes).sum();
        self.rows.is_empty()
            || (self.rows.len() + rows.len() <= ROWS_AT_ONCE && self.bytes + bytes <= BYTES_AT_ONCE)
    }

    pub(crate) fn extend(&mut self, rows: Vec<Write>) {
        for row in rows {
            self.bytes += bytes(&row);
            if let Some(before) = self.rows.insert(row.0.clone(), row.1) {
                self.bytes -= row.0.len() + before.map_or(0, |before| before.len());
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn batch(&self, value_version: u8) -> sled::Batch {
        let mut batch = sled::Batch::default();
        for (key, value) in &self.rows {
            match value {
                Some(value) => batch.insert(key.as_slice(), wrap(value_version, key, value)),
                None => batch.remove(key.as_slice()),
            }
        }
        batch
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

fn bytes((key, value): &Write) -> usize {
    key.len() + value.as_ref().map_or(0, Vec::len)
}
