//! Suggestions about similar memories.

use crate::store::Store;
use crate::{MemoryId, Result, SuggestionOptions, Suggestions, Timestamp, suggest};

impl Store {
    /// Pairs of memories of one space that say nearly the same, or different things about the same
    /// subject. Changes nothing.
    ///
    /// Memories that another one [updates](crate::LinkKind::Updates), and pairs with a link of any
    /// kind, are left out. A memory is found by its terms as soon as it was added, and by its
    /// meaning once it has a vector. About one memory, it compares those that are most similar,
    /// at most 16; about all, the newest 100,000 memories and 1,000 pairs of texts.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) if there is no memory with the id of the options,
    /// [`Error::NotInSpace`](crate::Error::NotInSpace) if it is not in their space,
    /// [`Error::Invalid`](crate::Error::Invalid) for a limit out of range.
    pub fn suggestions(&self, options: &SuggestionOptions) -> Result<Suggestions> {
        suggest::suggestions(&self.records, &self.index, options)
    }

    /// Whether [`Store::suggestions`] may have something to compare a new memory with, by its terms.
    /// Reads no file and does not wait: while the index is being changed, it may.
    pub fn may_have_similar(&self, id: MemoryId, now: Option<Timestamp>) -> bool {
        suggest::may_have_similar(&self.index, id, now)
    }
}
