//! Memories, drafts and patches.

use std::collections::BTreeMap;
use std::{fmt, mem};

use crate::limits::ID_MAX;
use crate::record::Body;
use crate::{Lifespan, RequestKey, Timestamp};

/// The default space.
pub const DEFAULT_SPACE: &str = "default";
/// The default kind.
pub const DEFAULT_KIND: &str = "note";

/// Identifies a memory: positive, never reused, below 2^53.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryId(u64);

impl MemoryId {
    pub(crate) const FIRST: Self = Self(1);
    pub(crate) const LAST: Self = Self(ID_MAX);

    /// The id with this number, unless it is 0 or above 2^53 − 1.
    pub fn new(number: u64) -> Option<Self> {
        (1..=ID_MAX).contains(&number).then_some(Self(number))
    }

    /// The number.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A value in a memory's metadata.
#[derive(Debug, Clone, PartialEq)]
pub enum MetadataValue {
    /// Text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A finite number that is not whole or does not fit [`Self::Integer`].
    Float(f64),
    /// True or false.
    Boolean(bool),
}

/// Keys and values that a caller stores with a memory, ordered by key.
pub type Metadata = BTreeMap<String, MetadataValue>;

/// A memory as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    /// Its id.
    pub id: MemoryId,
    /// Starts at 1 and grows with each change.
    pub version: u32,
    /// The title; the content's first line unless one was given.
    pub title: String,
    /// The content.
    pub content: String,
    /// The kind (`type` on the wire).
    pub kind: String,
    /// Tags, sorted, each once.
    pub tags: Vec<String>,
    /// Metadata.
    pub metadata: Metadata,
    /// The space, which is its namespace.
    pub space: String,
    /// The session that it belongs to; memories of one session are neighbours.
    pub session: Option<String>,
    /// When its content happened or was written.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// When it holds, and how long it is kept.
    pub lifespan: Lifespan,
    /// Whether its current text has a vector of the current model.
    pub embedded: bool,
    /// The newest memory that `updates` this one.
    pub superseded_by: Option<MemoryId>,
}

impl Memory {
    /// A memory from its body. Whether it is embedded or superseded is for the index to say.
    pub(crate) fn of(id: MemoryId, version: u32, updated_at: Timestamp, body: Body) -> Self {
        let text = body.text.unwrap_or_default();
        Self {
            id,
            version,
            title: text.title,
            content: text.content,
            kind: text.kind,
            tags: text.tags,
            metadata: text.metadata,
            space: body.space,
            session: text.session,
            created_at: body.created_at,
            updated_at,
            lifespan: text.lifespan,
            embedded: false,
            superseded_by: None,
        }
    }

    /// The memory of an outline without what [`Store::read_text`](crate::Store::read_text) reads.
    pub(crate) fn bare(outline: Outline) -> Self {
        let Outline { id, version, updated_at, embedded, superseded_by } = outline;
        let body = Body { space: String::new(), created_at: updated_at, text: None };
        Self { embedded, superseded_by, ..Self::of(id, version, updated_at, body) }
    }

    /// The outline of the memory.
    pub fn outline(&self) -> Outline {
        let Self { id, version, updated_at, embedded, superseded_by, .. } = *self;
        Outline { id, version, updated_at, embedded, superseded_by }
    }

    /// The memory without what it says, for callers that may not read it.
    #[must_use]
    pub fn without_text(self) -> Self {
        let body = Body { space: self.space, created_at: self.created_at, text: None };
        Self { embedded: self.embedded, ..Self::of(self.id, self.version, self.updated_at, body) }
    }

    /// The memory with only the text that makes a draft its duplicate, for callers that sent it.
    #[must_use]
    pub fn as_sent(mut self) -> Self {
        let (title, content) = (mem::take(&mut self.title), mem::take(&mut self.content));
        let (kind, session) = (mem::take(&mut self.kind), self.session.take());
        let superseded_by = self.superseded_by;
        Self { title, content, kind, session, superseded_by, ..self.without_text() }
    }
}

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

/// A memory to be added. Only `content` is required.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Draft {
    /// The content.
    pub content: String,
    /// The title; the content's first line if absent or empty.
    pub title: Option<String>,
    /// The kind (`type` on the wire); [`DEFAULT_KIND`] if absent.
    pub kind: Option<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// Metadata.
    pub metadata: Metadata,
    /// The space; [`DEFAULT_SPACE`] if absent.
    pub space: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// When it happened; the time of the add if absent.
    pub created_at: Option<Timestamp>,
    /// When it holds, and how long it is kept. It must expire after the time of the add.
    pub lifespan: Lifespan,
    /// A note for publishing the change: [`Store::notices`](crate::Store::notices). It is ignored
    /// if the memory already exists.
    pub note: Option<Vec<u8>>,
    /// The key of the request: adding the draft again returns the first outcome.
    pub key: Option<RequestKey>,
}

impl Draft {
    /// A draft with this content and nothing else.
    pub fn new(content: impl Into<String>) -> Self {
        Self { content: content.into(), ..Self::default() }
    }

    /// Sets the title.
    #[must_use]
    pub fn with_title(self, title: impl Into<String>) -> Self {
        Self { title: Some(title.into()), ..self }
    }

    /// Sets the kind (`type` on the wire).
    #[must_use]
    pub fn with_kind(self, kind: impl Into<String>) -> Self {
        Self { kind: Some(kind.into()), ..self }
    }

    /// Sets the tags.
    #[must_use]
    pub fn with_tags<T: Into<String>>(self, tags: impl IntoIterator<Item = T>) -> Self {
        Self { tags: tags.into_iter().map(Into::into).collect(), ..self }
    }

    /// Sets the metadata.
    #[must_use]
    pub fn with_metadata(self, metadata: Metadata) -> Self {
        Self { metadata, ..self }
    }

    /// Sets the space.
    #[must_use]
    pub fn with_space(self, space: impl Into<String>) -> Self {
        Self { space: Some(space.into()), ..self }
    }

    /// Sets the session.
    #[must_use]
    pub fn with_session(self, session: impl Into<String>) -> Self {
        Self { session: Some(session.into()), ..self }
    }

    /// Sets when it happened.
    #[must_use]
    pub fn with_created_at(self, created_at: Timestamp) -> Self {
        Self { created_at: Some(created_at), ..self }
    }

    /// Sets when it holds, and how long it is kept.
    #[must_use]
    pub fn with_lifespan(self, lifespan: Lifespan) -> Self {
        Self { lifespan, ..self }
    }

    /// Sets the note for publishing the change.
    #[must_use]
    pub fn with_note(self, note: impl Into<Vec<u8>>) -> Self {
        Self { note: Some(note.into()), ..self }
    }

    /// Sets the key of the request.
    #[must_use]
    pub fn with_key(self, key: RequestKey) -> Self {
        Self { key: Some(key), ..self }
    }
}

/// A change of a memory; `None` leaves a field as it is. A memory cannot change its space.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Patch {
    /// The new title; if empty, the content's first line.
    pub title: Option<String>,
    /// The new content.
    pub content: Option<String>,
    /// The new kind.
    pub kind: Option<String>,
    /// The new tags, which replace all previous ones.
    pub tags: Option<Vec<String>>,
    /// The new metadata, which replaces all previous metadata.
    pub metadata: Option<Metadata>,
    /// The new session; `Some(None)` removes the memory from its session.
    pub session: Option<Option<String>>,
    /// The new time from which it holds; `Some(None)` removes it.
    pub valid_from: Option<Option<Timestamp>>,
    /// The new time before which it holds; `Some(None)` removes it.
    pub valid_until: Option<Option<Timestamp>>,
    /// The new time from which it is hidden; `Some(None)` removes it.
    pub expires_at: Option<Option<Timestamp>>,
    /// Whether it is pinned from now on.
    pub is_pinned: Option<bool>,
    /// Fail unless the memory has this version.
    pub if_version: Option<u32>,
}

impl Patch {
    /// Sets the new title.
    #[must_use]
    pub fn with_title(self, title: impl Into<String>) -> Self {
        Self { title: Some(title.into()), ..self }
    }

    /// Sets the new content.
    #[must_use]
    pub fn with_content(self, content: impl Into<String>) -> Self {
        Self { content: Some(content.into()), ..self }
    }

    /// Sets the new kind.
    #[must_use]
    pub fn with_kind(self, kind: impl Into<String>) -> Self {
        Self { kind: Some(kind.into()), ..self }
    }

    /// Sets the new tags, which replace all previous ones.
    #[must_use]
    pub fn with_tags<T: Into<String>>(self, tags: impl IntoIterator<Item = T>) -> Self {
        Self { tags: Some(tags.into_iter().map(Into::into).collect()), ..self }
    }

    /// Sets the new metadata, which replaces all previous metadata.
    #[must_use]
    pub fn with_metadata(self, metadata: Metadata) -> Self {
        Self { metadata: Some(metadata), ..self }
    }

    /// Sets the new session.
    #[must_use]
    pub fn with_session(self, session: impl Into<String>) -> Self {
        Self { session: Some(Some(session.into())), ..self }
    }

    /// Removes the memory from its session.
    #[must_use]
    pub fn without_session(self) -> Self {
        Self { session: Some(None), ..self }
    }

    /// Sets or removes the time from which it holds.
    #[must_use]
    pub fn with_valid_from(self, valid_from: impl Into<Option<Timestamp>>) -> Self {
        Self { valid_from: Some(valid_from.into()), ..self }
    }

    /// Sets or removes the time before which it holds.
    #[must_use]
    pub fn with_valid_until(self, valid_until: impl Into<Option<Timestamp>>) -> Self {
        Self { valid_until: Some(valid_until.into()), ..self }
    }

    /// Sets or removes the time from which it is hidden.
    #[must_use]
    pub fn with_expires_at(self, expires_at: impl Into<Option<Timestamp>>) -> Self {
        Self { expires_at: Some(expires_at.into()), ..self }
    }

    /// Pins or unpins it.
    #[must_use]
    pub fn with_is_pinned(self, is_pinned: bool) -> Self {
        Self { is_pinned: Some(is_pinned), ..self }
    }

    /// Fails unless the memory has this version.
    #[must_use]
    pub fn with_if_version(self, version: u32) -> Self {
        Self { if_version: Some(version), ..self }
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
    /// Counts from 1.
    pub version: u32,
    /// The title then.
    pub title: String,
    /// The content then; `None` if it was purged.
    pub content: Option<String>,
    /// The kind then.
    pub kind: String,
    /// The tags then.
    pub tags: Vec<String>,
    /// The metadata then.
    pub metadata: Metadata,
    /// The space.
    pub space: String,
    /// The session then.
    pub session: Option<String>,
    /// The memory's creation time.
    pub created_at: Timestamp,
    /// When it held, and how long it was kept. Not to be confused with [`Self::valid_from`], the time
    /// of this version.
    pub lifespan: Lifespan,
    /// When this version became the current one.
    pub valid_from: Timestamp,
    /// When it was replaced or deleted; `None` if it is the current one.
    pub valid_until: Option<Timestamp>,
    /// When the memory was deleted as this version. The next version, if there is one, restored it.
    pub deleted_at: Option<Timestamp>,
}

impl Version {
    /// A version from its body, as if it were the present one.
    pub(crate) fn of(version: u32, valid_from: Timestamp, body: Body) -> Self {
        let is_purged = body.text.is_none();
        let text = body.text.unwrap_or_default();
        Self {
            version,
            title: text.title,
            content: (!is_purged).then_some(text.content),
            kind: text.kind,
            tags: text.tags,
            metadata: text.metadata,
            space: body.space,
            session: text.session,
            created_at: body.created_at,
            lifespan: text.lifespan,
            valid_from,
            valid_until: None,
            deleted_at: None,
        }
    }
}
