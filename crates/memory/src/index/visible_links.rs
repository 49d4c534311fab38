//! The links that a reader sees.

use std::collections::{BTreeSet, VecDeque};

use crate::index::view::View;
use crate::limits::LINKS_RETURNED_MAX;
use crate::{Link, LinkKind, MemoryId, Timestamp};

/// The links of which a reader sees both memories: those of one space, if it is limited to one, that
/// have not expired. No other link exists for it, so none can change what it finds.
///
/// The memory that a method starts from is one that the reader sees.
#[derive(Clone, Copy)]
pub(crate) struct Sight<'a> {
    view: &'a View,
    space: Option<&'a str>,
    now: Option<Timestamp>,
    beyond: Option<&'a (dyn Fn(MemoryId) -> bool + Sync)>,
}

impl<'a> Sight<'a> {
    /// `now` is `None` if nothing has expired.
    pub(crate) fn new(view: &'a View, space: Option<&'a str>, now: Option<Timestamp>) -> Self {
        Self { view, space, now, beyond: None }
    }

    /// Says which of the memories that the index lacks are seen. Otherwise none is, if the reader is
    /// limited to a space, and else all are.
    pub(crate) fn with_beyond(self, beyond: &'a (dyn Fn(MemoryId) -> bool + Sync)) -> Self {
        Self { beyond: Some(beyond), ..self }
    }

    fn sees(&self, id: MemoryId) -> bool {
        match self.view.place(id) {
            Some((name, ..)) => {
                self.space.is_none_or(|space| space == name) && !self.view.has_expired(id, self.now)
            }
            None => self.beyond.map_or(self.space.is_none(), |beyond| beyond(id)),
        }
    }

    /// The memories that update this one, ordered by id.
    pub(crate) fn updaters(self, id: MemoryId) -> impl DoubleEndedIterator<Item = MemoryId> + 'a {
        self.view.graph.updaters(id).filter(move |updater| self.sees(*updater))
    }

    /// The newest memory that updates this one.
    pub(crate) fn superseded_by(self, id: MemoryId) -> Option<MemoryId> {
        self.updaters(id).next_back()
    }

    /// The memories at the other end of links of this kind, in either direction, each once, in
    /// order of their ids.
    pub(crate) fn linked_by(
        self,
        id: MemoryId,
        kind: LinkKind,
    ) -> impl Iterator<Item = MemoryId> + 'a {
        self.view.graph.linked_by(id, kind).filter(move |by| self.sees(*by))
    }

    /// The links that start at a memory, then those that end there, each by kind and other end.
    pub(crate) fn around(self, id: MemoryId) -> impl Iterator<Item = Link> + 'a {
        let other = move |link: &Link| if link.from == id { link.to } else { link.from };
        self.view.graph.around(id).filter(move |around| self.sees(other(around)))
    }

    /// Every link up to `depth` steps around a memory with its distance, breadth first, each once.
    pub(crate) fn walk(self, id: MemoryId, depth: u32) -> Vec<Link> {
        let mut links = Vec::new();
        let mut seen_links = BTreeSet::new();
        let mut seen = BTreeSet::from([id]);
        let mut queue = VecDeque::from([(id, 0_u64)]);
        while let Some((at, steps)) = queue.pop_front() {
            if steps == u64::from(depth) {
                continue;
            }
            for link in self.around(at) {
                if links.len() == LINKS_RETURNED_MAX {
                    return links;
                }
                if seen_links.insert((link.from, link.kind, link.to)) {
                    links.push(Link { depth: Some(steps + 1), ..link });
                }
                let other = if link.from == at { link.to } else { link.from };
                if seen.insert(other) {
                    queue.push_back((other, steps + 1));
                }
            }
        }
        links
    }
}
