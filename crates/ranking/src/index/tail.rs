use super::dictionary::TermId;
use crate::Slot;
use crate::numbers::NumberMap;

/// The newest documents' postings, mutable.
#[derive(Debug, Clone, Default)]
pub(super) struct Tail {
    lists: NumberMap<TermId, List>,
    /// Documents in it.
    pub(super) live: usize,
}

/// The documents that contain one term, by slot, and bounds over them (which a removal leaves
/// unchanged).
#[derive(Debug, Clone)]
pub(super) struct List {
    pub(super) postings: Vec<(Slot, u32)>,
    pub(super) count_max: u32,
    pub(super) length_min: u32,
}

impl Tail {
    /// Adds a new document.
    pub(super) fn insert(&mut self, slot: Slot, postings: &[(TermId, u32, bool)], length: u32) {
        self.live += 1;
        for &(term, count, _) in postings {
            let list = self.lists.entry(term).or_insert(List {
                postings: Vec::new(),
                count_max: 0,
                length_min: u32::MAX,
            });
            list.count_max = list.count_max.max(count);
            list.length_min = list.length_min.min(length);
            // Slots mostly arrive in order.
            let at = match list.postings.last() {
                Some(&(last, _)) if last > slot => {
                    list.postings.partition_point(|&(other, _)| other < slot)
                }
                _ => list.postings.len(),
            };
            list.postings.insert(at, (slot, count));
        }
    }

    /// Removes a document, given its terms.
    pub(super) fn remove(&mut self, slot: Slot, terms: impl Iterator<Item = TermId>) {
        self.live -= 1;
        for term in terms {
            let Some(list) = self.lists.get_mut(&term) else { continue };
            if let Ok(at) = list.postings.binary_search_by_key(&slot, |&(slot, _)| slot) {
                list.postings.remove(at);
                if list.postings.is_empty() {
                    self.lists.remove(&term);
                }
            }
        }
    }

    pub(super) fn list(&self, term: TermId) -> Option<&List> {
        self.lists.get(&term)
    }

    pub(super) fn terms(&self) -> impl Iterator<Item = TermId> + '_ {
        self.lists.keys().copied()
    }

    /// Approximate memory use.
    pub(super) fn memory(&self) -> usize {
        self.lists.values().map(|list| 48 + list.postings.capacity() * 8).sum()
    }
}
