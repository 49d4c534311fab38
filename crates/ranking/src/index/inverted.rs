use super::dictionary::{Dictionary, TermId};
use super::forward::Forward;
use super::sealed::{Home, NOWHERE, Sealed};
use super::tail::Tail;
use crate::bm25::Collection;
use crate::{Document, Slot};

/// The most documents of the open part before it is sealed: few enough that scoring it in full is
/// cheap, enough that sealing pays off.
pub(super) const TAIL_DOCUMENTS_MAX: usize = 1024;

/// An inverted index of one space: which documents contain which terms how often.
///
/// Counts (documents, document frequencies, lengths) are integers that every insert and remove
/// keeps exact. Contents are not stored.
#[derive(Debug, Clone)]
pub struct TextIndex {
    pub(super) dictionary: Dictionary,
    pub(super) forward: Vec<Option<Forward>>,
    pub(super) lengths: Vec<u32>,
    pub(super) homes: Vec<Home>,
    /// Whether a document's title has terms.
    pub(super) titled: Vec<bool>,
    pub(super) collection: Collection,
    pub(super) tail: Tail,
    pub(super) tail_home: Home,
    pub(super) sealed: Vec<Sealed>,
    pub(super) homes_given: Home,
    pub(super) tail_documents_max: usize,
}

/// The size of an index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Documents.
    pub documents: u64,
    /// Distinct terms that at least one document has.
    pub terms: u64,
    /// The sum of the documents' lengths.
    pub length_total: u64,
    /// Approximate memory use.
    pub bytes: u64,
}

impl Default for TextIndex {
    fn default() -> Self {
        Self {
            dictionary: Dictionary::default(),
            forward: Vec::new(),
            lengths: Vec::new(),
            homes: Vec::new(),
            titled: Vec::new(),
            collection: Collection::default(),
            tail: Tail::default(),
            tail_home: NOWHERE + 1,
            sealed: Vec::new(),
            homes_given: NOWHERE + 1,
            tail_documents_max: TAIL_DOCUMENTS_MAX,
        }
    }
}

impl TextIndex {
    /// Sets the most documents of the open part before maintenance seals it; default 1,024. It
    /// affects only speed.
    #[must_use]
    pub fn with_tail_documents_max(mut self, documents_max: usize) -> Self {
        self.tail_documents_max = documents_max.max(1);
        self
    }

    /// Indexes a document; replaces the one in the slot, if any.
    pub fn insert(&mut self, slot: Slot, document: &Document) {
        self.remove(slot);
        if self.forward.len() <= slot as usize {
            self.forward.resize_with(slot as usize + 1, || None);
            self.lengths.resize(slot as usize + 1, 0);
            self.homes.resize(slot as usize + 1, NOWHERE);
            self.titled.resize(slot as usize + 1, false);
        }
        let mut postings: Vec<(TermId, u32, bool)> = document
            .terms
            .iter()
            .map(|term| (self.dictionary.count_in(&term.term), term.count, term.in_title))
            .collect();
        postings.sort_unstable();
        for &(term, _, _) in postings.iter().filter(|posting| posting.2) {
            self.dictionary.count_title(term);
        }
        self.tail.insert(slot, &postings, document.length);
        self.lengths[slot as usize] = document.length;
        self.homes[slot as usize] = self.tail_home;
        self.titled[slot as usize] = postings.iter().any(|&(_, _, in_title)| in_title);
        self.collection.documents += 1;
        self.collection.length_total += u64::from(document.length);
        self.forward[slot as usize] = Some(Forward::new(&postings));
    }

    /// Removes the document in a slot; false if there is none.
    pub fn remove(&mut self, slot: Slot) -> bool {
        let Some(forward) = self.forward.get_mut(slot as usize).and_then(Option::take) else {
            return false;
        };
        let home = std::mem::replace(&mut self.homes[slot as usize], NOWHERE);
        if home == self.tail_home {
            self.tail.remove(slot, forward.iter().map(|(term, _, _)| term));
        } else if let Some(part) = self.sealed.iter_mut().find(|part| part.home == home) {
            part.live -= 1;
        }
        for (term, _, in_title) in forward.iter() {
            if in_title {
                self.dictionary.count_title_out(term);
            }
            self.dictionary.count_out(term);
        }
        self.collection.documents -= 1;
        self.collection.length_total -= u64::from(self.lengths[slot as usize]);
        true
    }

    /// Whether a slot has a document.
    pub fn contains(&self, slot: Slot) -> bool {
        self.forward(slot).is_some()
    }

    /// The size of the index.
    pub fn stats(&self) -> Stats {
        Stats {
            documents: self.collection.documents,
            terms: self.dictionary.live() as u64,
            length_total: self.collection.length_total,
            bytes: self.memory() as u64,
        }
    }

    /// A home that no part of the index has had before.
    pub(super) fn next_home(&mut self) -> Home {
        self.homes_given += 1;
        self.homes_given
    }

    fn memory(&self) -> usize {
        let forward: usize =
            self.forward.iter().flatten().map(|forward| forward.as_bytes().len() + 16).sum();
        let sealed: usize = self.sealed.iter().map(|part| part.postings.memory()).sum();
        forward + self.dictionary.memory() + sealed + self.tail.memory() + self.forward.len() * 25
    }

    pub(super) fn forward(&self, slot: Slot) -> Option<&Forward> {
        self.forward.get(slot as usize).and_then(Option::as_ref)
    }
}
