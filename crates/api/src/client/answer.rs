//! Answers whose status or headers say something, too.

use crate::{Hit, Memory, SearchMode};

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// How the service searched, if it says.
    pub mode: Option<SearchMode>,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The memories, in order of their ids.
    pub memories: Vec<Memory>,
    /// The `after` of the next page, if there is one.
    pub next: Option<u64>,
}

/// Something that is stored now.
#[derive(Debug, Clone, PartialEq)]
pub enum Stored<T> {
    /// It is new.
    New(T),
    /// It was there already.
    Existing(T),
}

impl<T> Stored<T> {
    /// It, new or not.
    pub fn into_inner(self) -> T {
        match self {
            Self::New(it) | Self::Existing(it) => it,
        }
    }
}
