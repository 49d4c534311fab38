//! A scan of 32-bit floats as fast as memory gives them, and how fast memory gives anything.

use std::hint::black_box;

use super::set::DIMENSIONS;

/// The places and scores of the `k` rows with the largest inner products, best first.
pub fn top(rows: &[f32], query: &[f32], k: usize) -> Vec<(usize, f32)> {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("fma") {
            // SAFETY: the features were just detected.
            return unsafe { top_avx512(rows, query, k) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the features were just detected.
            return unsafe { top_avx2(rows, query, k) };
        }
    }
    top_of(rows, query, k, |sum, a, b| sum + a * b)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,fma")]
fn top_avx512(rows: &[f32], query: &[f32], k: usize) -> Vec<(usize, f32)> {
    top_of(rows, query, k, |sum, a, b| a.mul_add(b, sum))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn top_avx2(rows: &[f32], query: &[f32], k: usize) -> Vec<(usize, f32)> {
    top_of(rows, query, k, |sum, a, b| a.mul_add(b, sum))
}

#[inline(always)]
fn top_of(
    rows: &[f32],
    query: &[f32],
    k: usize,
    add: impl Fn(f32, f32, f32) -> f32,
) -> Vec<(usize, f32)> {
    let mut best: Vec<(usize, f32)> = Vec::with_capacity(k + 1);
    let mut least = f32::NEG_INFINITY;
    for (place, row) in rows.chunks_exact(DIMENSIONS).enumerate() {
        fetch(row);
        // Four registers of sixteen.
        let mut sums = [0f32; 64];
        for (a, b) in row.as_chunks::<64>().0.iter().zip(query.as_chunks::<64>().0) {
            for lane in 0..64 {
                sums[lane] = add(sums[lane], a[lane], b[lane]);
            }
        }
        let score = sums.iter().sum::<f32>();
        if score > least {
            let at = best.partition_point(|(_, it)| *it >= score);
            best.insert(at, (place, score));
            best.truncate(k);
            if best.len() == k {
                least = best[k - 1].1;
            }
        }
    }
    best
}

/// Brings near what comes 8 KiB later, as Waypost's scan does.
#[inline(always)]
fn fetch(row: &[f32]) {
    #[cfg(target_arch = "x86_64")]
    for line in row.chunks(16) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing that the program can see, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().wrapping_add(2048).cast()) };
    }
}

/// Reads all of it once, without more work than that.
pub fn read(words: &[f32]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: the feature was just detected.
        return unsafe { read_avx512(words) };
    }
    read_all(words);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn read_avx512(words: &[f32]) {
    read_all(words);
}

#[inline(always)]
fn read_all(words: &[f32]) {
    let mut all = [0u32; 64];
    for part in words.as_chunks::<64>().0 {
        fetch(part);
        for lane in 0..64 {
            all[lane] |= part[lane].to_bits();
        }
    }
    black_box(all);
}
