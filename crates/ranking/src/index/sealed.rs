use std::sync::Arc;

use super::dictionary::TermId;
use super::segment::{Postings, Segment};
use super::tail::Tail;
use crate::Slot;

/// The part of an index that holds a document's current postings. Parts that held it before still
/// have its old postings, so a reader of a sealed part compares.
pub(super) type Home = u32;

/// The home of an absent document.
pub(super) const NOWHERE: Home = 0;

/// A sealed part of an index.
#[derive(Debug, Clone)]
pub(super) struct Sealed {
    pub(super) home: Home,
    pub(super) postings: Source,
    /// The number of its documents that are still current, and of all that it was built from.
    pub(super) live: usize,
    pub(super) documents: usize,
}

#[derive(Debug, Clone)]
pub(super) enum Source {
    /// Closed to changes, not yet packed; with its slots.
    Closed(Arc<Tail>, Arc<Vec<Slot>>),
    Packed(Arc<Segment>),
}

impl Source {
    pub(super) fn list(&self, term: TermId) -> Option<Postings<'_>> {
        match self {
            Self::Closed(tail, _) => tail.list(term).map(Postings::Open),
            Self::Packed(segment) => segment.list(term),
        }
    }

    pub(super) fn slots(&self) -> &[Slot] {
        match self {
            Self::Closed(_, slots) => slots,
            Self::Packed(segment) => &segment.slots,
        }
    }

    pub(super) fn memory(&self) -> usize {
        match self {
            Self::Closed(tail, slots) => tail.memory() + slots.len() * 4,
            Self::Packed(segment) => segment.memory(),
        }
    }
}
