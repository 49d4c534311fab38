mod explain;
mod forward;
mod search;
mod snapshot;
mod tail;

use std::collections::HashMap;

pub use self::search::{TextPart, TextSearch, TitleMatch};

use self::forward::Forward;
use self::tail::Tail;
use crate::bm25::Collection;
use crate::codec::damaged;
use crate::{Document, Error, Slot};

/// A term's number inside one index.
type TermId = u32;

/// The place of a document that is not there.
const NOWHERE: u32 = u32::MAX;

/// An inverted index of one space: which documents have which terms how often.
///
/// Counts (documents, document frequencies, lengths) are whole numbers that every insert and remove
/// keeps exact. Contents are not kept.
#[derive(Debug, Clone, Default)]
pub struct TextIndex {
    dictionary: Dictionary,
    forward: Vec<Option<Forward>>,
    lengths: Vec<u32>,
    collection: Collection,
    tail: Tail,
}

/// How much an index holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Documents.
    pub documents: u64,
    /// Distinct terms that at least one document has.
    pub terms: u64,
    /// The documents' lengths, added up.
    pub length_total: u64,
    /// Memory in use, about.
    pub bytes: u64,
}

impl TextIndex {
    /// Indexes a document; replaces the one that is in the slot.
    pub fn insert(&mut self, slot: Slot, document: &Document) {
        self.remove(slot);
        if self.forward.len() <= slot as usize {
            self.forward.resize_with(slot as usize + 1, || None);
            self.lengths.resize(slot as usize + 1, 0);
        }
        let mut postings: Vec<(TermId, u32, bool)> = document
            .terms
            .iter()
            .map(|term| (self.dictionary.count_in(&term.term), term.count, term.in_title))
            .collect();
        postings.sort_unstable();
        self.tail.insert(slot, &postings, document.length);
        self.lengths[slot as usize] = document.length;
        self.collection.documents += 1;
        self.collection.length_total += u64::from(document.length);
        self.forward[slot as usize] = Some(Forward::new(&postings));
    }

    /// Removes the document in a slot; false if there is none.
    pub fn remove(&mut self, slot: Slot) -> bool {
        let Some(forward) = self.forward.get_mut(slot as usize).and_then(Option::take) else {
            return false;
        };
        for (term, _, _) in forward.iter() {
            self.tail.remove(slot, term);
            self.dictionary.count_out(term);
        }
        self.collection.documents -= 1;
        self.collection.length_total -= u64::from(self.lengths[slot as usize]);
        true
    }

    /// Whether there is a document in a slot.
    pub fn contains(&self, slot: Slot) -> bool {
        self.forward(slot).is_some()
    }

    /// How much it holds.
    pub fn stats(&self) -> Stats {
        Stats {
            documents: self.collection.documents,
            terms: self.dictionary.live,
            length_total: self.collection.length_total,
            bytes: 0,
        }
    }

    /// The next piece of upkeep, if there is any: it makes searches faster and changes no result.
    ///
    /// [`Merge::run`] needs no access to the index, so the index can be searched and changed until
    /// [`install`](Self::install) takes the outcome.
    pub fn plan(&self) -> Option<Merge> {
        None
    }

    /// Takes the outcome of a [`Merge`]. What was removed or replaced since it was planned stays so.
    /// False if the index has no use for it, because another was installed in between.
    pub fn install(&mut self, merged: Merged) -> bool {
        let Merged {} = merged;
        false
    }

    /// Does all upkeep that there is.
    pub fn maintain(&mut self) {
        while let Some(merge) = self.plan() {
            self.install(merge.run());
        }
    }

    fn push_gap(&mut self) {
        self.forward.push(None);
        self.lengths.push(0);
    }

    /// Indexes a document of known terms.
    fn insert_decoded(
        &mut self,
        slot: Slot,
        postings: &[(TermId, u32, bool)],
    ) -> Result<(), Error> {
        let length: u64 = postings.iter().map(|&(_, count, _)| u64::from(count)).sum();
        let length = u32::try_from(length).map_err(|_| damaged("a document is too long"))?;
        for &(term, _, _) in postings {
            self.dictionary.frequencies[term as usize] += 1;
        }
        self.tail.insert(slot, postings, length);
        self.lengths.push(length);
        self.collection.documents += 1;
        self.collection.length_total += u64::from(length);
        self.forward.push(Some(Forward::new(postings)));
        Ok(())
    }

    fn forward(&self, slot: Slot) -> Option<&Forward> {
        self.forward.get(slot as usize).and_then(Option::as_ref)
    }
}

/// A planned piece of upkeep of a [`TextIndex`].
#[derive(Debug)]
pub struct Merge {}

/// The outcome of a [`Merge`].
#[derive(Debug)]
pub struct Merged {}

impl Merge {
    /// Does the work.
    pub fn run(self) -> Merged {
        Merged {}
    }
}

/// Terms by number, with the number of documents that have them.
#[derive(Debug, Clone, Default)]
struct Dictionary {
    ids: HashMap<Box<str>, TermId>,
    names: Vec<Box<str>>,
    frequencies: Vec<u32>,
    free: Vec<TermId>,
    live: u64,
}

impl Dictionary {
    fn id(&self, term: &str) -> Option<TermId> {
        self.ids.get(term).copied()
    }

    fn frequency(&self, id: TermId) -> u64 {
        u64::from(self.frequencies[id as usize])
    }

    fn count_in(&mut self, term: &str) -> TermId {
        if let Some(id) = self.id(term) {
            self.frequencies[id as usize] += 1;
            return id;
        }
        self.live += 1;
        let id = self.free.pop().unwrap_or_else(|| {
            self.names.push(Box::default());
            self.frequencies.push(0);
            TermId::try_from(self.names.len() - 1).expect("an index has fewer than 2^32 terms")
        });
        self.names[id as usize] = term.into();
        self.frequencies[id as usize] = 1;
        self.ids.insert(term.into(), id);
        id
    }

    /// The terms in use by name, and for each term number its place in that order.
    fn in_order(&self) -> (Vec<TermId>, Vec<TermId>) {
        let mut order: Vec<TermId> = self.ids.values().copied().collect();
        order.sort_unstable_by(|&a, &b| self.names[a as usize].cmp(&self.names[b as usize]));
        let mut places = vec![0; self.names.len()];
        for (place, &id) in order.iter().enumerate() {
            places[id as usize] = place as TermId;
        }
        (order, places)
    }

    fn count_out(&mut self, id: TermId) {
        let frequency = &mut self.frequencies[id as usize];
        *frequency -= 1;
        if *frequency == 0 {
            self.ids.remove(&self.names[id as usize]);
            self.names[id as usize] = Box::default();
            self.free.push(id);
            self.live -= 1;
        }
    }
}
