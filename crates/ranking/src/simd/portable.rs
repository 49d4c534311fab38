use half::f16;

use super::{BLOCK_ROWS, LANES, LEVELS, LINE_ROWS, Limits, Line, Probe, add_rest, sum_lanes};

/// The levels of both codes of a byte.
const PAIRS: [[i8; 2]; 256] = {
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [LEVELS[byte & 15], LEVELS[byte >> 4]];
        byte += 1;
    }
    pairs
};

pub(super) fn scan(
    block: &[Line],
    probe: &Probe,
    limits: &Limits,
    guesses: &mut [f32; BLOCK_ROWS],
) -> u32 {
    let mut sums = [0i32; BLOCK_ROWS];
    for (lines, [low, high]) in block.as_chunks::<2>().0.iter().zip(&probe.steps) {
        let codes = lines.iter().flat_map(|line| line.0.as_chunks::<4>().0);
        for (sum, codes) in sums.iter_mut().zip(codes) {
            for (byte, &code) in codes.iter().enumerate() {
                let [a, b] = PAIRS[usize::from(code)];
                *sum += i32::from(a) * i32::from(low[byte]) + i32::from(b) * i32::from(high[byte]);
            }
        }
    }
    judge(&sums, block, probe, limits, guesses)
}

/// Guesses and relevance, from the sums of products.
#[inline]
pub(super) fn judge(
    sums: &[i32; BLOCK_ROWS],
    block: &[Line],
    probe: &Probe,
    limits: &Limits,
    guesses: &mut [f32; BLOCK_ROWS],
) -> u32 {
    let rest = &block[2 * probe.steps.len()..];
    let mut interesting = 0;
    for row in 0..BLOCK_ROWS {
        let (group, lane) = (row / LINE_ROWS, row % LINE_ROWS);
        let (scale, error) = (rest[group].float(lane), rest[2 + group].float(lane));
        guesses[row] = sums[row] as f32 * scale * probe.scale;
        interesting |= u32::from(limits.admit(guesses[row], error)) << row;
    }
    interesting
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
