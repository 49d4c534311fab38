use super::dictionary::TermId;
use super::tail::List;
use crate::Slot;

/// Postings in a block.
pub(super) const BLOCK: usize = 128;

/// Term numbers in a group.
const TERMS_GROUP: usize = 64;

/// Immutable postings, by term, in blocks.
#[derive(Debug, Default)]
pub(super) struct Segment {
    /// Every document that it was built from, sorted.
    pub(super) slots: Vec<Slot>,
    terms: Vec<TermId>,
    /// By term number divided by [`TERMS_GROUP`]: where its group starts in `terms`; one more at
    /// the end. Most lookups then touch two cache lines.
    groups: Vec<u32>,
    /// By term: its first block; one more at the end.
    starts: Vec<u32>,
    /// By term: no posting has a higher count or a shorter document.
    bounds: Vec<(u32, u32)>,
    blocks: Vec<Block>,
    bytes: Vec<u8>,
}

/// Up to 128 postings of a term, by slot. Slots are stored as offsets from the first one, counts
/// unchanged, both in as few whole bytes as the block needs: decoding is only widening.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    first: Slot,
    last: Slot,
    offset: u32,
    /// Bounds that hold for any average length.
    count_max: u32,
    length_min: u32,
    /// One less than the number of postings.
    len_less_one: u8,
    /// Bytes for a slot (1, 2, 4) and for a count (0 if all are 1).
    widths: (u8, u8),
}

impl Segment {
    /// The postings of a term.
    pub(super) fn list(&self, term: TermId) -> Option<Postings<'_>> {
        let group = term as usize / TERMS_GROUP;
        let (&start, &end) = (self.groups.get(group)?, self.groups.get(group + 1)?);
        let at = self.terms[start as usize..end as usize].binary_search(&term).ok()?;
        Some(self.list_at(start as usize + at))
    }

    pub(super) fn terms(&self) -> &[TermId] {
        &self.terms
    }

    pub(super) fn list_at(&self, at: usize) -> Postings<'_> {
        let blocks = &self.blocks[self.starts[at] as usize..self.starts[at + 1] as usize];
        Postings::Packed { blocks, bytes: &self.bytes, bounds: self.bounds[at] }
    }

    /// Adds the postings of the next term, sorted by slot.
    pub(super) fn push(
        &mut self,
        term: TermId,
        postings: &[(Slot, u32)],
        length: impl Fn(Slot) -> u32,
    ) {
        let group = term as usize / TERMS_GROUP;
        // Groups up to its own start here, unless they have already started.
        let place = self.terms.len() as u32;
        if self.groups.len() <= group + 1 {
            self.groups.resize(group + 1, place);
            self.groups.push(place);
        }
        self.groups[group + 1] = place + 1;
        self.terms.push(term);
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        let mut bounds = (0, u32::MAX);
        for chunk in postings.chunks(BLOCK) {
            let (first, last) = (chunk[0].0, chunk[chunk.len() - 1].0);
            let count_max = chunk.iter().map(|&(_, count)| count).max().unwrap_or(0);
            let length_min = chunk.iter().map(|&(slot, _)| length(slot)).min().unwrap_or(0);
            bounds = (bounds.0.max(count_max), bounds.1.min(length_min));
            let widths = (
                width(last - first),
                if chunk.iter().all(|&(_, count)| count == 1) { 0 } else { width(count_max) },
            );
            self.blocks.push(Block {
                first,
                last,
                offset: u32::try_from(self.bytes.len()).expect("a segment is below 4 GiB"),
                count_max,
                length_min,
                len_less_one: (chunk.len() - 1) as u8,
                widths,
            });
            push_all(&mut self.bytes, widths.0, chunk.iter().map(|&(slot, _)| slot - first));
            push_all(&mut self.bytes, widths.1, chunk.iter().map(|&(_, count)| count));
        }
        self.bounds.push(bounds);
        self.starts
            .push(u32::try_from(self.blocks.len()).expect("a segment has below 2^32 blocks"));
    }

    pub(super) fn shrink(&mut self) {
        self.terms.shrink_to_fit();
        self.groups.shrink_to_fit();
        self.starts.shrink_to_fit();
        self.bounds.shrink_to_fit();
        self.blocks.shrink_to_fit();
        self.bytes.shrink_to_fit();
        self.slots.shrink_to_fit();
    }

    pub(super) fn memory(&self) -> usize {
        self.slots.len() * 4
            + self.terms.len() * 4
            + (self.starts.len() + self.groups.len()) * 4
            + self.bounds.len() * 8
            + self.blocks.len() * size_of::<Block>()
            + self.bytes.len()
    }
}

fn width(value_max: u32) -> u8 {
    match value_max {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        _ => 4,
    }
}

fn push_all(bytes: &mut Vec<u8>, width: u8, values: impl Iterator<Item = u32>) {
    if width > 0 {
        for value in values {
            bytes.extend(&value.to_le_bytes()[..usize::from(width)]);
        }
    }
}

/// The postings of one term in one part, in blocks.
#[derive(Debug, Clone, Copy)]
pub(super) enum Postings<'a> {
    Packed { blocks: &'a [Block], bytes: &'a [u8], bounds: (u32, u32) },
    Open(&'a List),
}

/// A block's postings, unpacked.
#[derive(Debug, Clone)]
pub(super) struct Unpacked {
    pub(super) slots: [Slot; BLOCK],
    pub(super) counts: [u32; BLOCK],
    pub(super) len: usize,
}

impl Default for Unpacked {
    fn default() -> Self {
        Self { slots: [0; BLOCK], counts: [0; BLOCK], len: 0 }
    }
}

impl Postings<'_> {
    #[inline]
    pub(super) fn blocks(&self) -> usize {
        match self {
            Self::Packed { blocks, .. } => blocks.len(),
            Self::Open(list) => list.postings.len().div_ceil(BLOCK),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Packed { blocks, .. } => {
                let last = blocks.last().map_or(0, |block| usize::from(block.len_less_one) + 1);
                blocks.len().saturating_sub(1) * BLOCK + last
            }
            Self::Open(list) => list.postings.len(),
        }
    }

    #[inline]
    pub(super) fn first(&self, block: usize) -> Slot {
        match self {
            Self::Packed { blocks, .. } => blocks[block].first,
            Self::Open(list) => list.postings[block * BLOCK].0,
        }
    }

    #[inline]
    pub(super) fn last(&self, block: usize) -> Slot {
        match self {
            Self::Packed { blocks, .. } => blocks[block].last,
            Self::Open(list) => {
                list.postings[(block * BLOCK + BLOCK).min(list.postings.len()) - 1].0
            }
        }
    }

    /// No posting has a higher count or a shorter document.
    pub(super) fn list_bounds(&self) -> (u32, u32) {
        match self {
            Self::Packed { bounds, .. } => *bounds,
            Self::Open(list) => (list.count_max, list.length_min),
        }
    }

    /// The first block from `from` on that does not end before a slot: by galloping, then by binary
    /// search.
    #[inline]
    pub(super) fn block_of(&self, from: usize, slot: Slot) -> usize {
        let blocks = self.blocks();
        if from >= blocks || self.last(from) >= slot {
            return from;
        }
        let (mut before, mut step) = (from, 1);
        while before + step < blocks && self.last(before + step) < slot {
            before += step;
            step *= 2;
        }
        let mut at_least = (before + step).min(blocks);
        while before + 1 < at_least {
            let middle = usize::midpoint(before, at_least);
            if self.last(middle) < slot {
                before = middle;
            } else {
                at_least = middle;
            }
        }
        at_least
    }

    /// The term count of the document in a slot, looked up in its block; 0 without the term.
    pub(super) fn count_in(&self, block: usize, slot: Slot) -> u32 {
        match self {
            Self::Packed { blocks, bytes, .. } => {
                let block = &blocks[block];
                if block.first > slot { 0 } else { block.count(bytes, slot - block.first) }
            }
            Self::Open(list) => {
                let found = list.postings.binary_search_by_key(&slot, |&(slot, _)| slot);
                found.map_or(0, |at| list.postings[at].1)
            }
        }
    }

    /// No posting of the block has a higher count or a shorter document.
    #[inline]
    pub(super) fn bounds(&self, block: usize) -> (u32, u32) {
        match self {
            Self::Packed { blocks, .. } => (blocks[block].count_max, blocks[block].length_min),
            Self::Open(list) => (list.count_max, list.length_min),
        }
    }

    pub(super) fn unpack(&self, block: usize, into: &mut Unpacked) {
        match self {
            Self::Packed { blocks, bytes, .. } => unpack(&blocks[block], bytes, into),
            Self::Open(list) => {
                let end = (block * BLOCK + BLOCK).min(list.postings.len());
                let postings = &list.postings[block * BLOCK..end];
                into.len = postings.len();
                for (at, &(slot, count)) in postings.iter().enumerate() {
                    into.slots[at] = slot;
                    into.counts[at] = count;
                }
            }
        }
    }

    /// Whether a posting is of a slot for which `is_wanted` is true.
    pub(super) fn any(&self, is_wanted: impl Fn(Slot) -> bool) -> bool {
        let mut unpacked = Unpacked::default();
        (0..self.blocks()).any(|block| {
            self.unpack(block, &mut unpacked);
            unpacked.slots[..unpacked.len].iter().any(|slot| is_wanted(*slot))
        })
    }

    /// Calls `each` with every posting, in slot order.
    pub(super) fn for_each(&self, mut each: impl FnMut(Slot, u32)) {
        let mut unpacked = Unpacked::default();
        for block in 0..self.blocks() {
            self.unpack(block, &mut unpacked);
            for at in 0..unpacked.len {
                each(unpacked.slots[at], unpacked.counts[at]);
            }
        }
    }
}

impl Block {
    /// The count of the posting at this offset from the first one; 0 if there is none.
    fn count(&self, bytes: &[u8], distance: u32) -> u32 {
        let len = usize::from(self.len_less_one) + 1;
        let (slot_width, count_width) = (usize::from(self.widths.0), usize::from(self.widths.1));
        let (slots, rest) = bytes[self.offset as usize..].split_at(len * slot_width);
        // Counting the lower ones needs no branches, unlike binary search.
        let (at, found) = match slot_width {
            1 => {
                let Ok(wanted) = u8::try_from(distance) else { return 0 };
                let at: u8 = slots.iter().map(|&slot| u8::from(slot < wanted)).sum();
                (usize::from(at), slots.get(usize::from(at)) == Some(&wanted))
            }
            2 => {
                let Ok(wanted) = u16::try_from(distance) else { return 0 };
                let slots = slots.as_chunks::<2>().0;
                let lower = slots.iter().map(|slot| u16::from(u16::from_le_bytes(*slot) < wanted));
                let at = usize::from(lower.sum::<u16>());
                (at, slots.get(at).map(|slot| u16::from_le_bytes(*slot)) == Some(wanted))
            }
            _ => {
                let slots = slots.as_chunks::<4>().0;
                let at = slots.partition_point(|slot| u32::from_le_bytes(*slot) < distance);
                (at, slots.get(at).map(|slot| u32::from_le_bytes(*slot)) == Some(distance))
            }
        };
        if !found {
            return 0;
        }
        let mut count = [0; 4];
        match count_width {
            0 => return 1,
            width => count[..width].copy_from_slice(&rest[at * width..][..width]),
        }
        u32::from_le_bytes(count)
    }
}

fn unpack(block: &Block, bytes: &[u8], into: &mut Unpacked) {
    let len = usize::from(block.len_less_one) + 1;
    let (slot_width, count_width) = (usize::from(block.widths.0), usize::from(block.widths.1));
    let rest = &bytes[block.offset as usize..];
    let (slots, rest) = rest.split_at(len * slot_width);
    into.len = len;
    widen(slots, slot_width, block.first, &mut into.slots);
    if count_width == 0 {
        into.counts[..len].fill(1);
    } else {
        widen(&rest[..len * count_width], count_width, 0, &mut into.counts);
    }
}

fn widen(bytes: &[u8], width: usize, base: u32, into: &mut [u32; BLOCK]) {
    match width {
        1 => {
            for (to, &from) in into.iter_mut().zip(bytes) {
                *to = base + u32::from(from);
            }
        }
        2 => {
            for (to, from) in into.iter_mut().zip(bytes.as_chunks::<2>().0) {
                *to = base + u32::from(u16::from_le_bytes(*from));
            }
        }
        _ => {
            for (to, from) in into.iter_mut().zip(bytes.as_chunks::<4>().0) {
                *to = base + u32::from_le_bytes(*from);
            }
        }
    }
}
