//! An append of which the outcome is not known yet.

use crate::id::BatchId;
use crate::position::Position;

/// An append of which the outcome is not known yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pending {
    pub(crate) batch: BatchId,
    pub(crate) after: Position,
    pub(crate) end: Position,
}

impl Pending {
    /// Returns the id of the append.
    pub fn batch(&self) -> BatchId {
        self.batch
    }

    /// Returns the position after which it was to be written.
    pub fn after(&self) -> Position {
        self.after
    }

    /// Returns the position of its last record, if it was written.
    pub fn end(&self) -> Position {
        self.end
    }
}
