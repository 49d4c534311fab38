use super::rows::Rows;
use super::search::{Nearest, VectorPart, VectorSearch, Work, key, score_of};
use crate::simd::{BLOCK_ROWS, Kernel, Limits};
use crate::top::Top;

/// The most promising vectors are prefetched, and scored this many at a time.
const SOON: usize = 16;

/// The prefetch distance, in vectors.
const AHEAD: usize = 12;

/// One pass over the codes of all vectors, and the scores of those that the codes leave in doubt.
///
/// A vector is relevant if it may be among the best, or the least similar of all. Vectors *guessed*
/// to be are scored at once, so that the limits tighten early. Merely possible ones wait until the
/// end, when the limits exclude most of them. Filters are also called late: where the limits admit
/// little, they are called little.
pub(super) struct Scan<'s> {
    search: &'s VectorSearch<'s>,
    top: Top,
    /// The key of the lowest score.
    low: u32,
    /// The least score of a vector among the best so far.
    least: f32,
    /// The greatest score of a vector that is the least similar so far.
    most: f32,
    limits: Limits,
    soon: Vec<Candidate>,
    later: Vec<Candidate>,
    work: Work,
}

/// A vector that may be relevant.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    part: u32,
    row: u32,
    guess: f32,
    error: f32,
    /// Whether it is known to pass the filter.
    passes: bool,
}

/// Whether a block's filter or its codes are evaluated first.
///
/// With the limits first, a filter has little to do. But if the limits exclude little, or the
/// filter excludes enough to empty seven blocks in eight, the filter is first, and the emptied
/// blocks are not read. (Reading one block in four takes as long as reading them all: sequential
/// memory access is fast.)
#[derive(Debug, Default)]
struct Order {
    asked: u64,
    passed: u64,
    are_limits_wide: bool,
}

impl Order {
    fn is_filter_first(&self) -> bool {
        self.are_limits_wide || 8 * BLOCK_ROWS as u64 * self.passed < self.asked
    }

    fn filtered(&mut self, asked: usize, passed: u32) {
        self.asked += asked as u64;
        self.passed += u64::from(passed.count_ones());
    }

    fn limited(&mut self, rows: u32, interesting: u32) {
        self.are_limits_wide = 2 * interesting.count_ones() >= rows.count_ones();
    }
}

impl<'s> Scan<'s> {
    pub(super) fn new(search: &'s VectorSearch<'s>, k: usize) -> Self {
        let codes = &search.codes;
        let (least, most) = (f32::NEG_INFINITY, f32::INFINITY);
        let mut scan = Self {
            search,
            top: Top::new(k),
            low: u32::MAX,
            least,
            most,
            limits: Limits { high: codes.from(least), low: codes.up_to(most) },
            soon: Vec::with_capacity(SOON),
            later: Vec::new(),
            work: Work::default(),
        };
        scan.narrow();
        scan
    }

    pub(super) fn run(mut self) -> Nearest {
        for (at, part) in self.search.parts.iter().enumerate() {
            self.part(at as u32, part);
        }
        self.score_soon();
        self.score_later();
        let low = if self.low == u32::MAX { 0.0 } else { score_of(self.low) };
        Nearest { hits: self.top.into_hits(score_of), low, work: self.work }
    }

    fn part(&mut self, at: u32, part: &VectorPart<'_>) {
        let index = part.index;
        let mut guesses = [0.0; BLOCK_ROWS];
        let mut order = Order::default();
        for (first, block) in index.rows.blocks() {
            let slots = &index.slots[first..];
            let slots = &slots[..slots.len().min(BLOCK_ROWS)];
            let mut rows = u32::MAX >> (BLOCK_ROWS - slots.len());
            let asks_first = part.filter.filter(|_| order.is_filter_first());
            if let Some(filter) = asks_first {
                for (row, &slot) in slots.iter().enumerate() {
                    rows &= !(u32::from(!filter(slot)) << row);
                }
                order.filtered(slots.len(), rows);
                if rows == 0 {
                    continue;
                }
            }
            self.work.scanned += slots.len() as u64;
            let interesting = rows
                & index.kernel.scan(block, &self.search.codes.probe, &self.limits, &mut guesses);
            order.limited(rows, interesting);
            for row in ones(interesting) {
                self.consider(Candidate {
                    part: at,
                    row: (first + row) as u32,
                    guess: guesses[row],
                    error: Rows::error(block, row),
                    passes: part.filter.is_none() || asks_first.is_some(),
                });
            }
        }
    }

    fn consider(&mut self, candidate: Candidate) {
        self.work.doubtful += 1;
        let is_likely = candidate.guess >= self.least || candidate.guess <= self.most;
        if !is_likely {
            self.later.push(candidate);
        } else if self.passes(&candidate) {
            self.fetch(&candidate);
            self.soon.push(candidate);
            if self.soon.len() == SOON {
                self.score_soon();
            }
        }
    }

    fn passes(&self, candidate: &Candidate) -> bool {
        let part = &self.search.parts[candidate.part as usize];
        let slot = part.index.slots[candidate.row as usize];
        candidate.passes || part.filter.is_none_or(|filter| filter(slot))
    }

    fn fetch(&self, candidate: &Candidate) {
        let index = self.search.parts[candidate.part as usize].index;
        Kernel::prefetch(index.rows.halves(candidate.row as usize));
    }

    fn score_soon(&mut self) {
        let mut soon = std::mem::take(&mut self.soon);
        for candidate in soon.drain(..) {
            self.score(&candidate);
        }
        self.soon = soon;
        self.narrow();
    }

    fn score_later(&mut self) {
        let mut later = std::mem::take(&mut self.later);
        later.retain(|later| self.limits.admit(later.guess, later.error) && self.passes(later));
        for (at, candidate) in later.iter().enumerate() {
            if let Some(candidate) = later.get(at + AHEAD) {
                self.fetch(candidate);
            }
            if self.limits.admit(candidate.guess, candidate.error) {
                self.score(candidate);
                self.narrow();
            }
        }
    }

    fn score(&mut self, candidate: &Candidate) {
        let part = &self.search.parts[candidate.part as usize];
        let (index, row) = (part.index, candidate.row as usize);
        let key = key(index.kernel.dot_halves(index.rows.halves(row), &self.search.query));
        self.work.scored += 1;
        // Most change nothing, and need no id, which is far away in memory.
        if key >= self.low && key < self.top.key_min() {
            return;
        }
        let slot = index.slots[row];
        let Some(id) = part.slots.id(slot) else { return };
        self.low = self.low.min(key);
        if key >= self.top.key_min() {
            self.top.offer(key, id, candidate.part, slot);
        }
    }

    /// Tightens the limits to the scores so far.
    fn narrow(&mut self) {
        let least = match self.top.key_min() {
            0 => f32::NEG_INFINITY,
            u32::MAX => f32::INFINITY,
            key => score_of(key),
        };
        if least != self.least {
            self.least = least;
            self.limits.high = self.search.codes.from(least);
        }
        if self.low != u32::MAX && score_of(self.low) != self.most {
            self.most = score_of(self.low);
            self.limits.low = self.search.codes.up_to(self.most);
        }
    }
}

/// The positions of the set bits.
fn ones(mut bits: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = bits.trailing_zeros();
        bits &= bits.wrapping_sub(1);
        (place < u32::BITS).then_some(place as usize)
    })
}
