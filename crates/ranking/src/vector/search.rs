use std::fmt;

use super::codes::QueryCodes;
use super::scan::Scan;
use super::{VectorIndex, unit};
use crate::top::Top;
use crate::{Error, Filter, Hit, Slot, Slots};

/// One space of a vector search.
#[derive(Clone, Copy)]
pub struct VectorPart<'a> {
    /// The numbering of its documents.
    pub slots: &'a Slots,
    /// Its vectors.
    pub index: &'a VectorIndex,
    /// Which of its documents may be found; all if `None`.
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
    pub(super) parts: &'a [VectorPart<'a>],
    pub(super) query: Vec<f32>,
    pub(super) codes: QueryCodes,
}

/// A number in the same order as the score.
#[inline]
pub(super) fn key(score: f32) -> u32 {
    let bits = score.to_bits();
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}

#[inline]
pub(super) fn score_of(key: u32) -> f32 {
    f32::from_bits(if key >> 31 == 1 { key & !(1 << 31) } else { !key })
}

/// The nearest vectors, and the lowest score.
#[derive(Debug, Clone, PartialEq)]
pub struct Nearest {
    /// The nearest, best first, ties by id; the score is the cosine, -1 to 1 (and at
    /// most 0.001 beyond).
    pub hits: Vec<Hit>,
    /// The lowest score of everything that was searched and passed the filters; 0 if nothing did.
    pub low: f32,
    /// The work of finding them.
    pub work: Work,
}

/// How many vectors each step of a search processed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Their codes were read.
    pub scanned: u64,
    /// Their codes left in doubt, when read, whether they are among the nearest.
    pub doubtful: u64,
    /// They were scored in full.
    pub scored: u64,
}

impl<'a> VectorSearch<'a> {
    /// Prepares a search; parts with an empty index may have any dimensions.
    ///
    /// # Errors
    /// [`Error::WrongDimensions`], [`Error::NotFinite`], [`Error::NoDirection`]: the query does not
    /// match the parts or has no direction.
    pub fn new(parts: &'a [VectorPart<'a>], query: &[f32]) -> Result<Self, Error> {
        let mut dimensions = query.len();
        for part in parts.iter().filter(|part| !part.index.is_empty()) {
            dimensions = part.index.dimensions();
            if dimensions != query.len() {
                break;
            }
        }
        let query = unit(query, dimensions)?;
        Ok(Self { parts, codes: QueryCodes::new(&query), query })
    }

    /// The query, normalised to length 1.
    pub fn query(&self) -> &[f32] {
        &self.query
    }

    /// The `k` nearest. A scan of 4-bit codes bounds every score; vectors that may be among the
    /// best `k` are scored in full. Hits, scores and the lowest score are those of
    /// [`exact`](Self::exact), to the bit.
    pub fn top(&self, k: usize) -> Nearest {
        Scan::new(self, k).run()
    }

    /// The `k` nearest, computed by scoring every vector in full.
    pub fn exact(&self, k: usize) -> Nearest {
        let mut top = Top::new(k);
        let (mut low, mut scored) = (u32::MAX, 0);
        for (at, part) in self.parts.iter().enumerate() {
            let index = part.index;
            for (row, &slot) in index.slots.iter().enumerate() {
                if part.filter.is_some_and(|filter| !filter(slot)) {
                    continue;
                }
                let Some(id) = part.slots.id(slot) else { continue };
                let key = key(index.kernel.dot_halves(index.rows.halves(row), &self.query));
                scored += 1;
                low = low.min(key);
                if key >= top.key_min() {
                    top.offer(key, id, at as u32, slot);
                }
            }
        }
        let low = if scored == 0 { 0.0 } else { score_of(low) };
        let work = Work { scanned: 0, doubtful: scored, scored };
        Nearest { hits: top.into_hits(score_of), low, work }
    }

    /// The score of one document, as a search returns it; none if it has no vector.
    pub fn score(&self, part: u32, slot: Slot) -> Option<f32> {
        let index = self.parts.get(part as usize)?.index;
        let row = index.row(slot)?;
        Some(index.kernel.dot_halves(index.rows.halves(row), &self.query))
    }

    /// The vector of one document, normalised to length 1.
    pub fn vector(&self, part: u32, slot: Slot) -> Option<Vec<f32>> {
        self.parts.get(part as usize)?.index.vector(slot)
    }
}
