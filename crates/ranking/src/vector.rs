mod search;
mod snapshot;

use std::collections::HashMap;

use half::f16;

pub use self::search::{Nearest, Spread, VectorPart, VectorSearch};

use crate::simd::{CODES_ALIGN, Kernel};
use crate::{Error, Slot};

/// The most dimensions that an index can have; sums of products of 8-bit codes stay within 32 bits.
const DIMENSIONS_MAX: usize = 16_384;

/// The code of 0. Codes are unsigned because that is what the fastest instructions multiply.
const CODE_ZERO: i32 = 128;

/// The vectors of one space, for exact search by cosine similarity.
///
/// Each vector is kept twice, at length 1: as 16-bit floats, which the scores come from, and as 8-bit
/// codes, which are scanned. Beside the codes stands how far they are from the vector, so that the scan
/// knows what it may leave out.
#[derive(Debug, Clone)]
pub struct VectorIndex {
    dimensions: usize,
    /// Codes per vector: the dimensions, padded.
    stride: usize,
    kernel: Kernel,
    /// By slot: its row. Rows have no gaps; the last one moves to where one is removed.
    rows: HashMap<Slot, u32>,
    slots: Vec<Slot>,
    halves: Vec<f16>,
    codes: Vec<u8>,
    coded: Vec<Coded>,
}

/// What a row's codes stand for.
#[derive(Debug, Clone, Copy)]
struct Coded {
    /// One step of the codes.
    scale: f32,
    /// The distance between the vector and what its codes stand for, rounded up.
    error: f32,
    /// The length of what its codes stand for, rounded up.
    length: f32,
}

/// What a row takes beside codes and components: slot, row number, [`Coded`].
const ROW_BYTES: usize = 32;

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
            dimensions,
            stride: dimensions.next_multiple_of(CODES_ALIGN),
            kernel: Kernel::detect(),
            rows: HashMap::new(),
            slots: Vec::new(),
            halves: Vec::new(),
            codes: Vec::new(),
            coded: Vec::new(),
        })
    }

    /// Leaves the machine's special instructions unused. It changes speed only.
    #[must_use]
    pub fn with_portable_kernel(mut self) -> Self {
        self.kernel = Kernel::PORTABLE;
        self
    }

    /// How many components its vectors have.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// How many vectors there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is no vector.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Memory in use, about.
    pub fn bytes(&self) -> u64 {
        (self.slots.len() * (2 * self.dimensions + self.stride + ROW_BYTES)) as u64
    }

    /// Adds a vector; replaces the one that is in the slot. Its length does not matter.
    ///
    /// # Errors
    /// [`Error::WrongDimensions`], [`Error::NotFinite`], [`Error::NoDirection`]: the index is as it was.
    pub fn insert(&mut self, slot: Slot, vector: &[f32]) -> Result<(), Error> {
        let unit = unit(vector, self.dimensions)?;
        let halves: Vec<f16> = unit.into_iter().map(f16::from_f32).collect();
        self.remove(slot);
        self.push(slot, &halves);
        Ok(())
    }

    /// Removes the vector in a slot; false if there is none.
    pub fn remove(&mut self, slot: Slot) -> bool {
        let Some(row) = self.rows.remove(&slot) else { return false };
        let row = row as usize;
        self.slots.swap_remove(row);
        self.coded.swap_remove(row);
        swap_remove(&mut self.halves, row, self.dimensions);
        swap_remove(&mut self.codes, row, self.stride);
        if let Some(moved) = self.slots.get(row) {
            self.rows.insert(*moved, row as u32);
        }
        true
    }

    /// Whether a slot has a vector.
    pub fn contains(&self, slot: Slot) -> bool {
        self.rows.contains_key(&slot)
    }

    /// The vector in a slot, of length 1.
    pub fn vector(&self, slot: Slot) -> Option<Vec<f32>> {
        let row = *self.rows.get(&slot)? as usize;
        Some(self.halves(row).iter().map(|half| half.to_f32_const()).collect())
    }

    /// Adds a vector of length 1 in a slot that has none.
    fn push(&mut self, slot: Slot, halves: &[f16]) {
        self.rows.insert(slot, u32::try_from(self.slots.len()).expect("fewer rows than slots"));
        self.slots.push(slot);
        self.halves.extend_from_slice(halves);
        let components: Vec<f32> = halves.iter().map(|half| half.to_f32_const()).collect();
        let (coded, codes) = quantise(&components);
        self.coded.push(coded);
        self.codes.extend(codes.iter().map(|&code| (i32::from(code) + CODE_ZERO) as u8));
        // The query's padding is zeros, so it does not matter what stands here.
        self.codes.resize(self.slots.len() * self.stride, 0);
    }

    fn halves(&self, row: usize) -> &[f16] {
        &self.halves[row * self.dimensions..][..self.dimensions]
    }

    fn codes(&self, row: usize) -> &[u8] {
        &self.codes[row * self.stride..][..self.stride]
    }
}

fn swap_remove<T: Copy>(values: &mut Vec<T>, row: usize, stride: usize) {
    let last = values.len() - stride;
    values.copy_within(last.., row * stride);
    values.truncate(last);
}

/// The codes of a vector that is not all zeros: whole multiples of a 127th of its largest component.
fn quantise(components: &[f32]) -> (Coded, Vec<i8>) {
    let largest = components.iter().fold(0f32, |largest, it| largest.max(it.abs()));
    let scale = largest / 127.0;
    let codes: Vec<i8> = components.iter().map(|it| (it / scale).round() as i8).collect();
    let (mut error, mut length) = (0f64, 0f64);
    for (component, code) in components.iter().zip(&codes) {
        let meant = f64::from(scale) * f64::from(*code);
        error += (f64::from(*component) - meant).powi(2);
        length += meant.powi(2);
    }
    let up = |square: f64| (square.sqrt() * 1.000_001) as f32;
    (Coded { scale, error: up(error), length: up(length) }, codes)
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
