//! Matrix products, most of the work.
//!
//! Weights are packed once, when a model is loaded, into panels of 32 columns in reading order, as
//! 16-bit floats: for a short text, reading them is the bottleneck, and half the bytes take half
//! the time. Widening them in registers costs a twelfth of an instruction for each multiplication.
//! A tile of rows and columns stays in registers over the whole depth.
//!
//! Each number of a product is one sum that starts with the bias and runs over the depth from first
//! to last, whatever else is computed: a text's vector has the same bits alone, in a batch, and on
//! any number of threads.
//!
//! The crate `gemm`, which candle uses, packs the weights again in every call. Measured on a busy
//! Zen 5 (AVX-512, one thread, alternating copies of a matrix, so that they come from memory), in
//! 10⁹ operations a second, in three runs:
//!
//! | rows | 12 | 20 | 97 | 640 |
//! |---|---|---|---|---|
//! | `gemm` as candle builds it (AVX2) | 35 | 47 | 92 | 114 |
//! | `gemm` with its feature `x86-v4` (AVX-512) | 44 | 63 | 146 | 212 |
//! | this, panels of 32-bit floats | 76 | 104 | 184 | 216 |
//! | this, panels of 16-bit floats | 187 | 193 | 231 | 228 |
#![expect(clippy::inline_always, reason = "compiled with the instructions of the caller")]

use half::f16;
use half::slice::HalfFloatSliceExt as _;

use crate::math;
use crate::simd::{LANES, Simd, Task};

/// Columns of a panel.
pub const PANEL: usize = 2 * LANES;

/// How many lines of a panel, of 64 bytes each, are prefetched ahead of use.
const AHEAD: usize = 24;

/// A panel's contents at one depth.
type Line<W> = [[W; LANES]; 2];

/// A number of a panel.
pub(crate) trait Weight: Copy {
    fn load<S: Simd>(simd: S, from: &[Self; LANES]) -> S::Lanes;
}

impl Weight for f16 {
    #[inline(always)]
    fn load<S: Simd>(simd: S, from: &[Self; LANES]) -> S::Lanes {
        simd.load_halves(from)
    }
}

impl Weight for f32 {
    #[inline(always)]
    fn load<S: Simd>(simd: S, from: &[Self; LANES]) -> S::Lanes {
        simd.load(from)
    }
}

/// Converts numbers to the lines of panels.
pub(crate) fn lines<W>(numbers: &[W]) -> &[Line<W>] {
    numbers.as_chunks::<LANES>().0.as_chunks::<2>().0
}

/// The left side of a product: `count` rows, each starting `stride` numbers after the start of the
/// previous one.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) numbers: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) count: usize,
}

/// The destination of a panel's part of a product: rows as wide as the panel, each starting
/// `stride` numbers after the start of the previous one.
pub(crate) struct Out<'a> {
    pub(crate) numbers: &'a mut [f32],
    pub(crate) stride: usize,
}

/// Rows times one panel, plus `first` in each row.
#[inline(always)]
pub(crate) fn multiply<S: Simd, W: Weight>(
    simd: S,
    left: Rows<'_>,
    panel: &[Line<W>],
    first: &Line<f32>,
    out: &mut Out<'_>,
) {
    // Tiles of nearly equal numbers of rows.
    let tiles = left.count.div_ceil(S::TILE.0);
    let mut from = 0;
    for tile in 0..tiles {
        let count = (left.count - from).div_ceil(tiles - tile);
        let left = Rows { numbers: &left.numbers[from * left.stride..], count, ..left };
        let numbers = &mut out.numbers[from * out.stride..];
        let mut out = Out { numbers, stride: out.stride };
        if const { S::TILE.1 == 2 } {
            tile_of::<S, W, 2>(simd, left, panel, first, &mut out, 0);
        } else {
            tile_of::<S, W, 1>(simd, left, panel, first, &mut out, 0);
            tile_of::<S, W, 1>(simd, left, panel, first, &mut out, 1);
        }
        from += count;
    }
}

/// One tile, in code specialised for its number of rows. The conditions are `const`, so that tiles
/// that are too large for the registers are never compiled.
#[inline(always)]
fn tile_of<S: Simd, W: Weight, const HALVES: usize>(
    simd: S,
    left: Rows<'_>,
    panel: &[Line<W>],
    first: &Line<f32>,
    out: &mut Out<'_>,
    half: usize,
) {
    macro_rules! by_rows {
        ($($rows:literal)*) => {
            match left.count {
                $($rows if const { $rows <= S::TILE.0 } => {
                    tile::<S, W, $rows, HALVES>(simd, left, panel, first, out, half);
                })*
                _ => {}
            }
        };
    }
    by_rows!(1 2 3 4 5 6 7 8 9 10 11 12);
}

#[inline(always)]
fn tile<S: Simd, W: Weight, const ROWS: usize, const HALVES: usize>(
    simd: S,
    left: Rows<'_>,
    panel: &[Line<W>],
    first: &Line<f32>,
    out: &mut Out<'_>,
    half: usize,
) {
    let depth = panel.len();
    let rows: [&[f32]; ROWS] =
        std::array::from_fn(|row| &left.numbers[row * left.stride..][..depth]);
    let mut sums = [[simd.splat(0.0); HALVES]; ROWS];
    for sums in &mut sums {
        for (sum, first) in sums.iter_mut().zip(&first[half..]) {
            *sum = simd.load(first);
        }
    }
    for at in 0..depth {
        simd.prefetch(panel, at + AHEAD);
        let mut weights = [simd.splat(0.0); HALVES];
        for (lanes, weight) in weights.iter_mut().zip(&panel[at][half..]) {
            *lanes = W::load(simd, weight);
        }
        for (sums, row) in sums.iter_mut().zip(&rows) {
            let number = simd.splat(row[at]);
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum = simd.mul_add(number, weight, *sum);
            }
        }
    }
    for (row, sums) in sums.into_iter().enumerate() {
        let out = out.numbers[row * out.stride..][..PANEL].as_chunks_mut::<LANES>().0;
        for (sum, out) in sums.into_iter().zip(&mut out[half..]) {
            simd.store(sum, out);
        }
    }
}

/// Numbers as 16-bit floats, if these represent them closely: the error's length is below one part
/// in 2,048 of the numbers'. That holds unless many of them are below 6e-5, or one is above 65,504
/// or NaN.
pub fn halves(numbers: &[f32]) -> Option<Vec<f16>> {
    let mut halves = vec![f16::ZERO; numbers.len()];
    halves.convert_from_f32_slice(numbers);
    let mut again = [0.0; 1024];
    let (mut error, mut whole) = (0.0, 0.0);
    for (numbers, halves) in numbers.chunks(again.len()).zip(halves.chunks(again.len())) {
        let again = &mut again[..halves.len()];
        halves.convert_to_f32_slice(again);
        let (mut errors, mut squares) = ([0.0; 16], [0.0; 16]);
        for (numbers, again) in numbers.chunks(16).zip(again.chunks(16)) {
            for (at, (number, again)) in numbers.iter().zip(again).enumerate() {
                errors[at] += (number - again) * (number - again);
                squares[at] += number * number;
            }
        }
        error += errors.iter().sum::<f32>();
        whole += squares.iter().sum::<f32>();
    }
    (error * 2048_f32.powi(2) < whole).then_some(halves)
}

/// A linear step: its weights in panels, and its biases.
#[derive(Debug)]
pub struct Linear {
    depth: usize,
    panels: Vec<f16>,
    bias: Vec<f32>,
}

impl Linear {
    /// Packs weights whose rows, of `depth` numbers, each belong to one output; several such
    /// matrices become one, their outputs side by side. The outputs of each are a multiple of
    /// [`PANEL`].
    pub fn pack<'a>(depth: usize, parts: impl IntoIterator<Item = (&'a [f16], &'a [f32])>) -> Self {
        let mut linear = Self { depth, panels: Vec::new(), bias: Vec::new() };
        for (weights, bias) in parts {
            linear.bias.extend(bias);
            let mut panels = vec![f16::ZERO; weights.len()];
            for (columns, panel) in
                weights.chunks_exact(depth * PANEL).zip(panels.chunks_exact_mut(depth * PANEL))
            {
                for (column, weights) in columns.chunks_exact(depth).enumerate() {
                    for (line, &weight) in panel.chunks_exact_mut(PANEL).zip(weights) {
                        line[column] = weight;
                    }
                }
            }
            linear.panels.append(&mut panels);
        }
        linear.panels.shrink_to_fit();
        linear
    }

    pub(crate) fn width(&self) -> usize {
        self.bias.len()
    }

    /// The step for consecutive rows without a gap, in `input` and in `output`.
    pub(crate) fn of<'a>(&'a self, input: &'a [f32], output: &'a mut [f32]) -> Step<'a> {
        Step { linear: self, input, output, activated: false }
    }
}

/// A linear step, ready to run.
pub(crate) struct Step<'a> {
    linear: &'a Linear,
    input: &'a [f32],
    output: &'a mut [f32],
    activated: bool,
}

impl Step<'_> {
    /// Applies the error linear unit to the outputs.
    pub(crate) fn activated(self) -> Self {
        Self { activated: true, ..self }
    }
}

impl Task for Step<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Linear { depth, panels, bias } = self.linear;
        let (stride, width) = (*depth, bias.len());
        let left = Rows { numbers: self.input, stride, count: self.input.len() / stride };
        let panels = panels.chunks_exact(stride * PANEL);
        for ((place, panel), first) in panels.enumerate().zip(lines(bias)) {
            let numbers = &mut self.output[place * PANEL..];
            multiply(simd, left, lines(panel), first, &mut Out { numbers, stride: width });
            if self.activated {
                // While the panel's part of the rows is still in the cache.
                for row in self.output[place * PANEL..].chunks_mut(width) {
                    math::gelu_all(simd, &mut row[..PANEL]);
                }
            }
        }
    }
}
