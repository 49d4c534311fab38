//! What a store is asked to add, and what it returns.

use crate::body::Body;
use crate::{Draft, Memory, MemoryId, RequestKey, Timestamp};

/// The default space.
pub const DEFAULT_SPACE: &str = "default";
/// The default kind.
pub const DEFAULT_KIND: &str = "note";

/// What to read a memory by, in the version that it had: [`Store::read_text`](crate::Store::read_text).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outline {
    /// As in [`Memory`].
    pub id: MemoryId,
    /// As in [`Memory`].
    pub version: u32,
    /// As in [`Memory`].
    pub updated_at: Timestamp,
    /// As in [`Memory`].
    pub embedded: bool,
    /// As in [`Memory`].
    pub superseded_by: Option<MemoryId>,
}

impl Outline {
    /// The outline of a memory.
    pub fn of(memory: &Memory) -> Self {
        let Memory { id, version, updated_at, embedded, superseded_by, .. } = *memory;
        Self { id, version, updated_at, embedded, superseded_by }
    }

    /// The memory without what [`Store::read_text`](crate::Store::read_text) reads.
    pub(crate) fn bare(self) -> Memory {
        let Self { id, version, updated_at, embedded, superseded_by } = self;
        let body = Body { space: String::new(), created_at: updated_at, text: None };
        Memory { embedded, superseded_by, ..body.memory(id, version, updated_at) }
    }
}

/// A draft to be added by one request.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Addition {
    /// The memory. It must expire after the time of the add.
    pub draft: Draft,
    /// A note for publishing the change: [`Store::notices`](crate::Store::notices). It is ignored
    /// if the memory already exists.
    pub note: Option<Vec<u8>>,
    /// The key of the request: adding the draft again returns the first outcome.
    pub key: Option<RequestKey>,
}

impl From<Draft> for Addition {
    fn from(draft: Draft) -> Self {
        Self { draft, ..Self::default() }
    }
}

impl Addition {
    /// Sets the note for publishing the change.
    #[must_use]
    pub fn with_note(self, note: impl Into<Option<Vec<u8>>>) -> Self {
        Self { note: note.into(), ..self }
    }

    /// Sets the key of the request.
    #[must_use]
    pub fn with_key(self, key: impl Into<Option<RequestKey>>) -> Self {
        Self { key: key.into(), ..self }
    }
}

/// The result of [`Store::add`](crate::Store::add).
#[derive(Debug, Clone, PartialEq)]
pub enum Added {
    /// The memory was stored.
    New(Memory),
    /// A memory with the same title, content, kind, space and session already exists.
    Existing(Memory),
    /// An earlier add with the same [key](RequestKey) stored the memory; it is returned as it was then.
    Before(Memory),
}

impl Added {
    /// The memory, new or not.
    pub fn memory(&self) -> &Memory {
        match self {
            Self::New(memory) | Self::Existing(memory) | Self::Before(memory) => memory,
        }
    }

    /// The memory, new or not.
    pub fn into_memory(self) -> Memory {
        match self {
            Self::New(memory) | Self::Existing(memory) | Self::Before(memory) => memory,
        }
    }
}

/// One version in a memory's history.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    /// The memory as it was: [`updated_at`](Memory::updated_at) is when this version became the
    /// current one. It has no text if that was purged, or was not read.
    pub memory: Memory,
    /// Whether the memory has its text.
    pub has_text: bool,
    /// When it was replaced or deleted; `None` if it is the current one.
    pub ended_at: Option<Timestamp>,
    /// When the memory was deleted as this version. The next version, if there is one, restored it.
    pub deleted_at: Option<Timestamp>,
}

impl Version {
    /// The content; `None` if it was purged, or was not read.
    pub fn content(&self) -> Option<&str> {
        self.has_text.then_some(&*self.memory.content)
    }
}
