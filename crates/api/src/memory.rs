//! Memories.

mod bulk;
mod count;
mod filter;
mod id;
mod lifespan;
mod link;
mod scalar;
mod search;
mod suggestion;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};
use waypost_time::Timestamp;

pub use self::bulk::*;
pub use self::count::*;
use self::filter::filters;
pub use self::filter::{Filter, MetadataRange, MetadataTest};
pub use self::id::MemoryId;
pub use self::lifespan::Lifespan;
pub use self::link::*;
pub use self::scalar::{Metadata, Scalar};
pub use self::search::*;
pub use self::suggestion::*;
use crate::limits::{Check, Faults, ID_MAX, LIMIT_MAX, TITLE_CHARS_MAX};
use crate::wire;

/// Body of `POST /api/memory/add`, and each line of `POST /api/memory/batch`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AddRequest {
    /// The title, up to 512 characters; if absent or blank, the first line of the content.
    pub title: Option<String>,
    /// The text to remember: 1 byte to 1 MiB.
    pub content: String,
    /// The type, `[a-z0-9_-]{1,64}`; default: `note`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Tags, up to 64.
    #[serde(default, deserialize_with = "wire::list", skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Metadata, up to 64 values.
    #[serde(default, deserialize_with = "wire::map", skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, Scalar>,
    /// The space, up to 128 characters; default: `default`.
    pub space: Option<String>,
    /// The session of the memory; memories of one session are neighbours.
    pub session: Option<String>,
    /// Creation time; default: now.
    pub created_at: Option<Timestamp>,
    /// What it says holds from this time on, for `validAt` of a search.
    pub valid_from: Option<Timestamp>,
    /// What it says holds before this time, for `validAt` of a search.
    pub valid_until: Option<Timestamp>,
    /// The memory is hidden from this time on, and then deleted.
    pub expires_at: Option<Timestamp>,
    /// Whether the memory does not expire and comes first in a context; default: false.
    pub pinned: Option<bool>,
}

impl AddRequest {
    /// A memory with this content and nothing else.
    pub fn new(content: impl Into<String>) -> Self {
        Self { content: content.into(), ..Self::default() }
    }

    /// Sets the title.
    #[must_use]
    pub fn with_title(self, title: impl Into<String>) -> Self {
        Self { title: Some(title.into()), ..self }
    }

    /// Sets the type.
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

    /// Sets the creation time.
    #[must_use]
    pub fn with_created_at(self, created_at: Timestamp) -> Self {
        Self { created_at: Some(created_at), ..self }
    }

    /// Sets when it holds, and how long it is kept.
    #[must_use]
    pub fn with_lifespan(self, lifespan: Lifespan) -> Self {
        let Lifespan { valid_from, valid_until, expires_at, pinned } = lifespan;
        Self { valid_from, valid_until, expires_at, pinned: pinned.then_some(true), ..self }
    }

    /// When it holds, and how long it is kept.
    pub fn lifespan(&self) -> Lifespan {
        let Self { valid_from, valid_until, expires_at, pinned, .. } = *self;
        Lifespan { valid_from, valid_until, expires_at, pinned: pinned.unwrap_or_default() }
    }
}

impl Check for AddRequest {
    fn check(&self, faults: &mut Faults) {
        if let Some(title) = &self.title {
            faults.chars("title", title, TITLE_CHARS_MAX);
        }
        faults.content(&self.content);
        if let Some(kind) = &self.kind {
            faults.kind("type", kind);
        }
        faults.tags("tags", &self.tags);
        faults.metadata(&self.metadata);
        faults.space(self.space.as_deref());
        faults.session(self.session.as_deref());
        self.lifespan().check(faults);
    }
}

/// Body of `PATCH /api/memory/{id}`: given fields replace the existing ones, absent fields do not change.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PatchRequest {
    /// The new title.
    pub title: Option<String>,
    /// The new content.
    pub content: Option<String>,
    /// The new type.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// The new tags, which replace all existing ones.
    pub tags: Option<Vec<String>>,
    /// The new metadata, which replaces all existing values.
    pub metadata: Option<BTreeMap<String, Scalar>>,
    /// The new session; `null` removes the memory from its session.
    #[serde(default, deserialize_with = "wire::given")]
    #[schema(value_type = Option<String>)]
    pub session: Option<Option<String>>,
    /// The new time from which it holds; `null` removes it.
    #[serde(default, deserialize_with = "wire::given")]
    #[schema(value_type = Option<Timestamp>)]
    pub valid_from: Option<Option<Timestamp>>,
    /// The new time before which it holds; `null` removes it.
    #[serde(default, deserialize_with = "wire::given")]
    #[schema(value_type = Option<Timestamp>)]
    pub valid_until: Option<Option<Timestamp>>,
    /// The new time from which it is hidden; `null` removes it.
    #[serde(default, deserialize_with = "wire::given")]
    #[schema(value_type = Option<Timestamp>)]
    pub expires_at: Option<Option<Timestamp>>,
    /// Whether it is pinned from now on; `null` unpins it.
    #[serde(default, deserialize_with = "wire::flag")]
    pub pinned: Option<bool>,
}

impl PatchRequest {
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

    /// Sets the new type.
    #[must_use]
    pub fn with_kind(self, kind: impl Into<String>) -> Self {
        Self { kind: Some(kind.into()), ..self }
    }

    /// Sets the new tags.
    #[must_use]
    pub fn with_tags<T: Into<String>>(self, tags: impl IntoIterator<Item = T>) -> Self {
        Self { tags: Some(tags.into_iter().map(Into::into).collect()), ..self }
    }

    /// Sets the new metadata.
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
    pub fn with_pinned(self, pinned: bool) -> Self {
        Self { pinned: Some(pinned), ..self }
    }

    /// What is wrong with the fields that are given.
    pub fn check_fields(&self, faults: &mut Faults) {
        if let Some(title) = &self.title {
            faults.chars("title", title, TITLE_CHARS_MAX);
        }
        if let Some(content) = &self.content {
            faults.content(content);
        }
        if let Some(kind) = &self.kind {
            faults.kind("type", kind);
        }
        faults.tags("tags", self.tags.as_deref().unwrap_or_default());
        if let Some(metadata) = &self.metadata {
            faults.metadata(metadata);
        }
        faults.session(self.session.as_ref().and_then(|session| session.as_deref()));
        let (valid_from, valid_until) = (self.valid_from.flatten(), self.valid_until.flatten());
        Lifespan { valid_from, valid_until, ..Lifespan::default() }.check(faults);
    }
}

impl Check for PatchRequest {
    fn check(&self, faults: &mut Faults) {
        if *self == Self::default() {
            faults.add(
                "",
                "must change something: `title`, `content`, `type`, `tags`, `metadata`, `session`, \
                 `validFrom`, `validUntil`, `expiresAt` or `pinned`",
            );
        }
        self.check_fields(faults);
    }
}

/// Body of `POST /api/memory/merge`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MergeRequest {
    /// The id of the memory that stays.
    #[serde(deserialize_with = "wire::whole")]
    pub into: u64,
    /// The id of the memory that is deleted; its links move to the other one.
    #[serde(deserialize_with = "wire::whole")]
    pub from: u64,
    /// What to change in the memory that stays; default: nothing.
    pub set: Option<PatchRequest>,
}

impl Check for MergeRequest {
    fn check(&self, faults: &mut Faults) {
        faults.id("into", self.into);
        faults.id("from", self.from);
        if self.into == self.from {
            faults.add("from", "must be another memory than `into`");
        }
        if let Some(set) = &self.set {
            let mut inner = faults.none();
            set.check(&mut inner);
            for fault in inner.into_vec() {
                faults.add(&format!("set{}", fault.pointer), fault.message);
            }
        }
    }
}

/// Body of `POST /api/memory/{id}/restore`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RestoreRequest {
    /// The version whose fields the memory gets, from 1.
    #[serde(deserialize_with = "wire::whole")]
    pub version: u64,
}

impl Check for RestoreRequest {
    fn check(&self, faults: &mut Faults) {
        faults.range("version", Some(self.version), u64::from(u32::MAX));
    }
}

/// A memory.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    /// The id: positive, never reused, below 2^53.
    #[schema(value_type = u64)]
    pub id: MemoryId,
    /// The number of its version: starts at 1 and grows with each change. Not on the wire.
    #[serde(skip)]
    pub version: u32,
    /// The title.
    pub title: String,
    /// The content.
    pub content: String,
    /// The type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Metadata.
    #[serde(default)]
    pub metadata: BTreeMap<String, Scalar>,
    /// The space.
    pub space: String,
    /// The session.
    pub session: Option<String>,
    /// Creation time.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// What it says holds from this time on.
    pub valid_from: Option<Timestamp>,
    /// What it says holds before this time.
    pub valid_until: Option<Timestamp>,
    /// The memory is hidden from this time on, and then deleted.
    pub expires_at: Option<Timestamp>,
    /// Whether it is pinned; absent if not.
    #[serde(default, skip_serializing_if = "wire::is_false")]
    pub pinned: bool,
    /// Whether it has a vector of the current model, so that semantic search finds it.
    pub embedded: bool,
    /// The newer memory that supersedes it.
    #[schema(value_type = Option<u64>)]
    pub superseded_by: Option<MemoryId>,
}

impl Memory {
    /// When it holds, and how long it is kept.
    pub fn lifespan(&self) -> Lifespan {
        let Self { valid_from, valid_until, expires_at, pinned, .. } = *self;
        Lifespan { valid_from, valid_until, expires_at, pinned }
    }

    /// The memory without what it says, for callers that may not read it.
    #[must_use]
    pub fn without_text(self) -> Self {
        Self {
            title: String::new(),
            content: String::new(),
            kind: String::new(),
            session: None,
            superseded_by: None,
            ..self.as_sent()
        }
    }

    /// The memory with only the text that makes a request to add it its duplicate, for callers that
    /// sent it.
    #[must_use]
    pub fn as_sent(self) -> Self {
        Self {
            tags: Vec::new(),
            metadata: Metadata::new(),
            valid_from: None,
            valid_until: None,
            expires_at: None,
            pinned: false,
            ..self
        }
    }
}

/// Query of `GET /api/memory`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListRequest {
    /// Maximum number of results: 1 to 1000; default: 100.
    #[serde(default, deserialize_with = "wire::optional_whole")]
    pub limit: Option<u64>,
    /// The order: `id` (default), or `newest` for descending creation times, then ids.
    #[param(inline)]
    pub order: Option<ListOrder>,
    /// Only memories after this one: the last id of the previous page. In order of id, any number.
    #[serde(default, deserialize_with = "wire::optional_whole")]
    pub after: Option<u64>,
    /// Only memories of one of these types; may be repeated.
    #[serde(
        rename = "type",
        default,
        deserialize_with = "wire::one_or_many",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub kinds: Vec<String>,
    /// Only memories with all of these tags; may be repeated.
    #[serde(
        default,
        deserialize_with = "wire::one_or_many",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub tags: Vec<String>,
    /// Only memories with at least one of these tags; may be repeated.
    #[serde(
        default,
        deserialize_with = "wire::one_or_many",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub tags_any: Vec<String>,
    /// Only memories whose metadata passes this test: the `metadata` of a search, as JSON, such as
    /// `{"source":["wiki","mail"],"priority":{"gte":2}}`.
    #[serde(default, deserialize_with = "wire::json", skip_serializing_if = "BTreeMap::is_empty")]
    #[param(value_type = Option<String>)]
    pub metadata: BTreeMap<String, MetadataTest>,
    /// Only memories of this space.
    pub space: Option<String>,
    /// Only memories created at or after this time.
    pub since: Option<Timestamp>,
    /// Only memories created before this time.
    pub until: Option<Timestamp>,
    /// Only pinned memories (`true`), or only others (`false`).
    pub pinned: Option<bool>,
}

filters!(ListRequest);

impl Check for ListRequest {
    fn check(&self, faults: &mut Faults) {
        faults.range("limit", self.limit, LIMIT_MAX);
        if let Some(after) = self.after
            && after > ID_MAX
        {
            faults.add("after", format!("must be an id, at most {ID_MAX} (2^53 - 1)"));
        }
        self.filter().check(faults);
    }
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ListOrder {
    /// Ascending ids.
    #[default]
    Id,
    /// Descending creation times, then descending ids.
    Newest,
}

/// Query of `GET /api/memory/{id}/history`.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HistoryRequest {
    /// Maximum number of versions: 1 to 1000; default: 1000. The deletion that ended a version comes with it.
    #[serde(default, deserialize_with = "wire::optional_whole")]
    pub limit: Option<u64>,
    /// Only versions after this one, as in the link to the next page.
    #[serde(default, deserialize_with = "wire::optional_whole")]
    pub after: Option<u64>,
}

impl Check for HistoryRequest {
    fn check(&self, faults: &mut Faults) {
        faults.range("limit", self.limit, LIMIT_MAX);
    }
}

/// An element of `GET /api/memory/{id}/history`: the memory as it was after a change.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    /// The number of the version, from 1.
    pub version: u64,
    /// The kind of change.
    pub change: VersionChange,
    /// When.
    pub changed_at: Timestamp,
    /// How many versions directly before this one are missing, because damage destroyed them; absent
    /// if none is.
    pub missing_before: Option<u32>,
    /// The memory after the change; absent if it was deleted.
    pub memory: Option<Memory>,
}

/// The kind of change of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum VersionChange {
    /// It was added.
    Added,
    /// It was changed.
    Updated,
    /// It was deleted. The number is that of the next version, if a later change restored it.
    Deleted,
    /// It was restored after a deletion.
    Restored,
}
