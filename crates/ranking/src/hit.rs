use std::cmp::Ordering;

use crate::Slot;

/// Says whether the document in a slot may be found. It is asked inside the search, so the best
/// `k` are the best `k` of what it lets through.
pub type Filter<'a> = &'a (dyn Fn(Slot) -> bool + Sync + 'a);

/// A found document.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The document's id.
    pub id: u64,
    /// The part of the search that it was found in, by position.
    pub part: u32,
    /// Its slot in that part.
    pub slot: Slot,
    /// How well it fits; only comparable within one search.
    pub score: f32,
}

impl Hit {
    /// The order of results: the best score first, then the lowest id.
    pub fn by_rank(a: &Self, b: &Self) -> Ordering {
        b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)).then(a.part.cmp(&b.part))
    }
}
