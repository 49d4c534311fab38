//! Sixteen floats at a time, in the widest instructions that the machine has.
//!
//! Every operation is one that IEEE 754 rounds exactly, multiplication and addition are one step
//! everywhere, and lanes are added up in one order. So what is computed with these has the same
//! bits on every machine and in every variant; [`Portable`] says what they are.
#![expect(unsafe_code, reason = "SIMD kernels; every block states why it is sound")]
#![expect(clippy::inline_always, reason = "compiled with the instructions of the caller")]

use half::f16;

/// Floats that are worked on together.
pub(super) const LANES: usize = 16;

/// Something to compute, for any instructions. `run` must be `#[inline(always)]` down to the
/// operations, so that all of it is compiled with the instructions it is called for.
pub(super) trait Task {
    type Output;
    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

/// Operations on [`LANES`] floats. A value of such a type is the proof that the machine has the
/// instructions.
pub(super) trait Simd: Copy {
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
    /// The greater one; `b` where they are equal or one is not a number.
    fn max(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes;
    /// The nearest whole number, the even one of two.
    fn round(self, lanes: Self::Lanes) -> Self::Lanes;
    /// `a` times 2 to the power of `n`, a whole number from -126 to 127.
    fn scale(self, a: Self::Lanes, n: Self::Lanes) -> Self::Lanes;
    /// Has memory that is needed soon brought near; without effect on results.
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

/// Instructions to run tasks with.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kernel {
    Portable(Portable),
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx2(x86::Avx2),
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx512(x86::Avx512),
}

impl Kernel {
    /// The best kernel of this machine; `None` where all that runs is portable and slow, because
    /// a fused multiplication and addition is a call there.
    pub(super) fn detect() -> Option<Self> {
        let fused = cfg!(any(target_arch = "aarch64", target_feature = "fma"));
        Self::all().pop().filter(|best| fused || !matches!(best, Self::Portable(_)))
    }

    /// All kernels of this machine, the best last.
    pub(super) fn all() -> Vec<Self> {
        let mut kernels = vec![Self::Portable(Portable)];
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        kernels.extend(
            [x86::Avx2::detect().map(Self::Avx2), x86::Avx512::detect().map(Self::Avx512)]
                .into_iter()
                .flatten(),
        );
        kernels
    }

    pub(super) fn run<T: Task>(self, task: T) -> T::Output {
        match self {
            Self::Portable(simd) => task.run(simd),
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Self::Avx2(simd) => simd.run(task),
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Self::Avx512(simd) => simd.run(task),
        }
    }
}

/// Plain code, which a compiler turns into NEON on the 64-bit ARM.
#[derive(Debug, Clone, Copy)]
pub(super) struct Portable;

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

    /// In steps that a compiler can do for many at once: a half's exponent and fraction, moved to
    /// a float's places, are the number divided by 2 to the power of 112. Not for infinities.
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

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86 {
    use std::arch::x86_64::{
        __m256, __m512, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT, _MM_HINT_T0, _mm_loadu_si128,
        _mm_prefetch, _mm256_add_epi32, _mm256_add_ps, _mm256_castsi256_ps, _mm256_cvtph_ps,
        _mm256_cvtps_epi32, _mm256_div_ps, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_loadu_si256,
        _mm256_max_ps, _mm256_mul_ps, _mm256_round_ps, _mm256_set1_epi32, _mm256_set1_ps,
        _mm256_slli_epi32, _mm256_storeu_ps, _mm256_sub_ps, _mm512_add_epi32, _mm512_add_ps,
        _mm512_castsi512_ps, _mm512_cvtph_ps, _mm512_cvtps_epi32, _mm512_div_ps, _mm512_fmadd_ps,
        _mm512_loadu_ps, _mm512_max_ps, _mm512_mul_ps, _mm512_roundscale_ps, _mm512_set1_epi32,
        _mm512_set1_ps, _mm512_slli_epi32, _mm512_storeu_ps, _mm512_sub_ps,
    };

    use super::{LANES, Simd, Task, f16};

    const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

    /// An intrinsic in a method of [`Avx2`] or [`Avx512`].
    macro_rules! intrinsic {
        ($call:expr) => {
            // SAFETY: a value of the type whose method this is exists only where `detect` found
            // its instructions. Pointers come from references to arrays of exactly as many bytes
            // as are read or written, and the loads and stores used need no alignment.
            unsafe { $call }
        };
    }

    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Avx512(());

    impl Avx512 {
        pub(super) fn detect() -> Option<Self> {
            is_x86_feature_detected!("avx512f").then_some(Self(()))
        }

        pub(super) fn run<T: Task>(self, task: T) -> T::Output {
            #[target_feature(enable = "avx512f")]
            fn run<T: Task>(simd: Avx512, task: T) -> T::Output {
                task.run(simd)
            }
            intrinsic!(run(self, task))
        }
    }

    impl Simd for Avx512 {
        type Lanes = __m512;
        const TILE: (usize, usize) = (12, 2);

        #[inline(always)]
        fn splat(self, number: f32) -> __m512 {
            intrinsic!(_mm512_set1_ps(number))
        }

        #[inline(always)]
        fn load(self, from: &[f32; LANES]) -> __m512 {
            intrinsic!(_mm512_loadu_ps(from.as_ptr()))
        }

        #[inline(always)]
        fn load_halves(self, from: &[f16; LANES]) -> __m512 {
            intrinsic!(_mm512_cvtph_ps(_mm256_loadu_si256(from.as_ptr().cast())))
        }

        #[inline(always)]
        fn store(self, lanes: __m512, to: &mut [f32; LANES]) {
            intrinsic!(_mm512_storeu_ps(to.as_mut_ptr(), lanes));
        }

        #[inline(always)]
        fn add(self, a: __m512, b: __m512) -> __m512 {
            intrinsic!(_mm512_add_ps(a, b))
        }

        #[inline(always)]
        fn sub(self, a: __m512, b: __m512) -> __m512 {
            intrinsic!(_mm512_sub_ps(a, b))
        }

        #[inline(always)]
        fn mul(self, a: __m512, b: __m512) -> __m512 {
            intrinsic!(_mm512_mul_ps(a, b))
        }

        #[inline(always)]
        fn div(self, a: __m512, b: __m512) -> __m512 {
            intrinsic!(_mm512_div_ps(a, b))
        }

        #[inline(always)]
        fn mul_add(self, a: __m512, b: __m512, c: __m512) -> __m512 {
            intrinsic!(_mm512_fmadd_ps(a, b, c))
        }

        #[inline(always)]
        fn max(self, a: __m512, b: __m512) -> __m512 {
            intrinsic!(_mm512_max_ps(a, b))
        }

        #[inline(always)]
        fn round(self, lanes: __m512) -> __m512 {
            intrinsic!(_mm512_roundscale_ps::<NEAREST>(lanes))
        }

        #[inline(always)]
        fn scale(self, a: __m512, n: __m512) -> __m512 {
            intrinsic!({
                let exponent = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
                _mm512_mul_ps(a, _mm512_castsi512_ps(_mm512_slli_epi32::<23>(exponent)))
            })
        }

        #[inline(always)]
        fn prefetch<T>(self, from: &[T], at: usize) {
            prefetch(from, at);
        }
    }

    /// Two registers of eight.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Avx2(());

    impl Avx2 {
        pub(super) fn detect() -> Option<Self> {
            let all = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c");
            all.then_some(Self(()))
        }

        pub(super) fn run<T: Task>(self, task: T) -> T::Output {
            #[target_feature(enable = "avx2,fma,f16c")]
            fn run<T: Task>(simd: Avx2, task: T) -> T::Output {
                task.run(simd)
            }
            intrinsic!(run(self, task))
        }
    }

    impl Simd for Avx2 {
        type Lanes = [__m256; 2];
        const TILE: (usize, usize) = (6, 1);

        #[inline(always)]
        fn splat(self, number: f32) -> Self::Lanes {
            [intrinsic!(_mm256_set1_ps(number)); 2]
        }

        #[inline(always)]
        fn load(self, from: &[f32; LANES]) -> Self::Lanes {
            let from = from.as_ptr();
            intrinsic!([_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))])
        }

        #[inline(always)]
        fn load_halves(self, from: &[f16; LANES]) -> Self::Lanes {
            let from = from.as_ptr();
            intrinsic!([
                _mm256_cvtph_ps(_mm_loadu_si128(from.cast())),
                _mm256_cvtph_ps(_mm_loadu_si128(from.add(8).cast())),
            ])
        }

        #[inline(always)]
        fn store(self, lanes: Self::Lanes, to: &mut [f32; LANES]) {
            let to = to.as_mut_ptr();
            intrinsic!({
                _mm256_storeu_ps(to, lanes[0]);
                _mm256_storeu_ps(to.add(8), lanes[1]);
            });
        }

        #[inline(always)]
        fn add(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes {
            intrinsic!([_mm256_add_ps(a[0], b[0]), _mm256_add_ps(a[1], b[1])])
        }

        #[inline(always)]
        fn sub(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes {
            intrinsic!([_mm256_sub_ps(a[0], b[0]), _mm256_sub_ps(a[1], b[1])])
        }

        #[inline(always)]
        fn mul(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes {
            intrinsic!([_mm256_mul_ps(a[0], b[0]), _mm256_mul_ps(a[1], b[1])])
        }

        #[inline(always)]
        fn div(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes {
            intrinsic!([_mm256_div_ps(a[0], b[0]), _mm256_div_ps(a[1], b[1])])
        }

        #[inline(always)]
        fn mul_add(self, a: Self::Lanes, b: Self::Lanes, c: Self::Lanes) -> Self::Lanes {
            intrinsic!([_mm256_fmadd_ps(a[0], b[0], c[0]), _mm256_fmadd_ps(a[1], b[1], c[1])])
        }

        #[inline(always)]
        fn max(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes {
            intrinsic!([_mm256_max_ps(a[0], b[0]), _mm256_max_ps(a[1], b[1])])
        }

        #[inline(always)]
        fn round(self, lanes: Self::Lanes) -> Self::Lanes {
            lanes.map(
                #[inline(always)]
                |it| intrinsic!(_mm256_round_ps::<NEAREST>(it)),
            )
        }

        #[inline(always)]
        fn scale(self, a: Self::Lanes, n: Self::Lanes) -> Self::Lanes {
            let power = n.map(
                #[inline(always)]
                |n| {
                    intrinsic!({
                        let exponent =
                            _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
                        _mm256_castsi256_ps(_mm256_slli_epi32::<23>(exponent))
                    })
                },
            );
            self.mul(a, power)
        }

        #[inline(always)]
        fn prefetch<T>(self, from: &[T], at: usize) {
            prefetch(from, at);
        }
    }

    #[inline(always)]
    fn prefetch<T>(from: &[T], at: usize) {
        // SAFETY: every x86-64 has SSE, and a prefetch reads nothing that the program can see, so
        // that the address may be anywhere.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.as_ptr().wrapping_add(at).cast()) };
    }
}

#[cfg(test)]
mod tests;
