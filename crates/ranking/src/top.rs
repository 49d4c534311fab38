use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{Hit, Slot};

/// Collects the best `k` of the offered hits: highest key first, then lowest id.
#[derive(Debug)]
pub(crate) struct Top {
    k: usize,
    /// The worst hit is on top.
    heap: BinaryHeap<Entry>,
}

/// Ordered so that the worse hit is the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    key: Reverse<u32>,
    id: u64,
    part: u32,
    slot: Slot,
}

impl Top {
    pub(crate) fn new(k: usize) -> Self {
        Self { k, heap: BinaryHeap::new() }
    }

    /// Hits with a lower key cannot enter; hits with this key can, depending on the id.
    #[inline]
    pub(crate) fn key_min(&self) -> u32 {
        if self.heap.len() < self.k {
            0
        } else {
            self.heap.peek().map_or(u32::MAX, |worst| worst.key.0)
        }
    }

    pub(crate) fn offer(&mut self, key: u32, id: u64, part: u32, slot: Slot) {
        let entry = Entry { key: Reverse(key), id, part, slot };
        if self.heap.len() < self.k {
            self.heap.push(entry);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && entry < *worst
        {
            *worst = entry;
        }
    }

    /// The hits in order of rank; `score` converts keys to scores.
    pub(crate) fn into_hits(self, score: impl Fn(u32) -> f32) -> Vec<Hit> {
        // Faster than taking them from the heap one by one.
        let mut entries = self.heap.into_vec();
        entries.sort_unstable();
        entries
            .into_iter()
            .map(|entry| Hit {
                id: entry.id,
                part: entry.part,
                slot: entry.slot,
                score: score(entry.key.0),
            })
            .collect()
    }
}
