use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{Hit, Slot};

/// The best `k` of what is offered: the highest key first, then the lowest id.
#[derive(Debug)]
pub(crate) struct Top {
    k: usize,
    /// The worst of them is on top.
    heap: BinaryHeap<Entry>,
}

/// Ordered so that the worse is the greater.
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

    /// What has a lower key cannot get in; what has this key can, by its id.
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

    /// The hits in order of rank; `score` says what a key stands for.
    pub(crate) fn into_hits(self, score: impl Fn(u32) -> f32) -> Vec<Hit> {
        let entries = self.heap.into_sorted_vec().into_iter();
        entries
            .map(|entry| Hit {
                id: entry.id,
                part: entry.part,
                slot: entry.slot,
                score: score(entry.key.0),
            })
            .collect()
    }
}
