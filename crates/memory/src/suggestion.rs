//! Options of suggestions.

use crate::{MemoryId, Timestamp};

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
    /// Maximum number of suggestions, 1 to [`LIMIT_MAX`](crate::limits::LIMIT_MAX).
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

    /// Continues after the memory that was [compared last](crate::Suggestions::next).
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
