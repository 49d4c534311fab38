use std::sync::Arc;

use super::dictionary::TermId;
use super::segment::{Postings, Segment};
use super::tail::Tail;
use crate::Slot;

/// The part of an index that a document's current postings are in. Parts that it was in before still
/// have its old ones; whoever reads a posting of a sealed part compares.
pub(super) type Home = u32;

/// The place of a document that is not there.
pub(super) const NOWHERE: Home = 0;

/// A sealed part of an index.
#[derive(Debug, Clone)]
pub(super) struct Sealed {
    pub(super) home: Home,
    pub(super) postings: Source,
    /// Its documents that are still in it, and all that it was made of.
    pub(super) live: usize,
    pub(super) documents: usize,
}

#[derive(Debug, Clone)]
pub(super) enum Source {
    /// Closed to change, not yet packed. It has the slots beside it.
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
