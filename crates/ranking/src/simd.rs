//! The inner loops of vector search, in the widest instructions that the machine has.
//!
//! Every variant gives the same bits as [`Kernel::PORTABLE`]: sums of codes are whole numbers, and sums
//! of floats are kept in sixteen lanes that are added up in one fixed order, without fused operations.
#![expect(unsafe_code, reason = "SIMD kernels; every block states why it is sound")]
#![cfg_attr(
    all(target_arch = "x86_64", not(miri)),
    expect(clippy::cast_ptr_alignment, reason = "the loads and stores used need no alignment")
)]

use half::f16;

/// Lanes that float sums are kept in, on every machine.
const LANES: usize = 16;

/// Codes are padded with zeros to a multiple of this.
pub(crate) const CODES_ALIGN: usize = 64;

/// A set of inner loops.
#[derive(Clone, Copy)]
pub(crate) struct Kernel {
    pub(crate) name: &'static str,
    dot_codes: fn(&[u8], &[i8]) -> i32,
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
        Self { name: "portable", dot_codes: portable::dot_codes, dot_halves: portable::dot_halves };

    /// The best loops that this machine has.
    pub(crate) fn detect() -> Self {
        Self::all().pop().unwrap_or(Self::PORTABLE)
    }

    /// All loops that this machine has, the best last.
    pub(crate) fn all() -> Vec<Self> {
        let mut kernels = vec![Self::PORTABLE];
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        x86::push_kernels(&mut kernels);
        #[cfg(all(target_arch = "aarch64", not(miri)))]
        neon::push_kernels(&mut kernels);
        kernels
    }

    /// The sum of the products of codes.
    ///
    /// # Panics
    /// If the lengths differ or are no multiple of [`CODES_ALIGN`].
    #[inline]
    pub(crate) fn dot_codes(self, codes: &[u8], query: &[i8]) -> i32 {
        assert!(codes.len() == query.len() && codes.len().is_multiple_of(CODES_ALIGN));
        (self.dot_codes)(codes, query)
    }

    /// Has codes that are needed soon brought near; without effect on results.
    #[inline]
    pub(crate) fn prefetch(codes: &[u8]) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        x86::prefetch(codes);
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        let _ = codes;
    }

    /// The sum of the products of components.
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline]
    pub(crate) fn dot_halves(self, vector: &[f16], query: &[f32]) -> f32 {
        assert!(vector.len() == query.len());
        (self.dot_halves)(vector, query)
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

/// What is left after the whole groups of lanes.
fn add_rest(lanes: &mut [f32; LANES], vector: &[f16], query: &[f32]) {
    for ((lane, a), b) in lanes.iter_mut().zip(vector).zip(query) {
        *lane += a.to_f32_const() * b;
    }
}

mod portable {
    use super::{LANES, add_rest, f16, sum_lanes};

    pub(super) fn dot_codes(codes: &[u8], query: &[i8]) -> i32 {
        codes.iter().zip(query).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum()
    }

    pub(super) fn dot_halves(vector: &[f16], query: &[f32]) -> f32 {
        let mut lanes = [0.0; LANES];
        let (vectors, vector_rest) = vector.as_chunks::<LANES>();
        let (queries, query_rest) = query.as_chunks::<LANES>();
        for (a, b) in vectors.iter().zip(queries) {
            add_rest(&mut lanes, a, b);
        }
        add_rest(&mut lanes, vector_rest, query_rest);
        sum_lanes(lanes)
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86 {
    use std::arch::x86_64::{
        __m128i, __m256i, _MM_HINT_T0, _mm_loadu_si128, _mm_prefetch, _mm256_add_epi32,
        _mm256_add_ps, _mm256_cvtepi8_epi16, _mm256_cvtepu8_epi16, _mm256_cvtph_ps,
        _mm256_loadu_ps, _mm256_madd_epi16, _mm256_mul_ps, _mm256_setzero_ps, _mm256_setzero_si256,
        _mm256_storeu_ps, _mm256_storeu_si256, _mm512_add_epi32, _mm512_dpbusd_epi32,
        _mm512_loadu_si512, _mm512_reduce_add_epi32, _mm512_setzero_si512,
    };

    use super::{CODES_ALIGN, Kernel, LANES, add_rest, f16, sum_lanes};

    pub(super) fn push_kernels(kernels: &mut Vec<Kernel>) {
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("f16c") {
            kernels.push(Kernel {
                name: "avx2",
                dot_codes: dot_codes_avx2_checked,
                dot_halves: dot_halves_avx2_checked,
            });
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni") {
                kernels.push(Kernel {
                    name: "avx512vnni",
                    dot_codes: dot_codes_vnni_checked,
                    dot_halves: dot_halves_avx2_checked,
                });
            }
        }
    }

    #[inline]
    pub(super) fn prefetch(codes: &[u8]) {
        for line in codes.chunks(64) {
            // SAFETY: every x86-64 has SSE, and a prefetch reads nothing that the program can see.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
        }
    }

    fn dot_codes_avx2_checked(codes: &[u8], query: &[i8]) -> i32 {
        // SAFETY: `push_kernels` hands this function out only where AVX2 was detected.
        unsafe { dot_codes_avx2(codes, query) }
    }

    fn dot_codes_vnni_checked(codes: &[u8], query: &[i8]) -> i32 {
        // SAFETY: `push_kernels` hands this function out only where AVX-512F and VNNI were detected.
        unsafe { dot_codes_vnni(codes, query) }
    }

    fn dot_halves_avx2_checked(vector: &[f16], query: &[f32]) -> f32 {
        // SAFETY: `push_kernels` hands this function out only where AVX2 and F16C were detected.
        unsafe { dot_halves_avx2(vector, query) }
    }

    #[target_feature(enable = "avx2")]
    fn dot_codes_avx2(codes: &[u8], query: &[i8]) -> i32 {
        let mut sum = _mm256_setzero_si256();
        for (a, b) in codes.as_chunks::<16>().0.iter().zip(query.as_chunks::<16>().0) {
            // SAFETY: `a` and `b` are 16 readable bytes each; the loads need no alignment.
            let (a, b) = unsafe {
                (
                    _mm_loadu_si128(a.as_ptr().cast::<__m128i>()),
                    _mm_loadu_si128(b.as_ptr().cast::<__m128i>()),
                )
            };
            // 255 × 127 × 2 fits in 32 bits: the pairwise sum cannot overflow.
            let products = _mm256_madd_epi16(_mm256_cvtepu8_epi16(a), _mm256_cvtepi8_epi16(b));
            sum = _mm256_add_epi32(sum, products);
        }
        let mut lanes = [0i32; 8];
        // SAFETY: `lanes` is 32 writable bytes; the store needs no alignment.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast::<__m256i>(), sum) };
        lanes.iter().sum()
    }

    #[target_feature(enable = "avx512f,avx512vnni")]
    fn dot_codes_vnni(codes: &[u8], query: &[i8]) -> i32 {
        let (codes, query) =
            (codes.as_chunks::<CODES_ALIGN>().0, query.as_chunks::<CODES_ALIGN>().0);
        // Two sums hide the latency of the multiplication.
        let (mut even, mut odd) = (_mm512_setzero_si512(), _mm512_setzero_si512());
        for (at, (a, b)) in codes.iter().zip(query).enumerate() {
            // SAFETY: `a` and `b` are 64 readable bytes each; the loads need no alignment.
            let (a, b) = unsafe {
                (_mm512_loadu_si512(a.as_ptr().cast()), _mm512_loadu_si512(b.as_ptr().cast()))
            };
            if at % 2 == 0 {
                even = _mm512_dpbusd_epi32(even, a, b);
            } else {
                odd = _mm512_dpbusd_epi32(odd, a, b);
            }
        }
        _mm512_reduce_add_epi32(_mm512_add_epi32(even, odd))
    }

    #[target_feature(enable = "avx2,f16c")]
    fn dot_halves_avx2(vector: &[f16], query: &[f32]) -> f32 {
        let (vectors, vector_rest) = vector.as_chunks::<LANES>();
        let (queries, query_rest) = query.as_chunks::<LANES>();
        let (mut low, mut high) = (_mm256_setzero_ps(), _mm256_setzero_ps());
        for (a, b) in vectors.iter().zip(queries) {
            // SAFETY: `a` is 16 halves of 2 bytes (`f16` is a transparent `u16`), `b` is 16 floats of
            // 4 bytes; both are read in two halves, and the loads need no alignment.
            let (a_low, a_high, b_low, b_high) = unsafe {
                let (a, b) = (a.as_ptr().cast::<__m128i>(), b.as_ptr());
                (
                    _mm_loadu_si128(a),
                    _mm_loadu_si128(a.add(1)),
                    _mm256_loadu_ps(b),
                    _mm256_loadu_ps(b.add(8)),
                )
            };
            low = _mm256_add_ps(low, _mm256_mul_ps(_mm256_cvtph_ps(a_low), b_low));
            high = _mm256_add_ps(high, _mm256_mul_ps(_mm256_cvtph_ps(a_high), b_high));
        }
        let mut lanes = [0.0; LANES];
        // SAFETY: `lanes` is 16 writable floats, written in two halves; the stores need no alignment.
        unsafe {
            _mm256_storeu_ps(lanes.as_mut_ptr(), low);
            _mm256_storeu_ps(lanes.as_mut_ptr().add(8), high);
        }
        add_rest(&mut lanes, vector_rest, query_rest);
        sum_lanes(lanes)
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
mod neon {
    use std::arch::aarch64::{
        vaddq_s32, vaddvq_s32, vdupq_n_s32, vget_low_s8, vget_low_s16, vget_low_u8, vld1q_s8,
        vld1q_u8, vmlal_high_s16, vmlal_s16, vmovl_high_s8, vmovl_high_u8, vmovl_s8, vmovl_u8,
        vreinterpretq_s16_u16,
    };

    use super::{Kernel, portable};

    pub(super) fn push_kernels(kernels: &mut Vec<Kernel>) {
        if std::arch::is_aarch64_feature_detected!("neon") {
            // The compiler already turns the portable float loop into NEON's.
            kernels.push(Kernel {
                name: "neon",
                dot_codes: dot_codes_checked,
                dot_halves: portable::dot_halves,
            });
        }
    }

    fn dot_codes_checked(codes: &[u8], query: &[i8]) -> i32 {
        // SAFETY: `push_kernels` hands this function out only where NEON was detected.
        unsafe { dot_codes(codes, query) }
    }

    #[target_feature(enable = "neon")]
    fn dot_codes(codes: &[u8], query: &[i8]) -> i32 {
        let (mut low, mut high) = (vdupq_n_s32(0), vdupq_n_s32(0));
        for (a, b) in codes.as_chunks::<16>().0.iter().zip(query.as_chunks::<16>().0) {
            // SAFETY: `a` and `b` are 16 readable bytes each; the loads need no alignment.
            let (a, b) = unsafe { (vld1q_u8(a.as_ptr()), vld1q_s8(b.as_ptr())) };
            let a_low = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(a)));
            let a_high = vreinterpretq_s16_u16(vmovl_high_u8(a));
            let (b_low, b_high) = (vmovl_s8(vget_low_s8(b)), vmovl_high_s8(b));
            low = vmlal_s16(low, vget_low_s16(a_low), vget_low_s16(b_low));
            high = vmlal_high_s16(high, a_low, b_low);
            low = vmlal_s16(low, vget_low_s16(a_high), vget_low_s16(b_high));
            high = vmlal_high_s16(high, a_high, b_high);
        }
        vaddvq_s32(vaddq_s32(low, high))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{CODES_ALIGN, Kernel, f16};

    proptest! {
        #[test]
        fn every_kernel_gives_the_portable_ones_bits(
            (mut codes, mut query) in (0usize..700).prop_flat_map(|count| (
                proptest::collection::vec(any::<u8>(), count),
                proptest::collection::vec(any::<i8>(), count),
            )),
            floats in proptest::collection::vec((-2.0f32..2.0, -2.0f32..2.0), 0..700),
        ) {
            let padded = codes.len().next_multiple_of(CODES_ALIGN);
            codes.resize(padded, 0);
            query.resize(padded, 0);
            let halves: Vec<f16> = floats.iter().map(|(a, _)| f16::from_f32(*a)).collect();
            let singles: Vec<f32> = floats.iter().map(|(_, b)| *b).collect();
            for kernel in Kernel::all() {
                prop_assert_eq!(
                    kernel.dot_codes(&codes, &query), Kernel::PORTABLE.dot_codes(&codes, &query),
                );
                prop_assert_eq!(
                    kernel.dot_halves(&halves, &singles).to_bits(),
                    Kernel::PORTABLE.dot_halves(&halves, &singles).to_bits(),
                );
            }
        }
    }

    #[test]
    fn the_largest_codes_do_not_overflow() {
        let (codes, query) = (vec![255; 16_384], vec![-128; 16_384]);
        for kernel in Kernel::all() {
            assert_eq!(kernel.dot_codes(&codes, &query), -255 * 128 * 16_384, "{kernel:?}");
        }
    }
}
