//! 64-bit x86: AVX-512, or AVX2 with FMA and F16C.
#![expect(unsafe_code, reason = "vector instructions; every block states why it is sound")]

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
        // SAFETY: a value of the type of this method exists only where `detect` found its
        // instructions. Pointers come from references to arrays of exactly as many bytes as are
        // read or written, and the loads and stores used need no alignment.
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
            |lane| intrinsic!(_mm256_round_ps::<NEAREST>(lane)),
        )
    }

    #[inline(always)]
    fn scale(self, a: Self::Lanes, n: Self::Lanes) -> Self::Lanes {
        let power = n.map(
            #[inline(always)]
            |n| {
                intrinsic!({
                    let exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
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
    // SAFETY: every x86-64 has SSE, and a prefetch reads nothing visible to the program, so the
    // address may be anywhere.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(from.as_ptr().wrapping_add(at).cast()) };
}
