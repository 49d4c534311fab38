//! Commands to the writer, and their outcomes.

use std::sync::Arc;

use parking_lot::Mutex;
use waypost_ranking::Document;

use crate::record::{Body, Edge};
use crate::writer::import::{FileIds, ImportDone, ImportUnit};
use crate::{Memory, MemoryId, Patch, Timestamp};

/// A request to change the state. Deciding it consumes nothing that a second decision needs.
#[derive(Debug)]
pub(crate) enum Command {
    /// The submitting thread builds the document, so that many threads analyse at once; without it,
    /// the index analyses the text.
    Add {
        body: Body,
        document: Option<Arc<Document>>,
        at: Timestamp,
        note: Option<Vec<u8>>,
    },
    Update {
        id: MemoryId,
        patch: Patch,
        at: Timestamp,
    },
    /// Gives a memory the text of an earlier version.
    Revert {
        id: MemoryId,
        version: u32,
        at: Timestamp,
    },
    Delete {
        id: MemoryId,
        at: Timestamp,
    },
    /// Changes a memory, gives it the links of another one, and deletes that one.
    Merge {
        into: MemoryId,
        from: MemoryId,
        patch: Patch,
        at: Timestamp,
    },
    /// Restores a deleted memory.
    Undelete {
        id: MemoryId,
        at: Timestamp,
    },
    /// Deletes those of the memories that have expired by a time.
    Expire {
        ids: Vec<MemoryId>,
        at: Timestamp,
    },
    Link {
        edge: Edge,
        at: Timestamp,
        note: Option<Vec<u8>>,
    },
    Unlink {
        edge: Edge,
        at: Timestamp,
    },
    Import {
        units: Vec<ImportUnit>,
        ids: Arc<Mutex<FileIds>>,
    },
    Purge {
        ids: Vec<MemoryId>,
    },
    Forget {
        below: Vec<(MemoryId, u32)>,
    },
    /// Notes up to this sequence have been published.
    Told {
        through: u64,
    },
}

/// The outcome of a [`Command`].
#[derive(Debug)]
pub(crate) enum Outcome {
    Added(Memory),
    Existing(Memory),
    Updated(Memory),
    Deleted,
    /// The number of memories that had expired.
    Expired(u64),
    Linked {
        is_new: bool,
        at: Timestamp,
    },
    Unlinked(bool),
    Imported(ImportDone),
    /// Also for [`Command::Forget`].
    Purged,
    Told,
}
