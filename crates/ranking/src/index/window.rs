use super::cursor::Cursor;
use super::pruned::{Place, optional};
use super::search::TextSearch;
use crate::Slot;
use crate::top::Top;

/// Slots in a window. Its sums fit in the first-level cache.
const WINDOW: usize = 4096;

/// A list with more blocks in a window than these uses the whole list's bound there.
const BOUND_BLOCKS_MAX: usize = 4;

/// Sums by slot of the window, and which of them are set.
pub(super) struct Window {
    sums: Box<[u32; WINDOW]>,
    set: [u64; WINDOW / 64],
    candidates: Vec<(Slot, u32)>,
    /// The lists that have postings in the window, by bound.
    order: Vec<usize>,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            sums: Box::new([0; WINDOW]),
            set: [0; WINDOW / 64],
            candidates: Vec::new(),
            order: Vec::new(),
        }
    }
}

impl TextSearch<'_> {
    /// Searches a window of slots from `base`; returns its last slot.
    pub(super) fn search_window(
        &self,
        place: Place,
        base: Slot,
        cursors: &mut [Cursor<'_>],
        top: &mut Top,
        window: &mut Window,
    ) -> Slot {
        let last = base.saturating_add(WINDOW as u32 - 1);
        window.order.clear();
        for (at, cursor) in cursors.iter_mut().enumerate() {
            if self.enter(cursor, base, last) {
                window.order.push(at);
            }
        }
        let Window { sums, set, candidates, order } = window;
        order.sort_unstable_by_key(|&at| (cursors[at].bound, at));
        let least = top.key_min();
        let (count, mut bound) = optional(order.iter().map(|&at| cursors[at].bound), least);
        let (optional, required) = order.split_at(count);
        let lengths = &self.parts[place.part].index.lengths;
        for &at in required {
            // A single list can skip blocks; several may reach the bound together.
            let least = if required.len() == 1 { least.saturating_sub(bound) } else { 0 };
            cursors[at].for_each_within(
                (base, last),
                least,
                &self.scorer,
                lengths,
                |slot, units| {
                    let offset = (slot - base) as usize % WINDOW;
                    sums[offset] += units;
                    set[offset / 64] |= 1 << (offset % 64);
                },
            );
        }
        candidates.clear();
        self.gather(place, base, least.saturating_sub(bound), (sums, set), candidates);
        for &at in optional.iter().rev() {
            let cursor = &mut cursors[at];
            let missing = least.saturating_sub(bound);
            candidates.retain_mut(|(slot, units)| {
                if *units < missing {
                    return false;
                }
                let count = cursor.count(*slot);
                if count > 0 {
                    *units += self.scorer.units(cursor.term, count, lengths[*slot as usize]);
                }
                true
            });
            bound -= cursor.bound;
        }
        for &(slot, units) in &*candidates {
            if units >= top.key_min()
                && let Some(id) = self.parts[place.part].slots.id(slot)
            {
                top.offer(units, id, place.part as u32, slot);
            }
        }
        last
    }

    /// Moves a cursor to a window; false if the window contains nothing.
    fn enter(&self, cursor: &mut Cursor<'_>, base: Slot, last: Slot) -> bool {
        cursor.block = cursor.postings.block_of(cursor.block, base);
        let is_within =
            |block: usize| block < cursor.blocks && cursor.postings.first(block) <= last;
        cursor.bound = if is_within(cursor.block + BOUND_BLOCKS_MAX) {
            cursor.most
        } else {
            let blocks = (cursor.block..).take_while(|&block| is_within(block));
            blocks.map(|block| cursor.bound_of(block, &self.scorer)).max().unwrap_or(0)
        };
        is_within(cursor.block)
    }

    /// Collects the sums of the window: those of at least `least` whose documents are current and
    /// pass the filter become candidates.
    fn gather(
        &self,
        place: Place,
        base: Slot,
        least: u32,
        (sums, set): (&mut [u32; WINDOW], &mut [u64; WINDOW / 64]),
        candidates: &mut Vec<(Slot, u32)>,
    ) {
        for (word, bits) in set.iter_mut().enumerate() {
            let mut rest = std::mem::take(bits);
            while rest != 0 {
                let offset = word * 64 + rest.trailing_zeros() as usize;
                rest &= rest - 1;
                let units = std::mem::take(&mut sums[offset % WINDOW]);
                let slot = base + offset as Slot;
                if units >= least && self.counts(place, slot) {
                    candidates.push((slot, units));
                }
            }
        }
    }
}
