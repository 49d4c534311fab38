mod codes;
mod rows;
mod scan;
mod search;
mod snapshot;

use half::f16;

use self::rows::Rows;
pub use self::search::{Nearest, VectorPart, VectorSearch, Work};
use crate::numbers::NumberMap;
use crate::simd::Kernel;
use crate::{Error, Slot};

/// The most dimensions of an index; sums of products of codes stay within 32 bits.
const DIMENSIONS_MAX: usize = 16_384;

/// The vectors of one space, for exact search by cosine similarity.
///
/// Each vector is stored twice, normalised to length 1: as 16-bit floats, which give the scores,
/// and as 4-bit codes, which are scanned. With the codes, the index stores their distance from the
/// vector, so that the scan knows what it may skip.
#[derive(Debug, Clone)]
pub struct VectorIndex {
    kernel: Kernel,
    /// By slot: its row. Rows have no gaps; the last one moves to a removed row.
    places: NumberMap<Slot, u32>,
    slots: Vec<Slot>,
    rows: Rows,
}

/// The size of a row besides codes and components: slot and position.
const ROW_BYTES: usize = 24;

impl VectorIndex {
    /// An empty index.
    ///
    /// # Errors
    /// [`Error::DimensionsOutOfRange`] for 0 dimensions or more than 16,384.
    pub fn new(dimensions: usize) -> Result<Self, Error> {
        if dimensions == 0 || dimensions > DIMENSIONS_MAX {
            return Err(Error::DimensionsOutOfRange { dimensions, dimensions_max: DIMENSIONS_MAX });
        }
        Ok(Self {
            kernel: Kernel::detect(),
            places: NumberMap::default(),
            slots: Vec::new(),
            rows: Rows::new(dimensions),
        })
    }

    /// Disables the machine's special instructions. It affects only speed.
    #[must_use]
    pub fn with_portable_kernel(mut self) -> Self {
        self.kernel = Kernel::PORTABLE;
        self
    }

    /// The number of components of its vectors.
    pub fn dimensions(&self) -> usize {
        self.rows.dimensions()
    }

    /// The number of vectors.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are no vectors.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Approximate memory use.
    pub fn bytes(&self) -> u64 {
        (self.slots.len() * ROW_BYTES + self.rows.bytes()) as u64
    }

    /// Adds a vector of any length; replaces the one in the slot, if any.
    ///
    /// # Errors
    /// [`Error::WrongDimensions`], [`Error::NotFinite`], [`Error::NoDirection`]: the index is
    /// unchanged.
    pub fn insert(&mut self, slot: Slot, vector: &[f32]) -> Result<(), Error> {
        let unit = unit(vector, self.dimensions())?;
        let halves: Vec<f16> = unit.into_iter().map(f16::from_f32).collect();
        self.remove(slot);
        self.push(slot, &halves);
        Ok(())
    }

    /// Removes the vector in a slot; false if there is none.
    pub fn remove(&mut self, slot: Slot) -> bool {
        let Some(row) = self.places.remove(&slot) else { return false };
        self.slots.swap_remove(row as usize);
        self.rows.swap_remove(row as usize);
        if let Some(moved) = self.slots.get(row as usize) {
            self.places.insert(*moved, row);
        }
        true
    }

    /// Whether a slot has a vector.
    pub fn contains(&self, slot: Slot) -> bool {
        self.row(slot).is_some()
    }

    /// The vector in a slot, normalised to length 1.
    pub fn vector(&self, slot: Slot) -> Option<Vec<f32>> {
        let row = self.row(slot)?;
        Some(self.rows.halves(row).iter().map(|half| half.to_f32_const()).collect())
    }

    /// The row of a slot's vector.
    fn row(&self, slot: Slot) -> Option<usize> {
        self.places.get(&slot).map(|&row| row as usize)
    }

    /// Adds a vector of length 1 in an empty slot.
    fn push(&mut self, slot: Slot, halves: &[f16]) {
        self.places.insert(slot, u32::try_from(self.slots.len()).expect("fewer rows than slots"));
        self.slots.push(slot);
        self.rows.push(halves);
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
