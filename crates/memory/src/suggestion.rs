//! Suggestions: pairs of memories that say nearly the same, or different things about the same
//! subject.

use std::fmt;

use crate::{MemoryId, Timestamp};

/// What may be done about two memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SuggestionKind {
    /// They say nearly the same: one of them can be deleted.
    Duplicate,
    /// The newer one has another value for the same subject: it may
    /// [update](crate::LinkKind::Updates) the older one.
    Updates,
    /// They may [contradict](crate::LinkKind::Contradicts) each other.
    Contradicts,
}

impl SuggestionKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Duplicate, Self::Updates, Self::Contradicts];

    /// Its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Duplicate => "duplicate",
            Self::Updates => "updates",
            Self::Contradicts => "contradicts",
        }
    }
}

impl fmt::Display for SuggestionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Two memories of one space about which something may be done.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion {
    /// What.
    pub kind: SuggestionKind,
    /// The newer memory, by its creation.
    pub from: MemoryId,
    /// The older memory.
    pub to: MemoryId,
    /// The title of `from`.
    pub from_title: String,
    /// The title of `to`.
    pub to_title: String,
    /// How similar they are, 0 to 1: the share of words that they have in common, or the cosine of
    /// their vectors if that is known to be near and higher.
    pub score: f64,
    /// Why, with words of the two memories.
    pub reason: String,
}

/// The result of [`Store::suggestions`](crate::Store::suggestions).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Suggestions {
    /// The suggestions, the most similar pair first.
    pub suggestions: Vec<Suggestion>,
    /// Whether there may be more: a limit ended the comparison, or the index is being built.
    pub is_truncated: bool,
    /// If a limit ended the comparison of all memories: the last one that was compared with those
    /// before it. The rest follows with it as [`before`](SuggestionOptions::before).
    pub next: Option<MemoryId>,
}

/// Options of [`Store::suggestions`](crate::Store::suggestions).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SuggestionOptions {
    /// Only suggestions about this memory.
    pub id: Option<MemoryId>,
    /// Compares only memories with a lower id than this with those before them. Has no effect if
    /// `id` is set.
    pub before: Option<MemoryId>,
    /// Only memories of this space; `None` for all spaces.
    pub space: Option<String>,
    /// Maximum number of suggestions, 1 to
    /// [`SUGGESTIONS_LIMIT_MAX`](crate::limits::SUGGESTIONS_LIMIT_MAX).
    pub limit: usize,
    /// The present time: memories that have [expired](crate::Lifespan::has_expired) by it are left
    /// out. `None` leaves out none.
    pub now: Option<Timestamp>,
}

impl Default for SuggestionOptions {
    fn default() -> Self {
        Self { id: None, before: None, space: None, limit: 20, now: None }
    }
}

impl SuggestionOptions {
    /// Selects only suggestions about one memory.
    #[must_use]
    pub fn with_id(self, id: impl Into<Option<MemoryId>>) -> Self {
        Self { id: id.into(), ..self }
    }

    /// Continues after the memory that was [compared last](Suggestions::next).
    #[must_use]
    pub fn with_before(self, before: impl Into<Option<MemoryId>>) -> Self {
        Self { before: before.into(), ..self }
    }

    /// Selects only one space.
    #[must_use]
    pub fn with_space(self, space: impl Into<String>) -> Self {
        Self { space: Some(space.into()), ..self }
    }

    /// Sets the maximum number of suggestions.
    #[must_use]
    pub fn with_limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// Leaves out memories that have expired by this time.
    #[must_use]
    pub fn with_now(self, now: Timestamp) -> Self {
        Self { now: Some(now), ..self }
    }
}
