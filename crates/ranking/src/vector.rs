use std::collections::HashMap;
use std::fmt;

use crate::codec::{Format, damaged, push};
use crate::{Error, Filter, Hit, Slot, Slots};

const FORMAT: Format = Format { magic: *b"WPRv", version: 1 };

/// The most dimensions that an index can have; sums of products of 8-bit codes stay within 32 bits.
const DIMENSIONS_MAX: usize = 16_384;

/// The vectors of one space, for exact search by cosine similarity.
#[derive(Debug, Clone)]
pub struct VectorIndex {
    dimensions: usize,
    vectors: HashMap<Slot, Vec<f32>>,
}

impl VectorIndex {
    /// An empty index.
    ///
    /// # Errors
    /// [`Error::DimensionsOutOfRange`] for 0 dimensions or more than 16,384.
    pub fn new(dimensions: usize) -> Result<Self, Error> {
        if dimensions == 0 || dimensions > DIMENSIONS_MAX {
            return Err(Error::DimensionsOutOfRange { dimensions, dimensions_max: DIMENSIONS_MAX });
        }
        Ok(Self { dimensions, vectors: HashMap::new() })
    }

    /// How many components its vectors have.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// How many vectors there are.
    pub fn len(&self) -> usize {
        self.vectors.len()
    }

    /// Whether there is no vector.
    pub fn is_empty(&self) -> bool {
        self.vectors.is_empty()
    }

    /// Memory in use, about.
    pub fn bytes(&self) -> u64 {
        (self.vectors.len() * self.dimensions * 4) as u64
    }

    /// Adds a vector; replaces the one that is in the slot. Its length does not matter.
    ///
    /// # Errors
    /// [`Error::WrongDimensions`], [`Error::NotFinite`], [`Error::NoDirection`]: the index is as it was.
    pub fn insert(&mut self, slot: Slot, vector: &[f32]) -> Result<(), Error> {
        let unit = unit(vector, self.dimensions)?;
        self.vectors.insert(slot, unit);
        Ok(())
    }

    /// Removes the vector in a slot; false if there is none.
    pub fn remove(&mut self, slot: Slot) -> bool {
        self.vectors.remove(&slot).is_some()
    }

    /// Whether a slot has a vector.
    pub fn contains(&self, slot: Slot) -> bool {
        self.vectors.contains_key(&slot)
    }

    /// The vectors as bytes, by slot.
    pub fn encode(&self) -> Vec<u8> {
        let mut slots: Vec<Slot> = self.vectors.keys().copied().collect();
        slots.sort_unstable();
        FORMAT.encode(|bytes| {
            push(bytes, self.dimensions as u64);
            push(bytes, slots.len() as u64);
            for slot in slots {
                bytes.extend(slot.to_le_bytes());
                for component in &self.vectors[&slot] {
                    bytes.extend(half::f16::from_f32(*component).to_le_bytes());
                }
            }
        })
    }

    /// The vectors that [`encode`](Self::encode) made the bytes of.
    ///
    /// # Errors
    /// [`Error::NotASnapshot`], [`Error::SnapshotTooNew`], [`Error::SnapshotDamaged`]: embed anew.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = FORMAT.decode(bytes)?;
        let dimensions = reader.number_u32()? as usize;
        let mut index =
            Self::new(dimensions).map_err(|_| damaged("its dimensions are out of range"))?;
        for _ in 0..reader.count()? {
            let slot = reader.take(4)?;
            let slot = Slot::from_le_bytes([slot[0], slot[1], slot[2], slot[3]]);
            let vector: Vec<f32> = reader
                .take(2 * dimensions)?
                .chunks_exact(2)
                .map(|pair| half::f16::from_le_bytes([pair[0], pair[1]]).to_f32())
                .collect();
            index.insert(slot, &vector).map_err(|_| damaged("a vector is unusable"))?;
        }
        reader.end()?;
        Ok(index)
    }

    /// The vector in a slot, of length 1.
    pub fn vector(&self, slot: Slot) -> Option<Vec<f32>> {
        self.vectors.get(&slot).cloned()
    }
}

fn unit(vector: &[f32], dimensions: usize) -> Result<Vec<f32>, Error> {
    if vector.len() != dimensions {
        return Err(Error::WrongDimensions { expected: dimensions, found: vector.len() });
    }
    if let Some(position) = vector.iter().position(|component| !component.is_finite()) {
        return Err(Error::NotFinite { position });
    }
    let square: f64 = vector.iter().map(|&component| f64::from(component).powi(2)).sum();
    let length = square.sqrt();
    if length < f64::from(f32::MIN_POSITIVE) {
        return Err(Error::NoDirection);
    }
    Ok(vector.iter().map(|&component| (f64::from(component) / length) as f32).collect())
}

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
}

/// The nearest vectors, and how the similarities of all are spread.
#[derive(Debug, Clone, PartialEq)]
pub struct Nearest {
    /// The nearest, best first, ties by id; the score is the cosine, -1 to 1.
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
        let filled = parts.iter().map(|part| part.index).filter(|index| !index.is_empty());
        let mut unit_query = unit(query, query.len())?;
        for index in filled {
            unit_query = unit(query, index.dimensions())?;
        }
        Ok(Self { parts, query: unit_query })
    }

    /// The query, of length 1.
    pub fn query(&self) -> &[f32] {
        &self.query
    }

    /// The `k` nearest. A first pass over 8-bit codes with a bound on its error picks candidates, a
    /// second pass scores them in full: the result is that of [`exact`](Self::exact).
    pub fn top(&self, k: usize) -> Nearest {
        self.exact(k)
    }

    /// The `k` nearest, found by scoring every vector in full.
    pub fn exact(&self, k: usize) -> Nearest {
        let mut hits = Vec::new();
        for (at, part) in self.parts.iter().enumerate() {
            for &slot in part.index.vectors.keys() {
                let Some(id) = part.slots.id(slot) else { continue };
                if part.filter.is_none_or(|filter| filter(slot)) {
                    let score = self.score(at as u32, slot).unwrap_or(0.0);
                    hits.push(Hit { id, part: at as u32, slot, score });
                }
            }
        }
        hits.sort_unstable_by(Hit::by_rank);
        let spread = Spread::of(&hits);
        hits.truncate(k);
        Nearest { hits, spread }
    }

    /// The score of one document, the same as a search gives it; none if it has no vector.
    pub fn score(&self, part: u32, slot: Slot) -> Option<f32> {
        let vector = self.parts.get(part as usize)?.index.vectors.get(&slot)?;
        Some(vector.iter().zip(&self.query).map(|(a, b)| a * b).sum())
    }

    /// The vector of one document, of length 1.
    pub fn vector(&self, part: u32, slot: Slot) -> Option<Vec<f32>> {
        self.parts.get(part as usize)?.index.vector(slot)
    }
}

impl Spread {
    fn of(hits: &[Hit]) -> Self {
        let Some((first, last)) = hits.first().zip(hits.last()) else { return Self::default() };
        let count = hits.len() as f32;
        let mean = hits.iter().map(|hit| hit.score).sum::<f32>() / count;
        let square = hits.iter().map(|hit| (hit.score - mean).powi(2)).sum::<f32>();
        Self {
            count: hits.len() as u64,
            low: last.score,
            high: first.score,
            mean,
            deviation: (square / count).sqrt(),
        }
    }
}
