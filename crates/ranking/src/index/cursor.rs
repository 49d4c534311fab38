use super::segment::{Postings, Unpacked};
use crate::Slot;
use crate::bm25::Scorer;

/// After the last posting: every slot is smaller.
pub(super) const END: u64 = u64::MAX;

/// Lists with at least this many blocks precompute the scores of common postings.
const TABLE_BLOCKS_MIN: usize = 32;

/// One part's postings of a query term, and the read position.
pub(super) struct Cursor<'a> {
    pub(super) term: usize,
    pub(super) postings: Postings<'a>,
    pub(super) blocks: usize,
    /// The upper bound of a document's contribution.
    pub(super) most: u32,
    /// The first block that does not end before the read position.
    pub(super) block: usize,
    /// The block that is unpacked.
    unpacked_block: usize,
    pub(super) unpacked: Unpacked,
    /// The position of the current posting in the unpacked block.
    at: usize,
    /// The slot of the current posting; [`END`] after the last.
    pub(super) slot: u64,
    /// The upper bounds in the unpacked block: for any document, and for documents that contain the
    /// term once.
    block_most: u32,
    block_most_once: u32,
    /// In a window: the upper bound of a document's contribution.
    pub(super) bound: u32,
    /// The term count of the last probed document.
    pub(super) probed: u32,
    /// The block whose bounds are cached; `block_most` is its.
    probed_block: usize,
    /// The block of the last lookup.
    asked_block: usize,
    table: Option<Box<Table>>,
}

/// By count from 1 and by length: the contribution of a posting.
struct Table([[u32; 256]; 2]);

impl<'a> Cursor<'a> {
    pub(super) fn new(term: usize, postings: Postings<'a>, most: u32) -> Self {
        Self {
            term,
            blocks: postings.blocks(),
            postings,
            most,
            block: 0,
            unpacked_block: usize::MAX,
            unpacked: Unpacked::default(),
            at: 0,
            slot: 0,
            block_most: 0,
            block_most_once: 0,
            bound: 0,
            probed: 0,
            probed_block: usize::MAX,
            asked_block: usize::MAX,
            table: None,
        }
    }

    /// Moves to another list.
    pub(super) fn begin(&mut self, term: usize, postings: Postings<'a>, most: u32) {
        self.term = term;
        self.blocks = postings.blocks();
        self.postings = postings;
        self.most = most;
        self.block = 0;
        self.unpacked_block = usize::MAX;
        // The unpacked data stays as it is: clearing it would cost as much as a short list.
        self.unpacked.len = 0;
        self.at = 0;
        self.slot = 0;
        self.probed_block = usize::MAX;
        self.asked_block = usize::MAX;
        self.table = None;
    }

    /// The number of postings, and how many slots they span.
    pub(super) fn extent(&self) -> (u64, u64) {
        match self.blocks {
            0 => (0, 0),
            blocks => {
                let spread = self.postings.last(blocks - 1) - self.postings.first(0);
                (self.postings.len() as u64, u64::from(spread) + 1)
            }
        }
    }

    /// A slot not after its next posting from `start` on; none after its end.
    pub(super) fn next_slot(&self, start: Slot) -> Option<Slot> {
        let block = self.postings.block_of(self.block, start);
        (block < self.blocks).then(|| self.postings.first(block).max(start))
    }

    /// The upper bound of a document's contribution in a block.
    pub(super) fn bound_of(&self, block: usize, scorer: &Scorer) -> u32 {
        let (count_max, length_min) = self.postings.bounds(block);
        scorer.units_max(self.term, count_max, length_min)
    }

    pub(super) fn unpack(&mut self, block: usize) {
        if self.unpacked_block != block {
            self.postings.unpack(block, &mut self.unpacked);
            self.unpacked_block = block;
            self.at = 0;
        }
    }

    /// Moves to the first posting from `start` on, skipping blocks whose bound is below `least`.
    pub(super) fn seek(&mut self, start: Slot, least: u32, scorer: &Scorer) {
        self.block = self.postings.block_of(self.block, start);
        self.enter_block(least, scorer);
        while self.slot < u64::from(start) {
            self.advance(least, scorer);
        }
    }

    /// Moves to the next posting, skipping blocks whose bound is below `least`.
    #[inline]
    pub(super) fn advance(&mut self, least: u32, scorer: &Scorer) {
        self.at += 1;
        if self.at < self.unpacked.len {
            self.slot = u64::from(self.unpacked.slots[self.at]);
        } else {
            self.block += 1;
            self.enter_block(least, scorer);
        }
    }

    fn enter_block(&mut self, least: u32, scorer: &Scorer) {
        while self.block < self.blocks {
            self.block_most = self.bound_of(self.block, scorer);
            if self.block_most >= least {
                let (_, length_min) = self.postings.bounds(self.block);
                self.block_most_once = scorer.units_max(self.term, 1, length_min);
                self.unpack(self.block);
                self.at = 0;
                self.slot = u64::from(self.unpacked.slots[0]);
                return;
            }
            self.block += 1;
        }
        self.slot = END;
    }

    /// The term count of the current posting's document.
    #[inline]
    pub(super) fn present_count(&self) -> u32 {
        self.unpacked.counts[self.at]
    }

    /// The upper bound of the current posting's contribution, known without its document's length.
    #[inline]
    pub(super) fn present_most(&self) -> u32 {
        if self.present_count() == 1 { self.block_most_once } else { self.block_most }
    }

    /// Looks up a document's term count if it matters: if the current block's bound added to `most`
    /// reaches `least`. Returns the upper bound of its contribution. Must be called in slot order.
    pub(super) fn probe(&mut self, slot: Slot, (most, least): (u32, u32), scorer: &Scorer) -> u32 {
        self.probed = 0;
        self.block = self.postings.block_of(self.block, slot);
        if self.block == self.blocks || self.postings.first(self.block) > slot {
            return 0;
        }
        if self.probed_block != self.block {
            self.probed_block = self.block;
            let (count_max, length_min) = self.postings.bounds(self.block);
            self.block_most = scorer.units_max(self.term, count_max, length_min);
            self.block_most_once = scorer.units_max(self.term, 1, length_min);
        }
        if most + self.block_most < least {
            return 0;
        }
        self.probed = self.look_up(slot);
        match self.probed {
            0 => 0,
            1 => self.block_most_once,
            _ => self.block_most,
        }
    }

    /// A document's term count, 0 without the term. Must be called in slot order.
    pub(super) fn count(&mut self, slot: Slot) -> u32 {
        self.block = self.postings.block_of(self.block, slot);
        if self.block == self.blocks { 0 } else { self.look_up(slot) }
    }

    /// The count in the current block. A block used for one lookup is not unpacked.
    fn look_up(&mut self, slot: Slot) -> u32 {
        if self.asked_block != self.block {
            self.asked_block = self.block;
            return self.postings.count_in(self.block, slot);
        }
        self.unpack(self.block);
        let rest = &self.unpacked.slots[self.at..self.unpacked.len];
        self.at += rest.iter().take_while(|&&it| it < slot).count();
        let found = self.at < self.unpacked.len && self.unpacked.slots[self.at] == slot;
        if found { self.unpacked.counts[self.at] } else { 0 }
    }

    /// Calls `each` with the slot and the contribution of every posting in `base..=last`, skipping
    /// blocks whose bound is below `least`.
    pub(super) fn for_each_within(
        &mut self,
        (base, last): (Slot, Slot),
        least: u32,
        scorer: &Scorer,
        lengths: &[u32],
        mut each: impl FnMut(Slot, u32),
    ) {
        if self.table.is_none() && self.blocks >= TABLE_BLOCKS_MIN {
            self.table = Some(Table::new(self.term, scorer));
        }
        let mut block = self.block;
        while block < self.blocks && self.postings.first(block) <= last {
            if least == 0 || self.bound_of(block, scorer) >= least {
                self.unpack(block);
                let slots = &self.unpacked.slots[..self.unpacked.len];
                let from =
                    if slots[0] >= base { 0 } else { slots.partition_point(|&slot| slot < base) };
                let end = if slots[slots.len() - 1] <= last {
                    slots.len()
                } else {
                    slots.partition_point(|&slot| slot <= last)
                };
                let counts = &self.unpacked.counts[from..end];
                for (&slot, &count) in slots[from..end].iter().zip(counts) {
                    let length = lengths[slot as usize];
                    let known = self.table.as_ref().and_then(|table| table.units(count, length));
                    each(slot, known.unwrap_or_else(|| scorer.units(self.term, count, length)));
                }
            }
            block += 1;
        }
    }
}

impl Table {
    fn new(term: usize, scorer: &Scorer) -> Box<Self> {
        let units = |count| std::array::from_fn(|length| scorer.units(term, count, length as u32));
        Box::new(Self([units(1), units(2)]))
    }

    #[inline]
    fn units(&self, count: u32, length: u32) -> Option<u32> {
        let by_length = self.0.get(count.wrapping_sub(1) as usize)?;
        by_length.get(length as usize).copied()
    }
}
