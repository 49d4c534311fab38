//! Responses whose status or headers carry information, too.

use crate::{Event, Hit, Memory, MeshEvent, SearchMode};

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// How likely they answer the query, 0 to 1, if the service reports that.
    pub answerable: Option<f64>,
    /// How the service searched, if it reports that.
    pub mode: Option<SearchMode>,
    /// With `asOf`: the number of memories of that time whose text was removed.
    pub forgotten: Option<u64>,
    /// Whether the query has only stop words, so that few memories can be found by its words.
    pub only_stop_words: bool,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The memories, in the order that was asked for.
    pub memories: Vec<Memory>,
    /// The `after` of the next page, if there is one.
    pub next: Option<u64>,
}

/// A stored item.
#[derive(Debug, Clone, PartialEq)]
pub enum Stored<T> {
    /// It was created.
    New(T),
    /// It already existed.
    Existing(T),
}

impl<T> Stored<T> {
    /// The item, new or not.
    pub fn into_inner(self) -> T {
        match self {
            Self::New(it) | Self::Existing(it) => it,
        }
    }
}

/// A message of a stream of the mesh's events.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// An event.
    Event(MeshEvent),
    /// Events were lost.
    Lost(u64),
}

/// A page of events.
#[derive(Debug, Clone, PartialEq)]
pub struct EventsPage {
    /// The events, oldest first.
    pub events: Vec<Event>,
    /// The last examined event: continue after it.
    pub next_after: u64,
}

/// A message of an event stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// An event.
    Event(Event),
    /// Events are missing: they were dropped.
    Reset {
        /// The first remaining event.
        first: u64,
    },
}
