use std::cmp::Ordering;

use crate::Slot;

/// Returns whether the document in a slot may be found. It is called inside the search, so the best
/// `k` are the best `k` of the documents that pass.
pub type Filter<'a> = &'a (dyn Fn(Slot) -> bool + Sync + 'a);

/// A found document.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The document's id.
    pub id: u64,
    /// The position of the part of the search in which it was found.
    pub part: u32,
    /// Its slot in that part.
    pub slot: Slot,
    /// How well it matches; only comparable within one search.
    pub score: f32,
}

impl Hit {
    /// The order of results: best score first, then lowest id.
    pub fn by_rank(a: &Self, b: &Self) -> Ordering {
        b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)).then(a.part.cmp(&b.part))
    }
}
