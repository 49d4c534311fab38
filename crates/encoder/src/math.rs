//! The functions between the products, on sixteen floats at a time.
#![expect(clippy::inline_always, reason = "compiled with the instructions of the caller")]

use crate::simd::{LANES, Simd};

/// e to the power of `x`, to 2 units in the last place; 1e-38 for anything below -87.
///
/// With `x` = n ln 2 + r, e^x is 2^n e^r. The split of ln 2 in two and the polynomial are those of
/// `expf` in Stephen L. Moshier, *Cephes Mathematical Library*, 1989.
#[inline(always)]
fn exp<S: Simd>(simd: S, x: S::Lanes) -> S::Lanes {
    const TERMS: [f32; 6] =
        [1.987_569_2e-4, 1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 5e-1];
    let at = |number| simd.splat(number);
    // With swapped arguments, NaN would become -87.
    let x = simd.max(at(-87.0), x);
    let n = simd.round(simd.mul(x, at(std::f32::consts::LOG2_E)));
    let r = simd.mul_add(n, at(-0.693_359_4), x);
    let r = simd.mul_add(n, at(2.121_944_4e-4), r);
    let square = simd.mul(r, r);
    let sum = simd.mul_add(horner(simd, &TERMS, r), square, r);
    simd.scale(simd.add(sum, at(1.0)), n)
}

/// The polynomial with the coefficients `terms`, highest power first.
#[inline(always)]
fn horner<S: Simd>(simd: S, terms: &[f32], x: S::Lanes) -> S::Lanes {
    let mut sum = simd.splat(0.0);
    for &term in terms {
        sum = simd.mul_add(sum, x, simd.splat(term));
    }
    sum
}

/// The Gaussian error linear unit with the exact error function, x (1 + erf(x / √2)) / 2: its error
/// is below 1.5e-7 times the larger of 1 and |x|.
///
/// With y = |x| / √2 it is max(x, 0) - |x| erfc(y) / 2, in which nothing cancels. The form for erfc
/// is that of M. M. Shepherd and J. G. Laframboise, *Chebyshev approximation of (1 + 2x) exp(x²)
/// erfc x in 0 ≤ x < ∞*, Mathematics of Computation 36, 1981: a polynomial in (y - k) / (y + k).
/// With k = 2 and y up to 10, beyond which erfc is not a 32-bit float, nine powers are within
/// 1.3e-8; the coefficients are from a minimax fit.
#[inline(always)]
fn gelu<S: Simd>(simd: S, x: S::Lanes) -> S::Lanes {
    const TERMS: [f32; 10] = [
        -4.017_151_7e-4,
        -1.231_877_1e-3,
        1.313_722_5e-3,
        8.633_271e-3,
        -8.059_6e-3,
        -5.420_471e-2,
        1.640_552_7e-1,
        -1.660_313_9e-1,
        -9.276_398e-2,
        1.276_978_4,
    ];
    let at = |number| simd.splat(number);
    let zero = at(0.0);
    let negative = simd.sub(zero, x);
    let magnitude = simd.max(x, negative);
    let y = simd.mul(magnitude, at(std::f32::consts::FRAC_1_SQRT_2));
    // The smaller of y and 10.
    let y = simd.sub(zero, simd.max(simd.sub(zero, y), at(-10.0)));
    // One division for 1 / (1 + 2y) and (y - 2) / (y + 2).
    let (above, below) = (simd.mul_add(y, at(2.0), at(1.0)), simd.add(y, at(2.0)));
    let inverse = simd.div(at(1.0), simd.mul(above, below));
    let place = simd.mul(simd.mul(simd.sub(y, at(2.0)), above), inverse);
    let factor = simd.mul(below, inverse);
    let falling = exp(simd, simd.mul(simd.sub(zero, y), y));
    let erfc = simd.mul(simd.mul(horner(simd, &TERMS, place), factor), falling);
    let half = simd.mul(magnitude, at(-0.5));
    simd.mul_add(half, erfc, simd.max(x, zero))
}

#[inline(always)]
pub(crate) fn gelu_all<S: Simd>(simd: S, numbers: &mut [f32]) {
    for lanes in numbers.as_chunks_mut::<LANES>().0 {
        simd.store(gelu(simd, simd.load(lanes)), lanes);
    }
}

/// Turns the scores of one row into shares that add up to 1: the exponential of each times `scale`,
/// normalised.
#[inline(always)]
pub(crate) fn softmax<S: Simd>(simd: S, scores: &mut [f32], scale: f32) {
    let scores = scores.as_chunks_mut::<LANES>().0;
    let mut greatest = simd.splat(f32::NEG_INFINITY);
    for lanes in scores.iter() {
        greatest = simd.max(simd.load(lanes), greatest);
    }
    let greatest = simd.splat(simd.greatest(greatest));
    let scale = simd.splat(scale);
    let mut sum = simd.splat(0.0);
    for lanes in scores.iter_mut() {
        let power = exp(simd, simd.mul(simd.sub(simd.load(lanes), greatest), scale));
        sum = simd.add(sum, power);
        simd.store(power, lanes);
    }
    let share = simd.splat(1.0 / simd.sum(sum));
    for lanes in scores {
        simd.store(simd.mul(simd.load(lanes), share), lanes);
    }
}

/// Layer normalisation: scales numbers to mean 0 and variance 1, then applies the trained scale and
/// shift.
#[derive(Debug, Clone)]
pub struct Norm {
    /// The scale of each component.
    pub weight: Vec<f32>,
    /// The shift of each component.
    pub bias: Vec<f32>,
    /// Added to the variance.
    pub epsilon: f32,
}

impl Norm {
    /// Adds to a row and normalises the sum.
    #[inline(always)]
    pub(crate) fn add<S: Simd>(&self, simd: S, row: &mut [f32], added: &[f32]) {
        let (row, added) = (row.as_chunks_mut::<LANES>().0, added.as_chunks::<LANES>().0);
        let mut sum = simd.splat(0.0);
        for (lanes, added) in row.iter_mut().zip(added) {
            let both = simd.add(simd.load(lanes), simd.load(added));
            sum = simd.add(sum, both);
            simd.store(both, lanes);
        }
        let count = (row.len() * LANES) as f32;
        let mean = simd.splat(simd.sum(sum) / count);
        let mut squares = simd.splat(0.0);
        for lanes in row.iter_mut() {
            let apart = simd.sub(simd.load(lanes), mean);
            squares = simd.mul_add(apart, apart, squares);
            simd.store(apart, lanes);
        }
        let deviation = (simd.sum(squares) / count + self.epsilon).sqrt();
        let scale = simd.splat(1.0 / deviation);
        let weights = self.weight.as_chunks::<LANES>().0;
        let biases = self.bias.as_chunks::<LANES>().0;
        for ((lanes, weight), bias) in row.iter_mut().zip(weights).zip(biases) {
            let weight = simd.mul(simd.load(weight), scale);
            simd.store(simd.mul_add(simd.load(lanes), weight, simd.load(bias)), lanes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Kernel, Task};

    /// The function to apply in place.
    #[derive(Clone, Copy)]
    enum Function {
        Exp,
        Gelu,
        Softmax,
    }

    struct Apply<'a>(Function, &'a mut [f32]);

    impl Task for Apply<'_> {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) {
            let Self(function, numbers) = self;
            match function {
                Function::Exp => {
                    for lanes in numbers.as_chunks_mut::<LANES>().0 {
                        simd.store(exp(simd, simd.load(lanes)), lanes);
                    }
                }
                Function::Gelu => gelu_all(simd, numbers),
                Function::Softmax => softmax(simd, numbers, 0.5),
            }
        }
    }

    /// Applies a function with every kernel, and checks that the bits are the same.
    fn apply(function: Function, numbers: &[f32]) -> Vec<f32> {
        let run = |kernel: Kernel| {
            let mut numbers = numbers.to_vec();
            kernel.run(Apply(function, &mut numbers));
            numbers
        };
        let expected = run(Kernel::all()[0]);
        for kernel in Kernel::all() {
            assert_eq!(run(kernel), expected, "{kernel:?}");
        }
        expected
    }

    /// Numbers evenly over a range, and near zero.
    fn range(from: f32, to: f32) -> Vec<f32> {
        let count = if cfg!(miri) { 256 } else { 1 << 16 };
        let even = (0..count).map(|at| from + (to - from) * at as f32 / count as f32);
        let near = (0..LANES).map(|at| -1e-3 / (1_u64 << (4 * at)) as f32);
        even.chain(near).collect()
    }

    /// erfc in 64 bits: the series of erf near 0, and for larger numbers the continued fraction
    /// (Abramowitz and Stegun, *Handbook of Mathematical Functions*, 1964, 7.1.6 and 7.1.14).
    fn erfc(x: f64) -> f64 {
        let falling = (-x * x).exp() / std::f64::consts::PI.sqrt();
        if x < 2.5 {
            let (mut term, mut sum) = (x, x);
            for n in 1..80 {
                term *= 2.0 * x * x / f64::from(2 * n + 1);
                sum += term;
            }
            return 1.0 - 2.0 * falling * sum;
        }
        falling / (1..100).rev().fold(x, |rest, n| x + f64::from(n) / 2.0 / rest)
    }

    #[test]
    fn the_error_linear_unit_is_exact_to_its_bound() {
        let numbers = range(-15.0, 15.0);
        for (x, found) in numbers.iter().zip(apply(Function::Gelu, &numbers)) {
            let x = f64::from(*x);
            let half = erfc(x.abs() / std::f64::consts::SQRT_2) / 2.0;
            let expected = x.max(0.0) - x.abs() * half;
            let error = (f64::from(found) - expected).abs();
            assert!(error <= 1.5e-7 * x.abs().max(1.0), "{found} at {x}, expected {expected}");
        }
    }

    #[test]
    fn powers_of_e_are_exact_to_two_units_in_the_last_place() {
        let numbers = range(-87.0, 0.0);
        for (x, found) in numbers.iter().zip(apply(Function::Exp, &numbers)) {
            let expected = f64::from(*x).exp();
            let error = (f64::from(found) - expected).abs() / expected;
            assert!(error <= 2.0 * f64::from(f32::EPSILON), "{found} at {x}, expected {expected}");
        }
        let low = apply(Function::Exp, &[f32::NEG_INFINITY; LANES]);
        assert!(low.iter().all(|&it| it > 0.0 && it < 2e-38));
    }

    #[test]
    fn shares_add_up_to_1_and_a_masked_key_has_none() {
        let mut scores: Vec<f32> = (0..96_u8).map(|at| f32::from(at % 23) - 11.0).collect();
        scores[80..].fill(f32::NEG_INFINITY);
        let shares = apply(Function::Softmax, &scores);
        let powers = |at: usize| (f64::from(scores[at]) / 2.0).exp();
        let whole: f64 = (0..80).map(powers).sum();
        for (at, share) in shares.iter().enumerate() {
            let expected = if at < 80 { powers(at) / whole } else { 0.0 };
            assert!((f64::from(*share) - expected).abs() < 1e-7, "{share}, expected {expected}");
        }
    }
}
