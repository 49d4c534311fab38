//! All links, in memory.

use std::collections::{BTreeMap, BTreeSet};

use crate::codec::Reader;
use crate::record::Edge;
use crate::state::{State, damaged, keys};
use crate::{Link, LinkKind, MemoryId, Result, Timestamp, Vocabulary};

/// The links, indexed by both ends.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    outgoing: BTreeMap<(MemoryId, LinkKind, MemoryId), Timestamp>,
    incoming: BTreeSet<(MemoryId, LinkKind, MemoryId)>,
}

impl Graph {
    /// All links of the state.
    pub(crate) fn load(state: &State) -> Result<Self> {
        let mut graph = Self::default();
        state.scan(keys::LINKS, &mut |key, value| {
            let edge = keys::edge_of(key).map_err(damaged)?;
            graph.insert(edge, Reader::new(value).time().map_err(damaged)?);
            Ok(())
        })?;
        Ok(graph)
    }

    pub(crate) fn insert(&mut self, edge: Edge, at: Timestamp) {
        self.outgoing.insert((edge.from, edge.kind, edge.to), at);
        self.incoming.insert((edge.to, edge.kind, edge.from));
    }

    pub(crate) fn remove(&mut self, edge: Edge) {
        self.outgoing.remove(&(edge.from, edge.kind, edge.to));
        self.incoming.remove(&(edge.to, edge.kind, edge.from));
    }

    /// All links, in order of their start.
    pub(crate) fn all(&self) -> impl Iterator<Item = Link> + '_ {
        self.outgoing.iter().map(|((from, kind, to), at)| link(*from, *to, *kind, *at))
    }

    /// These links.
    pub(crate) fn of(links: Vec<Link>) -> Self {
        let mut graph = Self::default();
        for Link { from, to, kind, created_at, .. } in links {
            graph.insert(Edge { from, to, kind }, created_at);
        }
        graph
    }

    pub(crate) fn len(&self) -> u64 {
        self.outgoing.len() as u64
    }

    /// The links that start at a memory, then those that end there, each by kind and other end.
    pub(crate) fn around(&self, id: MemoryId) -> impl Iterator<Item = Link> + '_ {
        let outgoing = self
            .outgoing
            .range((id, FIRST_KIND, FIRST)..)
            .take_while(move |((from, _, _), _)| *from == id)
            .map(|((from, kind, to), at)| link(*from, *to, *kind, *at));
        let incoming = self
            .incoming
            .range((id, FIRST_KIND, FIRST)..)
            .take_while(move |(to, _, _)| *to == id)
            .filter_map(|(to, kind, from)| {
                let at = self.outgoing.get(&(*from, *kind, *to))?;
                Some(link(*from, *to, *kind, *at))
            });
        outgoing.chain(incoming)
    }

    /// The memories that update this one, ordered by id.
    pub(crate) fn updaters(&self, id: MemoryId) -> impl DoubleEndedIterator<Item = MemoryId> + '_ {
        self.incoming
            .range((id, LinkKind::Updates, FIRST)..=(id, LinkKind::Updates, LAST))
            .map(|(_, _, from)| *from)
    }

    /// Whether any link starts or ends at a memory.
    pub(crate) fn has_links(&self, id: MemoryId) -> bool {
        let least = (id, FIRST_KIND, FIRST);
        let starts = || self.outgoing.range(least..).next().is_some_and(|((it, ..), _)| *it == id);
        let ends = || self.incoming.range(least..).next().is_some_and(|(it, ..)| *it == id);
        !self.outgoing.is_empty() && (starts() || ends())
    }

    /// Whether two memories are linked, by any kind, in either direction.
    pub(crate) fn are_linked(&self, one: MemoryId, other: MemoryId) -> bool {
        let is_link = |kind: LinkKind| {
            self.outgoing.contains_key(&(one, kind, other))
                || self.outgoing.contains_key(&(other, kind, one))
        };
        !self.outgoing.is_empty() && LinkKind::ALL.iter().copied().any(is_link)
    }

    /// The memories at the other end of links of this kind, in either direction, each once, in
    /// order of their ids.
    pub(crate) fn linked_by(&self, id: MemoryId, kind: LinkKind) -> impl Iterator<Item = MemoryId> {
        let range = (id, kind, FIRST)..=(id, kind, LAST);
        let mut outgoing = self.outgoing.range(range.clone()).map(|((_, _, to), _)| *to).peekable();
        let mut incoming = self.incoming.range(range).map(|(_, _, from)| *from).peekable();
        std::iter::from_fn(move || match (outgoing.peek(), incoming.peek()) {
            (Some(to), Some(from)) if to == from => incoming.next().and(outgoing.next()),
            (Some(to), Some(from)) if from < to => incoming.next(),
            (Some(_), _) => outgoing.next(),
            (None, _) => incoming.next(),
        })
    }
}

const FIRST: MemoryId = MemoryId::FIRST;
const LAST: MemoryId = MemoryId::LAST;
/// The first kind in their order.
const FIRST_KIND: LinkKind = LinkKind::Updates;

fn link(from: MemoryId, to: MemoryId, kind: LinkKind, created_at: Timestamp) -> Link {
    Link { from, to, kind, created_at, depth: None }
}
