use std::sync::Arc;

use crate::segment::Cursor;
use crate::writer::Shared;
use crate::{Entry, Result};

/// Bytes read from a file at once.
const STEP_BYTES: usize = 128 << 10;

/// The entries of a log, in order of their sequence.
///
/// It stays valid whatever else is done with the log. `None` means that there are no more for
/// now: after more appends it goes on. Entries that compaction or retention removed after the
/// iterator came to their segment may still come. After an error it ends.
#[derive(Debug)]
pub struct Entries {
    shared: Arc<Shared>,
    next: u64,
    cursor: Option<Cursor>,
    failed: bool,
}

impl Entries {
    pub(crate) fn new(shared: Arc<Shared>, after: u64) -> Self {
        Self { shared, next: after.saturating_add(1), cursor: None, failed: false }
    }
}

impl Iterator for Entries {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        loop {
            if let Some(cursor) = &mut self.cursor {
                match cursor.next_from(self.next) {
                    Ok(Some(entry)) => {
                        self.next = entry.sequence + 1;
                        return Some(Ok(entry));
                    }
                    Ok(None) => self.next = self.next.max(cursor.covered()),
                    Err(error) => {
                        self.failed = true;
                        return Some(Err(error));
                    }
                }
            }
            let segment = self.shared.covering(self.next)?;
            let same = self.cursor.as_ref().is_some_and(|it| Arc::ptr_eq(it.segment(), &segment));
            if !same {
                self.cursor = Some(Cursor::new(segment, self.next, STEP_BYTES));
            }
        }
    }
}
