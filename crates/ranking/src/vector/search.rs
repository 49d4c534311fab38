use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

use super::{CODE_ZERO, Coded, VectorIndex, quantise, unit};
use crate::simd::{CODES_ALIGN, Kernel};
use crate::top::Top;
use crate::{Error, Filter, Hit, Slot, Slots};

/// One space of a vector search.
#[derive(Clone, Copy)]
pub struct VectorPart<'a> {
    /// The numbering of its documents.
    pub slots: &'a Slots,
    /// Its vectors.
    pub index: &'a VectorIndex,
    /// Which of its documents may be found; all if there is none.
    pub filter: Option<Filter<'a>>,
}

impl fmt::Debug for VectorPart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VectorPart")
            .field("filtered", &self.filter.is_some())
            .finish_non_exhaustive()
    }
}

/// A query vector over one or several indexes.
#[derive(Debug)]
pub struct VectorSearch<'a> {
    parts: &'a [VectorPart<'a>],
    query: Vec<f32>,
    /// Its codes, padded with zeros, and what they stand for.
    codes: Vec<i8>,
    coded: Coded,
    /// What the vectors' codes add by being unsigned.
    codes_offset: i32,
    /// Its length, rounded up.
    length: f32,
    /// What the arithmetic of a score may be off by.
    rounding: f32,
}

/// Rows whose filter is asked before the first of them is scored: what is skipped then does not keep the
/// memory waiting.
const BATCH: usize = 512;

/// How many rows ahead memory is fetched.
const AHEAD: usize = 6;

/// A vector whose score may be among the best.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    high: f32,
    id: u64,
    part: u32,
    row: u32,
}

/// The `k` highest of what scores are at least.
#[derive(Debug)]
struct Least {
    k: usize,
    lows: BinaryHeap<Reverse<u32>>,
}

impl Least {
    /// At least `k` scores are not below this.
    #[inline]
    fn bound(&self) -> f32 {
        if self.lows.len() < self.k {
            return f32::NEG_INFINITY;
        }
        self.lows.peek().map_or(f32::INFINITY, |lowest| score_of(lowest.0))
    }

    fn offer(&mut self, low: f32) {
        if self.lows.len() < self.k {
            self.lows.push(Reverse(key(low)));
        } else if let Some(mut lowest) = self.lows.peek_mut()
            && key(low) > lowest.0
        {
            *lowest = Reverse(key(low));
        }
    }
}

/// A number that is ordered as the score is.
#[inline]
fn key(score: f32) -> u32 {
    let bits = score.to_bits();
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}

#[inline]
fn score_of(key: u32) -> f32 {
    f32::from_bits(if key >> 31 == 1 { key & !(1 << 31) } else { !key })
}

/// Sums of scores in whole steps, so that the order of rows does not matter.
#[derive(Debug)]
struct Tally {
    count: u64,
    low: f32,
    high: f32,
    sum: i64,
    squares: u64,
}

const STEPS: f64 = 65_536.0;

impl Default for Tally {
    fn default() -> Self {
        Self { count: 0, low: f32::INFINITY, high: f32::NEG_INFINITY, sum: 0, squares: 0 }
    }
}

impl Tally {
    #[inline]
    fn count(&mut self, score: f32) {
        self.count += 1;
        self.low = self.low.min(score);
        self.high = self.high.max(score);
        let steps = i64::from((score * STEPS as f32) as i32);
        self.sum += steps;
        self.squares += (steps * steps) as u64;
    }

    fn spread(&self) -> Spread {
        if self.count == 0 {
            return Spread::default();
        }
        let mean = self.sum as f64 / self.count as f64 / STEPS;
        let square = self.squares as f64 / self.count as f64 / STEPS / STEPS;
        Spread {
            count: self.count,
            low: self.low,
            high: self.high,
            mean: mean as f32,
            deviation: (square - mean * mean).max(0.0).sqrt() as f32,
        }
    }
}

/// The nearest vectors, and how the similarities of all are spread.
#[derive(Debug, Clone, PartialEq)]
pub struct Nearest {
    /// The nearest, best first, ties by id; the score is the cosine, -1 to 1 (and at
    /// most 0.001 beyond).
    pub hits: Vec<Hit>,
    /// Over everything that was searched and that the filters let through.
    pub spread: Spread,
}

/// How the scores of everything that was searched are spread; good to about 0.01.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spread {
    /// How many there are.
    pub count: u64,
    /// The lowest; 0 if there are none.
    pub low: f32,
    /// The highest; 0 if there are none.
    pub high: f32,
    /// The mean; 0 if there are none.
    pub mean: f32,
    /// The standard deviation; 0 if there are none.
    pub deviation: f32,
}

impl<'a> VectorSearch<'a> {
    /// Prepares a search; parts whose index is empty may have any dimensions.
    ///
    /// # Errors
    /// [`Error::WrongDimensions`], [`Error::NotFinite`], [`Error::NoDirection`]: the query does not fit
    /// the parts or has no direction.
    pub fn new(parts: &'a [VectorPart<'a>], query: &[f32]) -> Result<Self, Error> {
        let mut dimensions = query.len();
        for part in parts.iter().filter(|part| !part.index.is_empty()) {
            dimensions = part.index.dimensions();
            if dimensions != query.len() {
                break;
            }
        }
        let query = unit(query, dimensions)?;
        let (coded, mut codes) = quantise(&query);
        codes.resize(dimensions.next_multiple_of(CODES_ALIGN), 0);
        let codes_offset = CODE_ZERO * codes.iter().map(|&code| i32::from(code)).sum::<i32>();
        // Sixteen lanes of products of up to 1 in all, each sum rounded to 24 bits.
        let rounding = (dimensions as f32 / 16.0 + 16.0) * f32::EPSILON;
        Ok(Self { parts, query, codes, coded, codes_offset, length: 1.000_001, rounding })
    }

    /// The query, of length 1.
    pub fn query(&self) -> &[f32] {
        &self.query
    }

    /// The `k` nearest. A scan of the 8-bit codes brackets every score; those that may be among the
    /// best `k` are scored in full. Hits and scores are those of [`exact`](Self::exact), to the bit.
    pub fn top(&self, k: usize) -> Nearest {
        let mut tally = Tally::default();
        let mut least = Least { k, lows: BinaryHeap::new() };
        let mut candidates: Vec<Candidate> = Vec::new();
        let mut chosen: Vec<usize> = Vec::with_capacity(BATCH);
        for (at, part) in self.parts.iter().enumerate() {
            let index = part.index;
            for (batch, slots) in index.slots.chunks(BATCH).enumerate() {
                let rows = batch * BATCH..batch * BATCH + slots.len();
                chosen.clear();
                match part.filter {
                    None => chosen.extend(rows),
                    Some(filter) => {
                        chosen.extend(rows.filter(|&row| filter(index.slots[row])));
                    }
                }
                for (place, &row) in chosen.iter().enumerate() {
                    if let Some(&later) = chosen.get(place + AHEAD) {
                        Kernel::prefetch(index.codes(later));
                    }
                    let sum =
                        index.kernel.dot_codes(index.codes(row), &self.codes) - self.codes_offset;
                    let (guess, doubt) = self.bracket(index.coded[row], sum);
                    tally.count(guess);
                    let high = guess + doubt;
                    if high >= least.bound()
                        && let Some(id) = part.slots.id(index.slots[row])
                    {
                        least.offer(guess - doubt);
                        candidates.push(Candidate { high, id, part: at as u32, row: row as u32 });
                    }
                }
            }
        }
        let bound = least.bound();
        candidates.retain(|candidate| candidate.high >= bound);
        candidates.sort_unstable_by(|a, b| b.high.total_cmp(&a.high));
        let mut top = Top::new(k);
        for candidate in candidates {
            if key(candidate.high) < top.key_min() {
                break;
            }
            let index = self.parts[candidate.part as usize].index;
            let row = candidate.row as usize;
            let score = index.kernel.dot_halves(index.halves(row), &self.query);
            top.offer(key(score), candidate.id, candidate.part, index.slots[row]);
        }
        Nearest { hits: top.into_hits(score_of), spread: tally.spread() }
    }

    /// The `k` nearest, found by scoring every vector in full.
    pub fn exact(&self, k: usize) -> Nearest {
        let mut tally = Tally::default();
        let mut top = Top::new(k);
        for (at, part) in self.parts.iter().enumerate() {
            let index = part.index;
            for (row, &slot) in index.slots.iter().enumerate() {
                if part.filter.is_some_and(|filter| !filter(slot)) {
                    continue;
                }
                let score = index.kernel.dot_halves(index.halves(row), &self.query);
                tally.count(score);
                if key(score) >= top.key_min()
                    && let Some(id) = part.slots.id(slot)
                {
                    top.offer(key(score), id, at as u32, slot);
                }
            }
        }
        Nearest { hits: top.into_hits(score_of), spread: tally.spread() }
    }

    /// What a sum of codes says of the score, and by how much the score may differ from it.
    ///
    /// With x and q the vectors and x', q' what their codes stand for, x·q - x'·q' is
    /// (x - x')·q + x'·(q - q'), of which the inequality of Cauchy and Schwarz bounds both terms.
    #[inline]
    fn bracket(&self, coded: Coded, sum: i32) -> (f32, f32) {
        let guess = coded.scale * self.coded.scale * sum as f32;
        (guess, coded.error * self.length + coded.length * self.coded.error + self.rounding)
    }

    /// The score of one document, the same as a search gives it; none if it has no vector.
    pub fn score(&self, part: u32, slot: Slot) -> Option<f32> {
        let index = self.parts.get(part as usize)?.index;
        let row = *index.rows.get(&slot)? as usize;
        Some(index.kernel.dot_halves(index.halves(row), &self.query))
    }

    /// The vector of one document, of length 1.
    pub fn vector(&self, part: u32, slot: Slot) -> Option<Vec<f32>> {
        self.parts.get(part as usize)?.index.vector(slot)
    }
}
