//! Commands to the writer, and their outcomes.

use std::sync::Arc;

use parking_lot::Mutex;
use waypost_ranking::Document;

use crate::body::Body;
use crate::key::RequestKey;
use crate::record::Edge;
use crate::writer::import::{FileIds, ImportUnit};
use crate::{ImportResult, Memory, MemoryId, Patch, Timestamp};

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
        units: Vec<(ImportUnit, Option<RequestKey>)>,
        ids: Arc<Mutex<FileIds>>,
        /// The time of their keys.
        at: Timestamp,
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
    /// Carries out a command unless one with this key has been; then the outcome is that one's.
    Once {
        key: RequestKey,
        at: Timestamp,
        command: Box<Command>,
    },
    /// Is refused, because the caller may not see the memory. With a key, the first command that had it
    /// may have been carried out when the caller could.
    Hidden {
        id: MemoryId,
    },
    /// Takes the key for something outside of the store; only within [`Command::Once`].
    Begin,
    /// Keeps the answer of something that was begun, or frees its key.
    Finish {
        key: RequestKey,
        at: Timestamp,
        answer: Option<Vec<u8>>,
    },
    /// Forgets request keys that are older than their window, but none of the newest.
    ForgetKeys {
        newest: u64,
        at: Timestamp,
    },
}

/// The outcome of a [`Command`].
#[derive(Debug)]
pub(crate) enum Outcome {
    Added(Memory),
    Existing(Memory),
    /// The memory as an earlier command with the same key has added it.
    AddedBefore(Memory),
    Updated(Memory),
    Deleted,
    /// The number of memories that had expired.
    Expired(u64),
    Linked {
        is_new: bool,
        at: Timestamp,
    },
    Unlinked(bool),
    Imported(ImportResult),
    /// Also for [`Command::Forget`].
    Purged,
    Told,
    Begun,
    /// Something with this key was begun before; its answer, unless it has not ended.
    BegunBefore(Option<Vec<u8>>),
    Finished,
    KeysForgotten,
}

impl Command {
    /// The same command for one request.
    pub(crate) fn once(self, key: Option<RequestKey>, at: Timestamp) -> Self {
        match key {
            Some(key) => Self::Once { key, at, command: Box::new(self) },
            None => self,
        }
    }
}
