//! The data that searches and lists read: the index of every space and the facts that filters need.
//!
//! It contains no texts; those are read from the log.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use waypost_ranking::{
    Cues, Document, Period, Signature, SimilarIndex, Slot, Slots, TextIndex, VectorIndex, periods,
};

use crate::body::Body;
use crate::facet::Facet;
use crate::index::alike::Alike;
use crate::index::graph::Graph;
use crate::index::labels::{Labels, NUMBER_MAX};
use crate::index::pending::Pending;
use crate::{Lifespan, MemoryId, Timestamp};

/// The index of the existing memories.
#[derive(Debug, Default)]
pub(crate) struct View {
    pub(crate) spaces: BTreeMap<String, Space>,
    pub(crate) names: Names,
    pub(crate) graph: Graph,
    pub(crate) alike: Alike,
    /// Memories without a vector of the current model.
    pub(crate) pending: Pending,
    /// Memories whose text the current model rejected.
    pub(crate) refused: BTreeSet<MemoryId>,
    /// The space of each memory.
    homes: BTreeMap<MemoryId, u32>,
    /// The memories that expire, and when.
    expiring: BTreeSet<(Timestamp, MemoryId)>,
    pinned: BTreeSet<MemoryId>,
    /// The current model, as its hash and the length of its vectors.
    pub(crate) model: Option<[u8; 16]>,
    dimensions: Option<usize>,
}

/// The index of one space.
#[derive(Debug)]
pub(crate) struct Space {
    pub(crate) slots: Slots,
    pub(crate) text: TextIndex,
    pub(crate) similar: SimilarIndex,
    pub(crate) vectors: Option<VectorIndex>,
    pub(crate) facts: Vec<Option<Fact>>,
    /// The number of facts of each kind, and of memories with a vector.
    pub(crate) kinds: BTreeMap<u32, u64>,
    pub(crate) embedded: u64,
    /// The memories of each session, in order of creation.
    pub(crate) sessions: BTreeMap<u32, BTreeSet<(Timestamp, MemoryId)>>,
}

/// The facts about a memory that filters and signals need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) version: u32,
    pub(crate) created_at: Timestamp,
    pub(crate) text_hash: u64,
    pub(crate) kind: u32,
    pub(crate) session: Option<u32>,
    /// Its tags and metadata.
    pub(crate) labels: Labels,
    pub(crate) cues: Cues,
    /// The days that its text names, resolved against its creation.
    pub(crate) periods: Box<[Period]>,
    /// Number of terms in title and content.
    pub(crate) length: u32,
    /// `None` for the default.
    pub(crate) lifespan: Option<Box<Lifespan>>,
    pub(crate) embedded: bool,
}

/// Names as small numbers, which are never returned to a caller.
#[derive(Debug, Default)]
pub(crate) struct Names {
    names: Vec<String>,
    numbers: BTreeMap<String, u32>,
}

/// An existing memory, prepared for indexing.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) space: String,
    pub(crate) version: u32,
    pub(crate) created_at: Timestamp,
    pub(crate) text_hash: u64,
    pub(crate) kind: String,
    pub(crate) session: Option<String>,
    pub(crate) tags: Vec<String>,
    /// Its metadata, by key.
    pub(crate) facets: Vec<(String, Facet)>,
    pub(crate) cues: Cues,
    pub(crate) periods: Box<[Period]>,
    pub(crate) lifespan: Lifespan,
    pub(crate) signature: Option<Signature>,
    pub(crate) document: Arc<Document>,
}

impl Prepared {
    /// What the index needs of a memory; `None` for a purged body.
    pub(crate) fn new(
        body: &Body,
        version: u32,
        text_hash: u64,
        document: Arc<Document>,
    ) -> Option<Self> {
        let text = body.text.as_ref()?;
        Some(Self {
            space: body.space.clone(),
            version,
            created_at: body.created_at,
            text_hash,
            kind: text.kind.clone(),
            session: text.session.clone(),
            tags: text.tags.clone(),
            facets: Facet::all(&text.metadata),
            cues: Cues::of(&text.content),
            periods: periods(&text.content, Some(day_of(body.created_at))).into(),
            lifespan: text.lifespan,
            signature: Signature::of(&document),
            document,
        })
    }
}

/// The day of a time in UTC, in days since 1970-01-01.
pub(crate) fn day_of(time: Timestamp) -> i32 {
    i32::try_from(time.as_secs().div_euclid(86_400)).expect("times have four-digit years")
}

impl Fact {
    pub(crate) fn lifespan(&self) -> Lifespan {
        self.lifespan.as_deref().copied().unwrap_or_default()
    }

    fn expiry(&self) -> Option<Timestamp> {
        self.lifespan.as_deref().and_then(Lifespan::expiry)
    }

    fn is_pinned(&self) -> bool {
        self.lifespan.as_deref().is_some_and(|lifespan| lifespan.pinned)
    }
}

impl Names {
    pub(crate) fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).ok().filter(|number| *number <= NUMBER_MAX);
        let number = number.expect("fewer than 2^28 unequal names");
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    pub(crate) fn find(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    pub(crate) fn name(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", String::as_str)
    }
}

impl Space {
    fn new(dimensions: Option<usize>) -> Self {
        Self {
            slots: Slots::default(),
            text: TextIndex::default(),
            similar: SimilarIndex::default(),
            vectors: dimensions.and_then(|dimension| VectorIndex::new(dimension).ok()),
            facts: Vec::new(),
            kinds: BTreeMap::new(),
            embedded: 0,
            sessions: BTreeMap::new(),
        }
    }

    pub(crate) fn fact(&self, slot: Slot) -> Option<&Fact> {
        self.facts.get(slot as usize)?.as_ref()
    }

    /// Sets or removes the fact of a slot, and returns the previous one.
    fn put_fact(&mut self, slot: Slot, fact: Option<Fact>) -> Option<Fact> {
        let at = slot as usize;
        if self.facts.len() <= at {
            self.facts.resize(at + 1, None);
        }
        if let Some(new) = &fact {
            *self.kinds.entry(new.kind).or_default() += 1;
            self.embedded += u64::from(new.embedded);
        }
        let old = std::mem::replace(&mut self.facts[at], fact)?;
        if let Some(count) = self.kinds.get_mut(&old.kind) {
            *count -= 1;
            if *count == 0 {
                self.kinds.remove(&old.kind);
            }
        }
        self.embedded -= u64::from(old.embedded);
        Some(old)
    }
}

impl View {
    /// An empty view for vectors of a model.
    pub(crate) fn new(model: Option<([u8; 16], usize)>) -> Self {
        let (model, dimensions) = model.unzip();
        Self { model, dimensions, ..Self::default() }
    }

    pub(crate) fn len(&self) -> u64 {
        self.homes.len() as u64
    }

    /// Whether an existing memory is in a space, or in any if none is given.
    pub(crate) fn is_in(&self, id: MemoryId, space: Option<&str>) -> bool {
        self.place(id).is_some_and(|(name, ..)| space.is_none_or(|space| space == name))
    }

    /// The number of links with both ends in one space.
    pub(crate) fn links_within(&self, space: &str) -> u64 {
        let Some(found) = self.spaces.get(space) else { return 0 };
        let ids = (0..found.facts.len()).filter_map(|slot| found.slots.id(slot as Slot));
        let links = ids.filter_map(MemoryId::new).map(|id| {
            let own = self.graph.around(id).filter(|around| around.from == id);
            own.filter(|own| self.is_in(own.to, Some(space))).count() as u64
        });
        links.sum()
    }

    /// Existing memories ordered by id, from the first after `after`.
    pub(crate) fn ids_after(&self, after: Option<MemoryId>) -> impl Iterator<Item = MemoryId> + '_ {
        let from = after.map_or(1, |after| after.get() + 1);
        let range = MemoryId::new(from).map(|id| self.homes.range(id..));
        range.into_iter().flatten().map(|(id, _)| *id)
    }

    /// Existing memories ordered by id, the last one first, from the last before `before`.
    pub(crate) fn ids_before(
        &self,
        before: Option<MemoryId>,
    ) -> impl Iterator<Item = MemoryId> + '_ {
        let end = before.map_or(Bound::Unbounded, Bound::Excluded);
        self.homes.range((Bound::Unbounded, end)).rev().map(|(id, _)| *id)
    }

    /// Existing pinned memories ordered by id, from the first after `after`.
    pub(crate) fn pinned_after(
        &self,
        after: Option<MemoryId>,
    ) -> impl Iterator<Item = MemoryId> + '_ {
        self.pinned
            .range((after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded))
            .copied()
    }

    /// The space and the slot of an existing memory.
    pub(crate) fn place(&self, id: MemoryId) -> Option<(&str, &Space, Slot)> {
        let name = self.names.name(*self.homes.get(&id)?);
        let space = self.spaces.get(name)?;
        Some((name, space, space.slots.slot(id.get())?))
    }

    pub(crate) fn fact(&self, id: MemoryId) -> Option<&Fact> {
        let (_, space, slot) = self.place(id)?;
        space.fact(slot)
    }

    fn fact_mut(&mut self, id: MemoryId) -> Option<(&mut Space, Slot)> {
        let name = self.names.name(*self.homes.get(&id)?);
        let space = self.spaces.get_mut(name)?;
        let slot = space.slots.slot(id.get())?;
        Some((space, slot))
    }

    /// Updates a memory in the index; `None` removes it.
    pub(crate) fn refresh(&mut self, id: MemoryId, prepared: Option<Prepared>) {
        let Some(prepared) = prepared else { return self.remove(id) };
        let tags: Vec<u32> = prepared.tags.iter().map(|tag| self.names.number(tag)).collect();
        let facets = prepared.facets.iter().map(|(key, it)| (self.names.number(key), *it));
        let labels = Labels::new(tags, facets);
        let fact = Fact {
            version: prepared.version,
            created_at: prepared.created_at,
            text_hash: prepared.text_hash,
            kind: self.names.number(&prepared.kind),
            session: prepared.session.as_deref().map(|session| self.names.number(session)),
            labels,
            cues: prepared.cues,
            periods: prepared.periods,
            length: prepared.document.length(),
            lifespan: boxed(prepared.lifespan),
            embedded: false,
        };
        let slot = self.set_fact(id, &prepared.space, fact);
        if let Some(space) = self.spaces.get_mut(&prepared.space) {
            space.text.insert(slot, &prepared.document);
            space.similar.insert(slot, prepared.signature);
        }
    }

    /// Adds a whole space from a snapshot.
    pub(crate) fn restore_space(
        &mut self,
        name: &str,
        slots: Slots,
        (text, similar): (TextIndex, SimilarIndex),
        facts: Vec<(Slot, MemoryId, Fact)>,
    ) {
        let mut space = Space { slots, text, similar, ..Space::new(self.dimensions) };
        space.facts.resize(space.slots.bound(), None);
        let home = self.names.number(name);
        // Collected and appended at once, which is much faster than one by one.
        self.homes.append(&mut facts.iter().map(|(_, id, _)| (*id, home)).collect());
        self.pending.extend(facts.iter().map(|(_, id, _)| *id));
        for (slot, id, fact) in facts {
            self.list_lifespan(id, &fact);
            if let Some(session) = fact.session {
                space.sessions.entry(session).or_default().insert((fact.created_at, id));
            }
            space.put_fact(slot, Some(fact));
        }
        self.spaces.insert(name.to_owned(), space);
    }

    /// Sets the facts about a memory, everything but its text, and returns its slot.
    fn set_fact(&mut self, id: MemoryId, space_name: &str, mut fact: Fact) -> Slot {
        let old = self.fact(id).cloned();
        if let Some(old) = &old {
            self.unlist_lifespan(id, old);
        }
        self.list_lifespan(id, &fact);
        let dimensions = self.dimensions;
        let home = self.names.number(space_name);
        self.homes.insert(id, home);
        let space =
            self.spaces.entry(space_name.to_owned()).or_insert_with(|| Space::new(dimensions));
        let slot = space.slots.assign(id.get());
        let same_text = old.as_ref().is_some_and(|old| old.text_hash == fact.text_hash);
        if let Some(old) = &old {
            leave_session(space, old, id);
        }
        if let Some(session) = fact.session {
            space.sessions.entry(session).or_default().insert((fact.created_at, id));
        }
        fact.embedded = same_text && old.is_some_and(|old| old.embedded);
        if !same_text {
            self.alike.remove(id);
        }
        if !fact.embedded {
            if let Some(vectors) = &mut space.vectors {
                vectors.remove(slot);
            }
            if !(same_text && self.refused.contains(&id)) {
                self.refused.remove(&id);
                self.pending.insert(id);
            }
        }
        space.put_fact(slot, Some(fact));
        slot
    }

    fn remove(&mut self, id: MemoryId) {
        let Some((space, slot)) = self.fact_mut(id) else { return };
        let fact = space.put_fact(slot, None);
        if let Some(fact) = &fact {
            leave_session(space, fact, id);
        }
        space.text.remove(slot);
        space.similar.remove(slot);
        if let Some(vectors) = &mut space.vectors {
            vectors.remove(slot);
        }
        space.slots.remove(id.get());
        self.homes.remove(&id);
        if let Some(fact) = &fact {
            self.unlist_lifespan(id, fact);
        }
        self.alike.remove(id);
        self.pending.remove(id);
        self.refused.remove(&id);
    }

    fn list_lifespan(&mut self, id: MemoryId, fact: &Fact) {
        self.expiring.extend(fact.expiry().map(|expiry| (expiry, id)));
        self.pinned.extend(fact.is_pinned().then_some(id));
    }

    fn unlist_lifespan(&mut self, id: MemoryId, fact: &Fact) {
        if let Some(expiry) = fact.expiry() {
            self.expiring.remove(&(expiry, id));
        }
        self.pinned.remove(&id);
    }

    /// The memories that have expired by a time, in order of expiry.
    pub(crate) fn expired(
        &self,
        now: Timestamp,
    ) -> impl DoubleEndedIterator<Item = (Timestamp, MemoryId)> {
        self.expiring.range(..=(now, MemoryId::LAST)).copied()
    }

    /// Whether an existing memory has expired by a time, if one is given.
    pub(crate) fn has_expired(&self, id: MemoryId, now: Option<Timestamp>) -> bool {
        let expiry = || self.fact(id).and_then(Fact::expiry);
        now.is_some_and(|now| expiry().is_some_and(|expiry| expiry <= now))
    }

    /// Drops all vectors, and expects those of another model or none.
    pub(crate) fn reset_vectors(&mut self, model: Option<([u8; 16], usize)>) {
        let (model, dimensions) = model.unzip();
        self.model = model;
        self.dimensions = dimensions;
        self.alike.reset(model);
        for space in self.spaces.values_mut() {
            space.vectors = dimensions.and_then(|dimension| VectorIndex::new(dimension).ok());
            for fact in space.facts.iter_mut().flatten() {
                fact.embedded = false;
            }
            space.embedded = 0;
        }
        self.refused.clear();
        self.pending = self.homes.keys().copied().collect();
    }

    /// Adds a vector if it was computed from the memory's current text; otherwise `Ok(false)`.
    pub(crate) fn install(
        &mut self,
        id: MemoryId,
        text_hash: u64,
        vector: &[f32],
    ) -> Result<bool, waypost_ranking::Error> {
        let Some((space, slot)) = self.fact_mut(id) else { return Ok(false) };
        let Some(Some(fact)) = space.facts.get_mut(slot as usize) else { return Ok(false) };
        let Some(vectors) = space.vectors.as_mut().filter(|_| fact.text_hash == text_hash) else {
            return Ok(false);
        };
        vectors.insert(slot, vector)?;
        space.embedded += u64::from(!std::mem::replace(&mut fact.embedded, true));
        self.pending.remove(id);
        self.refused.remove(&id);
        self.alike.insert(id);
        Ok(true)
    }

    /// Records that the model rejected a memory's text.
    pub(crate) fn refuse(&mut self, id: MemoryId, text_hash: u64) {
        if self.fact(id).is_some_and(|fact| fact.text_hash == text_hash) && self.pending.remove(id)
        {
            self.refused.insert(id);
        }
    }

    /// Makes rejected memories pending again.
    pub(crate) fn retry_refused(&mut self) {
        self.pending.extend(std::mem::take(&mut self.refused));
    }
}

/// What a fact keeps of a lifespan.
pub(crate) fn boxed(lifespan: Lifespan) -> Option<Box<Lifespan>> {
    (lifespan != Lifespan::default()).then(|| Box::new(lifespan))
}

fn leave_session(space: &mut Space, fact: &Fact, id: MemoryId) {
    let Some(session) = fact.session else { return };
    if let Some(members) = space.sessions.get_mut(&session) {
        members.remove(&(fact.created_at, id));
        if members.is_empty() {
            space.sessions.remove(&session);
        }
    }
}
