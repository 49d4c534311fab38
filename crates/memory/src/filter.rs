//! Filters on memories.

use std::collections::BTreeMap;

use crate::{MetadataValue, Timestamp};

/// Selects memories. Every condition that is set must hold.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Filter {
    /// The kind is one of these; empty for any.
    pub kinds: Vec<String>,
    /// The memory has all of these tags.
    pub tags: Vec<String>,
    /// The memory has at least one of these tags; empty for any.
    pub tags_any: Vec<String>,
    /// The memory's metadata has each of these keys, with a value that passes the test.
    pub metadata: BTreeMap<String, MetadataTest>,
    /// The space; `None` for all spaces.
    pub space: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// Created at this time or later.
    pub since: Option<Timestamp>,
    /// Created before this time.
    pub until: Option<Timestamp>,
    /// Only pinned memories, or only others.
    pub is_pinned: Option<bool>,
    /// The present time: memories that have [expired](crate::Lifespan::has_expired) by it are left
    /// out. `None` leaves out none.
    pub now: Option<Timestamp>,
}

impl Filter {
    /// Selects only these kinds.
    #[must_use]
    pub fn with_kinds<K: Into<String>>(self, kinds: impl IntoIterator<Item = K>) -> Self {
        Self { kinds: kinds.into_iter().map(Into::into).collect(), ..self }
    }

    /// Selects only memories that have all of these tags.
    #[must_use]
    pub fn with_tags<T: Into<String>>(self, tags: impl IntoIterator<Item = T>) -> Self {
        Self { tags: tags.into_iter().map(Into::into).collect(), ..self }
    }

    /// Selects only memories that have at least one of these tags.
    #[must_use]
    pub fn with_tags_any<T: Into<String>>(self, tags: impl IntoIterator<Item = T>) -> Self {
        Self { tags_any: tags.into_iter().map(Into::into).collect(), ..self }
    }

    /// Selects only memories whose metadata has this key, with a value that passes the test. Replaces
    /// another test of the same key.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, test: MetadataTest) -> Self {
        self.metadata.insert(key.into(), test);
        self
    }

    /// Selects only one space.
    #[must_use]
    pub fn with_space(self, space: impl Into<String>) -> Self {
        Self { space: Some(space.into()), ..self }
    }

    /// Selects only one session.
    #[must_use]
    pub fn with_session(self, session: impl Into<String>) -> Self {
        Self { session: Some(session.into()), ..self }
    }

    /// Selects only memories created at this time or later.
    #[must_use]
    pub fn with_since(self, since: Timestamp) -> Self {
        Self { since: Some(since), ..self }
    }

    /// Selects only memories created before this time.
    #[must_use]
    pub fn with_until(self, until: Timestamp) -> Self {
        Self { until: Some(until), ..self }
    }

    /// Selects only pinned memories, or only others.
    #[must_use]
    pub fn with_is_pinned(self, is_pinned: bool) -> Self {
        Self { is_pinned: Some(is_pinned), ..self }
    }

    /// Leaves out memories that have expired by this time.
    #[must_use]
    pub fn with_now(self, now: Timestamp) -> Self {
        Self { now: Some(now), ..self }
    }
}

/// What a [`Filter`] wants of a metadata value.
///
/// A value of another type than the test has does not pass. Numbers are compared by value, so that 2
/// equals 2.0. A text is a time if it is one in RFC 3339, such as `2026-11-21T13:00:00Z`; times are
/// compared by their instant, to the millisecond.
#[derive(Debug, Clone, PartialEq)]
pub enum MetadataTest {
    /// The value equals one of these, which all have the same type: 1 to
    /// [`METADATA_FILTER_VALUES_MAX`](crate::limits::METADATA_FILTER_VALUES_MAX). Texts are equal if
    /// they have the same characters.
    OneOf(Vec<MetadataValue>),
    /// The value is a number or a time within these bounds, of which one is set. Both are numbers, or
    /// both are times as texts.
    Within {
        /// The lowest value that passes.
        gte: Option<MetadataValue>,
        /// The highest value that passes.
        lte: Option<MetadataValue>,
    },
}

impl MetadataTest {
    /// The value equals this one.
    pub fn is(value: MetadataValue) -> Self {
        Self::OneOf(vec![value])
    }
}
