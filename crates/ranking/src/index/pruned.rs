//! The best `k` without scoring every document: MaxScore over windows of slots.
//!
//! Howard Turtle, James Flood: *Query Evaluation: Strategies and Optimizations*, 1995 (MaxScore);
//! Shuai Ding, Torsten Suel: *Faster Top-k Document Retrieval Using Block-Max Indexes*, 2011 (bounds by
//! block). In each window the lists are ordered by what they can add at most there. Those that together
//! cannot reach the worst of the best `k` so far bring no new candidates; they are only asked about the
//! candidates of the others.
//!
//! Scores and bounds are whole units (see `bm25`), so that the order of summing does not matter and a
//! bound that is below by one unit is below.

use super::Home;
use super::search::TextSearch;
use super::segment::{Postings, Unpacked};
use crate::Slot;
use crate::bm25::Scorer;
use crate::top::Top;

/// Slots in a window. Its sums fit in the first-level cache.
const WINDOW: usize = 4096;

/// One part's postings for the query, and where they are read.
struct Cursor<'a> {
    term: usize,
    postings: Postings<'a>,
    blocks: usize,
    /// The first block that does not end before the window.
    block: usize,
    /// The block that is unpacked.
    unpacked_block: usize,
    unpacked: Unpacked,
    /// Where the last slot was looked up.
    at: usize,
    /// In the window: no document gets more.
    bound: u32,
}

/// Sums by slot of the window, and which of them are set.
struct Window {
    sums: Box<[u32; WINDOW]>,
    set: [u64; WINDOW / 64],
    candidates: Vec<(Slot, u32)>,
    /// The best of all windows so far.
    top: Top,
}

/// Where a list of lists lies: what tells current postings from old ones, and whose hits they become.
#[derive(Clone, Copy)]
struct Place {
    part: usize,
    /// None where every posting is current.
    home: Option<Home>,
}

impl TextSearch<'_> {
    /// The `k` best documents that have at least one of the terms, best first, ties by id. Every
    /// document gets the score that it would get without pruning, and the same ones are found.
    pub fn top(&self, k: usize) -> Vec<crate::Hit> {
        if k == 0 {
            return Vec::new();
        }
        let mut window = Window {
            sums: Box::new([0; WINDOW]),
            set: [0; WINDOW / 64],
            candidates: Vec::new(),
            top: Top::new(k),
        };
        for part in 0..self.parts.len() {
            let index = self.parts[part].index;
            for sealed in &index.sealed {
                let lists = self.lists(part, |term| sealed.postings.list(term));
                self.search_lists(Place { part, home: Some(sealed.home) }, lists, &mut window);
            }
            let lists = self.lists(part, |term| index.tail.list(term).map(Postings::Open));
            self.search_lists(Place { part, home: None }, lists, &mut window);
        }
        window.top.into_hits(|units| self.scorer.score(units))
    }

    fn search_lists(&self, place: Place, lists: Vec<(usize, Postings<'_>)>, window: &mut Window) {
        let mut cursors: Vec<Cursor<'_>> =
            lists.into_iter().map(|(term, postings)| Cursor::new(term, postings)).collect();
        let mut order: Vec<usize> = Vec::with_capacity(cursors.len());
        let mut start = cursors.iter().filter_map(|cursor| cursor.next_slot(0)).min();
        while let Some(base) = start {
            let last = base.saturating_add(WINDOW as u32 - 1);
            order.clear();
            for (at, cursor) in cursors.iter_mut().enumerate() {
                if cursor.enter(base, last, &self.scorer) {
                    order.push(at);
                }
            }
            order.sort_unstable_by_key(|&at| (cursors[at].bound, at));
            self.search_window(place, base, &mut cursors, &order, window);
            start = match last.checked_add(1) {
                None => None,
                Some(next) => cursors.iter().filter_map(|cursor| cursor.next_slot(next)).min(),
            };
        }
    }

    /// `order`: the cursors that have postings in the window, by bound.
    fn search_window(
        &self,
        place: Place,
        base: Slot,
        cursors: &mut [Cursor<'_>],
        order: &[usize],
        window: &mut Window,
    ) {
        let key_min = window.top.key_min();
        let (mut optional, mut optional_bound) = (0, 0);
        for &at in order {
            if optional_bound + cursors[at].bound >= key_min {
                break;
            }
            optional_bound += cursors[at].bound;
            optional += 1;
        }
        let (optional, required) = order.split_at(optional);
        let lengths = &self.parts[place.part].index.lengths;
        for &at in required {
            // A list that is alone can leave out blocks; several may reach the bound together.
            let skip_below =
                if required.len() == 1 { key_min.saturating_sub(optional_bound) } else { 0 };
            cursors[at].add_up(base, skip_below, window, &self.scorer, lengths);
        }
        self.gather(place, base, key_min.saturating_sub(optional_bound), window);
        for &at in optional.iter().rev() {
            let bound = cursors[at].bound;
            let cursor = &mut cursors[at];
            let least = key_min.saturating_sub(optional_bound);
            cursor.rewind();
            window.candidates.retain_mut(|(slot, units)| {
                if *units < least {
                    return false;
                }
                if let Some(count) = cursor.count(*slot) {
                    *units += self.scorer.units(cursor.term, count, lengths[*slot as usize]);
                }
                true
            });
            optional_bound -= bound;
        }
        let Window { candidates, top, .. } = window;
        for &(slot, units) in &*candidates {
            if units >= top.key_min()
                && let Some(id) = self.parts[place.part].slots.id(slot)
            {
                top.offer(units, id, place.part as u32, slot);
            }
        }
    }

    /// Takes the sums out of the window: those from `least` on whose documents are current and let
    /// through become candidates.
    fn gather(&self, place: Place, base: Slot, least: u32, window: &mut Window) {
        let part = &self.parts[place.part];
        window.candidates.clear();
        for (word, bits) in window.set.iter_mut().enumerate() {
            let mut rest = std::mem::take(bits);
            while rest != 0 {
                let offset = word * 64 + rest.trailing_zeros() as usize;
                rest &= rest - 1;
                let units = std::mem::take(&mut window.sums[offset]);
                if units < least {
                    continue;
                }
                let slot = base + offset as Slot;
                let current = place.home.is_none_or(|home| part.index.homes[slot as usize] == home);
                if current && part.filter.is_none_or(|filter| filter(slot)) {
                    window.candidates.push((slot, units));
                }
            }
        }
    }
}

impl<'a> Cursor<'a> {
    fn new(term: usize, postings: Postings<'a>) -> Self {
        Self {
            term,
            blocks: postings.blocks(),
            postings,
            block: 0,
            unpacked_block: usize::MAX,
            unpacked: Unpacked::default(),
            at: 0,
            bound: 0,
        }
    }

    /// A slot that is not behind its next posting from `start` on; none after its end.
    fn next_slot(&self, start: Slot) -> Option<Slot> {
        let block = (self.block..self.blocks).find(|&block| self.postings.last(block) >= start)?;
        Some(self.postings.first(block).max(start))
    }

    /// Moves to a window; false if there is nothing in it.
    fn enter(&mut self, base: Slot, last: Slot, scorer: &Scorer) -> bool {
        while self.block < self.blocks && self.postings.last(self.block) < base {
            self.block += 1;
        }
        self.bound = 0;
        let mut block = self.block;
        while block < self.blocks && self.postings.first(block) <= last {
            self.bound = self.bound.max(self.bound_of(block, scorer));
            block += 1;
        }
        block > self.block
    }

    fn bound_of(&self, block: usize, scorer: &Scorer) -> u32 {
        let (count_max, length_min) = self.postings.bounds(block);
        scorer.units_max(self.term, count_max, length_min)
    }

    fn unpack(&mut self, block: usize) {
        if self.unpacked_block != block {
            self.postings.unpack(block, &mut self.unpacked);
            self.unpacked_block = block;
        }
    }

    /// Adds its postings of the window to the sums, but for blocks that stay below `skip_below`.
    fn add_up(
        &mut self,
        base: Slot,
        skip_below: u32,
        window: &mut Window,
        scorer: &Scorer,
        lengths: &[u32],
    ) {
        let last = base.saturating_add(WINDOW as u32 - 1);
        let mut block = self.block;
        while block < self.blocks && self.postings.first(block) <= last {
            if skip_below == 0 || self.bound_of(block, scorer) >= skip_below {
                self.unpack(block);
                let unpacked = &self.unpacked;
                for (&slot, &count) in
                    unpacked.slots[..unpacked.len].iter().zip(&unpacked.counts[..unpacked.len])
                {
                    let offset = slot.wrapping_sub(base) as usize;
                    if offset < WINDOW {
                        let units = scorer.units(self.term, count, lengths[slot as usize]);
                        window.sums[offset] += units;
                        window.set[offset / 64] |= 1 << (offset % 64);
                    }
                }
            }
            block += 1;
        }
    }

    /// Lets [`count`](Self::count) begin at the window's start again.
    fn rewind(&mut self) {
        self.at = 0;
    }

    /// How often a document has the term. To be asked in order of slots within a window.
    fn count(&mut self, slot: Slot) -> Option<u32> {
        while self.block < self.blocks && self.postings.last(self.block) < slot {
            self.block += 1;
        }
        if self.block == self.blocks || self.postings.first(self.block) > slot {
            return None;
        }
        if self.unpacked_block != self.block {
            self.unpack(self.block);
            self.at = 0;
        }
        let rest = &self.unpacked.slots[self.at..self.unpacked.len];
        self.at += rest.partition_point(|&other| other < slot);
        let found = self.at < self.unpacked.len && self.unpacked.slots[self.at] == slot;
        found.then(|| self.unpacked.counts[self.at])
    }
}
