#![expect(clippy::cast_ptr_alignment, reason = "the loads and stores used need no alignment")]

use std::arch::x86_64::{
    __m128i, __m256, __m256i, __m512, __m512i, _CMP_GE_OQ, _CMP_LE_OQ, _MM_HINT_T0,
    _mm_loadu_si128, _mm_prefetch, _mm256_add_epi32, _mm256_add_ps, _mm256_and_si256,
    _mm256_broadcastsi128_si256, _mm256_cmp_ps, _mm256_cvtepi32_ps, _mm256_cvtph_ps,
    _mm256_loadu_ps, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_max_ps,
    _mm256_movemask_ps, _mm256_mul_ps, _mm256_or_ps, _mm256_set1_epi8, _mm256_set1_epi16,
    _mm256_set1_epi32, _mm256_set1_ps, _mm256_setzero_ps, _mm256_setzero_si256,
    _mm256_shuffle_epi8, _mm256_srli_epi16, _mm256_storeu_ps, _mm256_sub_epi32, _mm256_sub_ps,
    _mm512_add_epi32, _mm512_add_ps, _mm512_and_si512, _mm512_broadcast_i32x4, _mm512_cmp_ps_mask,
    _mm512_cvtepi32_ps, _mm512_cvtph_ps, _mm512_dpbusd_epi32, _mm512_loadu_ps, _mm512_loadu_si512,
    _mm512_max_ps, _mm512_mul_ps, _mm512_set1_epi8, _mm512_set1_epi32, _mm512_set1_ps,
    _mm512_setzero_ps, _mm512_setzero_si512, _mm512_shuffle_epi8, _mm512_srli_epi16,
    _mm512_storeu_ps, _mm512_sub_epi32, _mm512_sub_ps,
};

use half::f16;

use super::{
    BLOCK_ROWS, Kernel, LANES, LEVEL_OFFSET, LEVELS, Limit, Limits, Line, Probe, add_rest,
    sum_lanes,
};

/// The levels as unsigned numbers.
const LEVELS_UNSIGNED: [u8; 16] = {
    let mut levels = [0; 16];
    let mut code = 0;
    while code < 16 {
        levels[code] = (LEVELS[code] + (LEVEL_OFFSET - 1)) as u8 + 1;
        code += 1;
    }
    levels
};

/// The prefetch distance of a scan; the hardware prefetcher stops at page boundaries.
const AHEAD_BYTES: usize = 8192;

pub(super) fn push_kernels(kernels: &mut Vec<Kernel>) {
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("f16c") {
        kernels.push(Kernel {
            name: "avx2",
            scan: scan_avx2_checked,
            dot_halves: dot_halves_avx2_checked,
        });
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vnni")
        {
            kernels.push(Kernel {
                name: "avx512vnni",
                scan: scan_avx512_checked,
                dot_halves: dot_halves_avx512_checked,
            });
        }
    }
}

#[inline]
fn prefetch_line(address: *const u8) {
    // SAFETY: every x86-64 has SSE, and a prefetch reads nothing visible to the program, whatever
    // the address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
}

#[inline]
pub(super) fn prefetch(vector: &[f16]) {
    for line in vector.chunks(32) {
        prefetch_line(line.as_ptr().cast());
    }
}

fn scan_avx2_checked(
    block: &[Line],
    probe: &Probe,
    limits: &Limits,
    guesses: &mut [f32; BLOCK_ROWS],
) -> u32 {
    // SAFETY: `push_kernels` adds this function only where AVX2 was detected.
    unsafe { scan_avx2(block, probe, limits, guesses) }
}

fn scan_avx512_checked(
    block: &[Line],
    probe: &Probe,
    limits: &Limits,
    guesses: &mut [f32; BLOCK_ROWS],
) -> u32 {
    // SAFETY: `push_kernels` adds this function only where AVX-512F, BW and VNNI were detected.
    unsafe { scan_avx512(block, probe, limits, guesses) }
}

fn dot_halves_avx2_checked(vector: &[f16], query: &[f32]) -> f32 {
    // SAFETY: `push_kernels` adds this function only where AVX2 and F16C were detected.
    unsafe { dot_halves_avx2(vector, query) }
}

fn dot_halves_avx512_checked(vector: &[f16], query: &[f32]) -> f32 {
    // SAFETY: `push_kernels` adds this function only where AVX-512F was detected.
    unsafe { dot_halves_avx512(vector, query) }
}

#[target_feature(enable = "avx2")]
fn scan_avx2(
    block: &[Line],
    probe: &Probe,
    limits: &Limits,
    guesses: &mut [f32; BLOCK_ROWS],
) -> u32 {
    // SAFETY: 16 readable bytes; the load needs no alignment.
    let levels = unsafe { _mm_loadu_si128(LEVELS_UNSIGNED.as_ptr().cast::<__m128i>()) };
    let levels = _mm256_broadcastsi128_si256(levels);
    let (mask, ones) = (_mm256_set1_epi8(15), _mm256_set1_epi16(1));
    let mut sums = [_mm256_setzero_si256(); 4];
    let (codes, rest) = block.split_at(2 * probe.steps.len());
    for (lines, [low, high]) in codes.as_chunks::<2>().0.iter().zip(&probe.steps) {
        let low = _mm256_set1_epi32(i32::from_le_bytes(low.map(i8::cast_unsigned)));
        let high = _mm256_set1_epi32(i32::from_le_bytes(high.map(i8::cast_unsigned)));
        for (half, sum) in sums.iter_mut().enumerate() {
            let bytes = lines[half / 2].0[half % 2 * 32..].as_ptr();
            prefetch_line(bytes.wrapping_add(AHEAD_BYTES));
            // SAFETY: 32 of the 64 bytes of a line; the load needs no alignment.
            let codes = unsafe { _mm256_loadu_si256(bytes.cast::<__m256i>()) };
            let a = _mm256_shuffle_epi8(levels, _mm256_and_si256(codes, mask));
            let codes = _mm256_srli_epi16::<4>(codes);
            let b = _mm256_shuffle_epi8(levels, _mm256_and_si256(codes, mask));
            // 127 × 128 × 2 fits in 16 bits: the pairwise sums cannot saturate.
            let a = _mm256_madd_epi16(_mm256_maddubs_epi16(a, low), ones);
            let b = _mm256_madd_epi16(_mm256_maddubs_epi16(b, high), ones);
            *sum = _mm256_add_epi32(*sum, _mm256_add_epi32(a, b));
        }
    }
    let offset = _mm256_set1_epi32(i32::from(LEVEL_OFFSET) * probe.sum);
    let mut interesting = 0;
    for (half, sum) in sums.into_iter().enumerate() {
        // SAFETY: 32 of the 64 bytes of a line each; the loads need no alignment.
        let (scales, errors) = unsafe {
            let at = half % 2 * 32;
            (
                _mm256_loadu_ps(rest[half / 2].0[at..].as_ptr().cast()),
                _mm256_loadu_ps(rest[2 + half / 2].0[at..].as_ptr().cast()),
            )
        };
        let sum = _mm256_cvtepi32_ps(_mm256_sub_epi32(sum, offset));
        let guess = _mm256_mul_ps(_mm256_mul_ps(sum, scales), _mm256_set1_ps(probe.scale));
        // SAFETY: 8 of the 32 floats; the store needs no alignment.
        unsafe { _mm256_storeu_ps(guesses[8 * half..].as_mut_ptr(), guess) };
        let high = _mm256_add_ps(guess, doubt_avx2(limits.high, guess, errors));
        let low = _mm256_sub_ps(guess, doubt_avx2(limits.low, guess, errors));
        let either = _mm256_or_ps(
            _mm256_cmp_ps::<_CMP_GE_OQ>(high, _mm256_set1_ps(limits.high.at)),
            _mm256_cmp_ps::<_CMP_LE_OQ>(low, _mm256_set1_ps(limits.low.at)),
        );
        interesting |= _mm256_movemask_ps(either).cast_unsigned() << (8 * half);
    }
    interesting
}

#[inline]
#[target_feature(enable = "avx2")]
fn doubt_avx2(limit: Limit, guess: __m256, error: __m256) -> __m256 {
    let above = _mm256_max_ps(guess, _mm256_setzero_ps());
    let less = _mm256_mul_ps(_mm256_set1_ps(limit.slope), above);
    _mm256_mul_ps(error, _mm256_sub_ps(_mm256_set1_ps(limit.flat), less))
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn scan_avx512(
    block: &[Line],
    probe: &Probe,
    limits: &Limits,
    guesses: &mut [f32; BLOCK_ROWS],
) -> u32 {
    // SAFETY: 16 readable bytes; the load needs no alignment.
    let levels = unsafe { _mm_loadu_si128(LEVELS_UNSIGNED.as_ptr().cast::<__m128i>()) };
    let levels = _mm512_broadcast_i32x4(levels);
    let mask = _mm512_set1_epi8(15);
    // Separate sums of low and high codes: more of them hide the latency of the multiplication.
    let mut sums = [[_mm512_setzero_si512(); 2]; 2];
    let (codes, rest) = block.split_at(2 * probe.steps.len());
    for (lines, [low, high]) in codes.as_chunks::<2>().0.iter().zip(&probe.steps) {
        let low = _mm512_set1_epi32(i32::from_le_bytes(low.map(i8::cast_unsigned)));
        let high = _mm512_set1_epi32(i32::from_le_bytes(high.map(i8::cast_unsigned)));
        for (line, [low_sum, high_sum]) in lines.iter().zip(&mut sums) {
            prefetch_line(line.0.as_ptr().wrapping_add(AHEAD_BYTES));
            let codes = load_512(line);
            let a = _mm512_shuffle_epi8(levels, _mm512_and_si512(codes, mask));
            let codes = _mm512_srli_epi16::<4>(codes);
            let b = _mm512_shuffle_epi8(levels, _mm512_and_si512(codes, mask));
            *low_sum = _mm512_dpbusd_epi32(*low_sum, a, low);
            *high_sum = _mm512_dpbusd_epi32(*high_sum, b, high);
        }
    }
    let offset = _mm512_set1_epi32(i32::from(LEVEL_OFFSET) * probe.sum);
    let mut interesting = 0;
    for (group, [low, high]) in sums.into_iter().enumerate() {
        // SAFETY: 64 readable bytes each; the loads need no alignment.
        let (scales, errors) = unsafe {
            (
                _mm512_loadu_ps(rest[group].0.as_ptr().cast()),
                _mm512_loadu_ps(rest[2 + group].0.as_ptr().cast()),
            )
        };
        let sum = _mm512_sub_epi32(_mm512_add_epi32(low, high), offset);
        let sum = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), scales);
        let guess = _mm512_mul_ps(sum, _mm512_set1_ps(probe.scale));
        // SAFETY: 16 of the 32 floats; the store needs no alignment.
        unsafe { _mm512_storeu_ps(guesses[16 * group..].as_mut_ptr(), guess) };
        let high = _mm512_add_ps(guess, doubt_avx512(limits.high, guess, errors));
        let low = _mm512_sub_ps(guess, doubt_avx512(limits.low, guess, errors));
        let either = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(high, _mm512_set1_ps(limits.high.at))
            | _mm512_cmp_ps_mask::<_CMP_LE_OQ>(low, _mm512_set1_ps(limits.low.at));
        interesting |= u32::from(either) << (16 * group);
    }
    interesting
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_512(line: &Line) -> __m512i {
    // SAFETY: 64 readable bytes; the load needs no alignment.
    unsafe { _mm512_loadu_si512(line.0.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn doubt_avx512(limit: Limit, guess: __m512, error: __m512) -> __m512 {
    let above = _mm512_max_ps(guess, _mm512_setzero_ps());
    let less = _mm512_mul_ps(_mm512_set1_ps(limit.slope), above);
    _mm512_mul_ps(error, _mm512_sub_ps(_mm512_set1_ps(limit.flat), less))
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

#[target_feature(enable = "avx512f")]
fn dot_halves_avx512(vector: &[f16], query: &[f32]) -> f32 {
    let (vectors, vector_rest) = vector.as_chunks::<LANES>();
    let (queries, query_rest) = query.as_chunks::<LANES>();
    let mut sum = _mm512_setzero_ps();
    for (a, b) in vectors.iter().zip(queries) {
        // SAFETY: `a` is 16 halves of 2 bytes (`f16` is a transparent `u16`), `b` is 16 floats of
        // 4 bytes; the loads need no alignment.
        let (a, b) = unsafe {
            (_mm256_loadu_si256(a.as_ptr().cast::<__m256i>()), _mm512_loadu_ps(b.as_ptr()))
        };
        sum = _mm512_add_ps(sum, _mm512_mul_ps(_mm512_cvtph_ps(a), b));
    }
    let mut lanes = [0.0; LANES];
    // SAFETY: `lanes` is 16 writable floats; the store needs no alignment.
    unsafe { _mm512_storeu_ps(lanes.as_mut_ptr(), sum) };
    add_rest(&mut lanes, vector_rest, query_rest);
    sum_lanes(lanes)
}
