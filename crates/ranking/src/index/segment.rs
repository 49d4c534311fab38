use super::TermId;
use super::tail::List;
use crate::Slot;

/// Postings in a block.
pub(super) const BLOCK: usize = 128;

/// Postings that do not change any more, by term, in blocks.
#[derive(Debug, Default)]
pub(super) struct Segment {
    /// Every document that it was made of, sorted.
    pub(super) slots: Vec<Slot>,
    terms: Vec<TermId>,
    /// By term: its first block; one more at the end.
    starts: Vec<u32>,
    blocks: Vec<Block>,
    bytes: Vec<u8>,
}

/// Up to 128 postings of a term, by slot. Slots are stored as distances from the first one, counts as
/// they are, both in as few whole bytes as the block needs: no decoding beyond widening.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    first: Slot,
    last: Slot,
    offset: u32,
    /// Bounds that hold whatever the average length becomes.
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
        self.terms.binary_search(&term).ok().map(|at| self.list_at(at))
    }

    pub(super) fn terms(&self) -> &[TermId] {
        &self.terms
    }

    pub(super) fn list_at(&self, at: usize) -> Postings<'_> {
        let blocks = &self.blocks[self.starts[at] as usize..self.starts[at + 1] as usize];
        Postings::Packed { blocks, bytes: &self.bytes }
    }

    /// Adds the postings of the next term, sorted by slot.
    pub(super) fn push(
        &mut self,
        term: TermId,
        postings: &[(Slot, u32)],
        length: impl Fn(Slot) -> u32,
    ) {
        self.terms.push(term);
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        for chunk in postings.chunks(BLOCK) {
            let (first, last) = (chunk[0].0, chunk[chunk.len() - 1].0);
            let count_max = chunk.iter().map(|&(_, count)| count).max().unwrap_or(0);
            let widths = (
                width(last - first),
                if chunk.iter().all(|&(_, count)| count == 1) { 0 } else { width(count_max) },
            );
            self.blocks.push(Block {
                first,
                last,
                offset: u32::try_from(self.bytes.len()).expect("a segment is below 4 GiB"),
                count_max,
                length_min: chunk.iter().map(|&(slot, _)| length(slot)).min().unwrap_or(0),
                len_less_one: (chunk.len() - 1) as u8,
                widths,
            });
            push_all(&mut self.bytes, widths.0, chunk.iter().map(|&(slot, _)| slot - first));
            push_all(&mut self.bytes, widths.1, chunk.iter().map(|&(_, count)| count));
        }
        self.starts
            .push(u32::try_from(self.blocks.len()).expect("a segment has below 2^32 blocks"));
    }

    pub(super) fn shrink(&mut self) {
        self.terms.shrink_to_fit();
        self.starts.shrink_to_fit();
        self.blocks.shrink_to_fit();
        self.bytes.shrink_to_fit();
        self.slots.shrink_to_fit();
    }

    pub(super) fn memory(&self) -> usize {
        self.slots.len() * 4
            + self.terms.len() * 4
            + self.starts.len() * 4
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

/// The postings of one term in one place, in blocks.
#[derive(Debug, Clone, Copy)]
pub(super) enum Postings<'a> {
    Packed { blocks: &'a [Block], bytes: &'a [u8] },
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
            Self::Packed { blocks, bytes } => unpack(&blocks[block], bytes, into),
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

    /// Calls `each` with every posting, by slot.
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
