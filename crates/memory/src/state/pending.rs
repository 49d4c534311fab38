//! Rows that wait for sled.

use std::collections::BTreeMap;

use super::{Write, wrap_value};
use crate::cells::Found;

/// sled is given so many rows at once …
pub(super) const ROWS_AT_ONCE: usize = 200;
/// … or so many bytes.
pub(super) const BYTES_AT_ONCE: usize = 128 * 1024;

/// What has been applied and sled does not have yet: the newest value of each row.
///
/// A batch wakes sled's threads and costs more than all else in an add; neighbouring memories change
/// the same few rows, so that one batch does for hundreds of them. What is lost with the process
/// is replayed from the log: the mark of how far the state is waits with its rows.
#[derive(Debug, Default)]
pub(super) struct Pending {
    rows: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    bytes: usize,
}

impl Pending {
    /// The value that waits for a key, if one does.
    pub(super) fn get(&self, key: &[u8]) -> Found {
        self.rows.get(key).map_or(Found::InSled, |it| Found::Here(it.clone()))
    }

    /// Whether some rows fit in beside those that wait.
    pub(super) fn has_room(&self, rows: &[Write]) -> bool {
        let bytes: usize = rows.iter().map(bytes).sum();
        self.rows.is_empty()
            || (self.rows.len() + rows.len() <= ROWS_AT_ONCE && self.bytes + bytes <= BYTES_AT_ONCE)
    }

    pub(super) fn extend(&mut self, rows: Vec<Write>) {
        for row in rows {
            self.bytes += bytes(&row);
            if let Some(before) = self.rows.insert(row.0.clone(), row.1) {
                self.bytes -= row.0.len() + before.map_or(0, |it| it.len());
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn batch(&self) -> sled::Batch {
        let mut batch = sled::Batch::default();
        for (key, value) in &self.rows {
            match value {
                Some(value) => batch.insert(key.as_slice(), wrap_value(key, value)),
                None => batch.remove(key.as_slice()),
            }
        }
        batch
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

fn bytes((key, value): &Write) -> usize {
    key.len() + value.as_ref().map_or(0, Vec::len)
}
