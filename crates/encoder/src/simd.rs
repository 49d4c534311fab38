//! Sixteen floats at a time, in the machine's widest instructions.
//!
//! Every operation is one that IEEE 754 rounds exactly, multiplication and addition are fused
//! everywhere, and lanes are added up in one order. So results have the same bits on every machine
//! and in every variant; [`Portable`] defines them.
#![expect(clippy::inline_always, reason = "compiled with the instructions of the caller")]

#[cfg(test)]
mod tests;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86;

use half::f16;

/// Floats processed together.
pub(crate) const LANES: usize = 16;

/// A computation, for any instructions. `run` must be `#[inline(always)]` down to the operations,
/// so that all of it is compiled with the instructions it is called for.
pub(crate) trait Task {
    type Output;
    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

/// Operations on [`LANES`] floats. A value of such a type proves that the machine has the
/// instructions.
pub(crate) trait Simd: Copy {
    type Lanes: Copy;
    /// Rows and halves of a panel whose sums fit in the registers.
    const TILE: (usize, usize);

    fn splat(self, number: f32) -> Self::Lanes;
    fn load(self, from: &[f32; LANES]) -> Self::Lanes;
    fn load_halves(self, from: &[f16; LANES]) -> Self::Lanes;
    fn store(self, lanes: Self::Lanes, to: &mut [f32; LANES]);
    fn add(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes;
    fn sub(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes;
    fn mul(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes;
    fn div(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes;
    /// `a * b + c`, rounded once.
    fn mul_add(self, a: Self::Lanes, b: Self::Lanes, c: Self::Lanes) -> Self::Lanes;
    /// The greater one; `b` if they are equal or one is NaN.
    fn max(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes;
    /// The nearest integer; of two, the even one.
    fn round(self, lanes: Self::Lanes) -> Self::Lanes;
    /// `a` times 2 to the power of `n`, an integer from -126 to 127.
    fn scale(self, a: Self::Lanes, n: Self::Lanes) -> Self::Lanes;
    /// Prefetches memory that is needed soon; without effect on results.
    fn prefetch<T>(self, from: &[T], at: usize);

    /// The sum over the lanes, by halves: 16 to 8 to 4 to 2 to 1.
    #[inline(always)]
    fn sum(self, lanes: Self::Lanes) -> f32 {
        self.by_halves(lanes, |a, b| a + b)
    }

    /// The greatest of the lanes.
    #[inline(always)]
    fn greatest(self, lanes: Self::Lanes) -> f32 {
        self.by_halves(lanes, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn by_halves(self, lanes: Self::Lanes, join: impl Fn(f32, f32) -> f32) -> f32 {
        let mut array = [0.0; LANES];
        self.store(lanes, &mut array);
        let mut half = LANES / 2;
        while half > 0 {
            for at in 0..half {
                array[at] = join(array[at], array[at + half]);
            }
            half /= 2;
        }
        array[0]
    }
}

/// Vector instructions that this machine has.
#[derive(Debug, Clone, Copy)]
pub struct Kernel(Instructions);

#[derive(Debug, Clone, Copy)]
enum Instructions {
    Portable(Portable),
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx2(x86::Avx2),
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx512(x86::Avx512),
}

impl Kernel {
    /// The best kernel of this machine; `None` if only the portable one runs and is slow, because a
    /// fused multiply-add is a function call there.
    pub fn detect() -> Option<Self> {
        let fused = cfg!(any(target_arch = "aarch64", target_feature = "fma"));
        Self::all().pop().filter(|best| fused || !matches!(best.0, Instructions::Portable(_)))
    }

    /// All kernels of this machine, best last.
    pub fn all() -> Vec<Self> {
        let mut kernels = vec![Instructions::Portable(Portable)];
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        kernels.extend(
            [
                x86::Avx2::detect().map(Instructions::Avx2),
                x86::Avx512::detect().map(Instructions::Avx512),
            ]
            .into_iter()
            .flatten(),
        );
        kernels.into_iter().map(Self).collect()
    }

    /// The name of the instructions.
    pub fn name(self) -> &'static str {
        match self.0 {
            Instructions::Portable(_) => "portable",
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Instructions::Avx2(_) => "AVX2",
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Instructions::Avx512(_) => "AVX-512",
        }
    }

    pub(crate) fn run<T: Task>(self, task: T) -> T::Output {
        match self.0 {
            Instructions::Portable(simd) => task.run(simd),
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Instructions::Avx2(simd) => simd.run(task),
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Instructions::Avx512(simd) => simd.run(task),
        }
    }
}

/// Plain code, which a compiler turns into NEON on 64-bit ARM.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Portable;

impl Portable {
    #[inline(always)]
    fn each(f: impl Fn(usize) -> f32) -> [f32; LANES] {
        std::array::from_fn(f)
    }
}

impl Simd for Portable {
    type Lanes = [f32; LANES];
    const TILE: (usize, usize) = (6, 1);

    #[inline(always)]
    fn splat(self, number: f32) -> Self::Lanes {
        [number; LANES]
    }

    #[inline(always)]
    fn load(self, from: &[f32; LANES]) -> Self::Lanes {
        *from
    }

    /// In steps that a compiler can vectorise: a half's exponent and fraction, moved to a float's
    /// positions, are the number divided by 2 to the power of 112. Not for infinities.
    #[inline(always)]
    fn load_halves(self, from: &[f16; LANES]) -> Self::Lanes {
        let two_to_112 = f32::from_bits((127 + 112) << 23);
        Self::each(|at| {
            let bits = u32::from(from[at].to_bits());
            let magnitude = f32::from_bits((bits & 0x7FFF) << 13) * two_to_112;
            f32::from_bits(magnitude.to_bits() | (bits & 0x8000) << 16)
        })
    }

    #[inline(always)]
    fn store(self, lanes: Self::Lanes, to: &mut [f32; LANES]) {
        *to = lanes;
    }

    #[inline(always)]
    fn add(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes {
        Self::each(|at| a[at] + b[at])
    }

    #[inline(always)]
    fn sub(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes {
        Self::each(|at| a[at] - b[at])
    }

    #[inline(always)]
    fn mul(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes {
        Self::each(|at| a[at] * b[at])
    }

    #[inline(always)]
    fn div(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes {
        Self::each(|at| a[at] / b[at])
    }

    #[inline(always)]
    fn mul_add(self, a: Self::Lanes, b: Self::Lanes, c: Self::Lanes) -> Self::Lanes {
        Self::each(|at| a[at].mul_add(b[at], c[at]))
    }

    #[inline(always)]
    fn max(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes {
        Self::each(|at| if a[at] > b[at] { a[at] } else { b[at] })
    }

    #[inline(always)]
    fn round(self, lanes: Self::Lanes) -> Self::Lanes {
        Self::each(|at| lanes[at].round_ties_even())
    }

    #[inline(always)]
    fn scale(self, a: Self::Lanes, n: Self::Lanes) -> Self::Lanes {
        Self::each(|at| a[at] * f32::from_bits(((n[at] as i32 + 127) << 23).cast_unsigned()))
    }

    #[inline(always)]
    fn prefetch<T>(self, _from: &[T], _at: usize) {}
}
