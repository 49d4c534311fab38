use std::collections::HashMap;

use super::TermId;
use crate::Slot;

/// The newest documents' postings, open to change.
#[derive(Debug, Clone, Default)]
pub(super) struct Tail {
    lists: HashMap<TermId, List>,
}

/// The documents that have one term, by slot, and bounds over them (which a removal leaves as they are).
#[derive(Debug, Clone)]
pub(super) struct List {
    pub(super) postings: Vec<(Slot, u32)>,
    pub(super) count_max: u32,
    pub(super) length_min: u32,
}

impl Tail {
    pub(super) fn insert(&mut self, slot: Slot, postings: &[(TermId, u32, bool)], length: u32) {
        for &(term, count, _) in postings {
            let list = self.lists.entry(term).or_insert(List {
                postings: Vec::new(),
                count_max: 0,
                length_min: u32::MAX,
            });
            list.count_max = list.count_max.max(count);
            list.length_min = list.length_min.min(length);
            let at = list.postings.partition_point(|&(other, _)| other < slot);
            list.postings.insert(at, (slot, count));
        }
    }

    pub(super) fn remove(&mut self, slot: Slot, term: TermId) {
        let Some(list) = self.lists.get_mut(&term) else { return };
        if let Ok(at) = list.postings.binary_search_by_key(&slot, |&(slot, _)| slot) {
            list.postings.remove(at);
            if list.postings.is_empty() {
                self.lists.remove(&term);
            }
        }
    }

    pub(super) fn list(&self, term: TermId) -> Option<&List> {
        self.lists.get(&term)
    }
}
