//! The inner loops of vector search, in the machine's widest instructions.
//!
//! Every variant gives the same bits as [`Kernel::PORTABLE`]: sums of codes are integers, results
//! from them are computed in one fixed order without fused operations, and sums of components are
//! held in sixteen lanes that are added in one fixed order.
#![expect(unsafe_code, reason = "SIMD kernels; every block states why it is sound")]

#[cfg(all(target_arch = "aarch64", not(miri)))]
mod neon;
mod portable;
#[cfg(test)]
mod tests;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86;

use half::f16;

/// Lanes for sums of components, on every machine.
const LANES: usize = 16;

/// Vectors in a block. Their codes are side by side, so that a register lane is a vector and no
/// horizontal sums are needed.
pub(crate) const BLOCK_ROWS: usize = 32;

/// Vectors in a line.
pub(crate) const LINE_ROWS: usize = 16;

/// Components whose codes take 4 bytes of a vector.
pub(crate) const STEP_COMPONENTS: usize = 8;

/// The value of each code, in units of a vector's scale: the best 16 levels for normally
/// distributed components (Joel Max: *Quantizing for Minimum Distortion*, 1960), as integers small
/// enough that a pair of products fits in 16 bits.
pub(crate) const LEVELS: [i8; 16] =
    [-63, -48, -37, -29, -22, -15, -9, -3, 3, 9, 15, 22, 29, 37, 48, 63];

/// Added to a level for instructions that need an unsigned operand.
const LEVEL_OFFSET: i8 = 64;

/// Four bytes for each of sixteen vectors, aligned to a cache line.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Line(pub(crate) [u8; 64]);

impl Line {
    pub(crate) const ZERO: Self = Self([0; 64]);

    pub(crate) fn float(&self, lane: usize) -> f32 {
        let bytes = &self.0[4 * lane..4 * lane + 4];
        f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }
}

/// Lines of a block: two for each step (a line for each sixteen vectors), then two with the
/// vectors' scales and two with their errors, as floats.
///
/// Byte `b` of step `s` holds the code of component `4 s + b` in its low four bits and that of
/// component `4 (steps + s) + b` in its high ones.
pub(crate) const fn block_lines(steps: usize) -> usize {
    2 * steps + 4
}

/// A query, prepared for scanning blocks.
#[derive(Debug)]
pub(crate) struct Probe {
    /// The query's codes for the low and the high bits of each step.
    steps: Vec<[[i8; 4]; 2]>,
    /// The value of one unit of its codes.
    scale: f32,
    /// The sum of its codes.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    sum: i32,
}

impl Probe {
    pub(crate) fn new(steps: Vec<[[i8; 4]; 2]>, scale: f32) -> Self {
        Self {
            scale,
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            sum: steps.iter().flatten().flatten().map(|&code| i32::from(code)).sum(),
            steps,
        }
    }
}

/// Which vectors of a block are relevant: those whose score may be at least `high.at`, or at most
/// `low.at`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) high: Limit,
    pub(crate) low: Limit,
}

/// A limit, and the distance between score and guess: the vector's error, times `flat` less `slope`
/// times the guess, where that is above 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    pub(crate) at: f32,
    pub(crate) flat: f32,
    pub(crate) slope: f32,
}

impl Limit {
    #[inline]
    fn doubt(&self, guess: f32, error: f32) -> f32 {
        error * (self.flat - self.slope * if guess > 0.0 { guess } else { 0.0 })
    }
}

impl Limits {
    /// Whether a vector is relevant.
    #[inline]
    pub(crate) fn admit(&self, guess: f32, error: f32) -> bool {
        guess + self.high.doubt(guess, error) >= self.high.at
            || guess - self.low.doubt(guess, error) <= self.low.at
    }
}

/// A set of inner loops.
#[derive(Clone, Copy)]
pub(crate) struct Kernel {
    name: &'static str,
    scan: fn(&[Line], &Probe, &Limits, &mut [f32; BLOCK_ROWS]) -> u32,
    dot_halves: fn(&[f16], &[f32]) -> f32,
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl Kernel {
    /// Loops that run everywhere.
    pub(crate) const PORTABLE: Self =
        Self { name: "portable", scan: portable::scan, dot_halves: portable::dot_halves };

    /// The machine's best loops.
    pub(crate) fn detect() -> Self {
        Self::all().pop().unwrap_or(Self::PORTABLE)
    }

    /// All loops of the machine, best last.
    fn all() -> Vec<Self> {
        let mut kernels = vec![Self::PORTABLE];
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        x86::push_kernels(&mut kernels);
        #[cfg(all(target_arch = "aarch64", not(miri)))]
        neon::push_kernels(&mut kernels);
        kernels
    }

    /// Guesses the scores of a block's vectors: the sum of the products of levels and the query's
    /// codes, times both scales. Returns one bit for each vector: whether it is relevant.
    ///
    /// # Panics
    /// If the block and the query have different numbers of steps.
    #[inline]
    pub(crate) fn scan(
        self,
        block: &[Line],
        probe: &Probe,
        limits: &Limits,
        guesses: &mut [f32; BLOCK_ROWS],
    ) -> u32 {
        assert!(block.len() == block_lines(probe.steps.len()));
        (self.scan)(block, probe, limits, guesses)
    }

    /// The dot product.
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline]
    pub(crate) fn dot_halves(self, vector: &[f16], query: &[f32]) -> f32 {
        assert!(vector.len() == query.len());
        (self.dot_halves)(vector, query)
    }

    /// Prefetches a vector that is needed soon; without effect on results.
    #[inline]
    pub(crate) fn prefetch(vector: &[f16]) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        x86::prefetch(vector);
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        let _ = vector;
    }
}

/// Adds up the lanes by halves: 16 to 8 to 4 to 2 to 1.
fn sum_lanes(mut lanes: [f32; LANES]) -> f32 {
    let mut half = LANES / 2;
    while half > 0 {
        for at in 0..half {
            lanes[at] += lanes[at + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// Adds the remainder after the whole groups of lanes.
fn add_rest(lanes: &mut [f32; LANES], vector: &[f16], query: &[f32]) {
    for ((lane, a), b) in lanes.iter_mut().zip(vector).zip(query) {
        *lane += a.to_f32_const() * b;
    }
}
