use half::f16;
use proptest::prelude::*;

use super::{BLOCK_ROWS, Kernel, Limit, Limits, Line, Probe, block_lines};

fn limit() -> impl Strategy<Value = Limit> {
    (-1.0f32..1.0, 1.0f32..3.0, 0.0f32..1.0).prop_map(|(at, flat, slope)| Limit { at, flat, slope })
}

/// Codes of all kinds, and scales and errors like those of real vectors.
fn block(steps: usize) -> impl Strategy<Value = Vec<Line>> {
    let bytes = proptest::collection::vec(any::<u8>(), 128 * steps);
    let floats = (
        proptest::collection::vec(0.0f32..1e-5, BLOCK_ROWS),
        proptest::collection::vec(0.0f32..0.2, BLOCK_ROWS),
    );
    (bytes, floats).prop_map(|(bytes, (scales, errors))| {
        let floats = scales.into_iter().chain(errors).flat_map(f32::to_le_bytes);
        let bytes: Vec<u8> = bytes.into_iter().chain(floats).collect();
        bytes.as_chunks::<64>().0.iter().map(|line| Line(*line)).collect()
    })
}

fn scan(
    kernel: Kernel,
    block: &[Line],
    probe: &Probe,
    limits: &Limits,
) -> (u32, [u32; BLOCK_ROWS]) {
    let mut guesses = [0.0; BLOCK_ROWS];
    let interesting = kernel.scan(block, probe, limits, &mut guesses);
    (interesting, guesses.map(f32::to_bits))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 256 }))]

    #[test]
    fn every_kernel_scans_to_the_portable_ones_bits(
        (block, steps) in (0usize..if cfg!(miri) { 4 } else { 100 }).prop_flat_map(|steps| (
            block(steps), proptest::collection::vec(any::<[[i8; 4]; 2]>(), steps),
        )),
        high in limit(), low in limit(), scale in 0.0f32..0.01,
    ) {
        let (probe, limits) = (Probe::new(steps, scale), Limits { high, low });
        let expected = scan(Kernel::PORTABLE, &block, &probe, &limits);
        for (row, guess) in expected.1.iter().enumerate() {
            let at = |line: usize| block[block_lines(probe.steps.len()) - 4 + line + row / 16];
            let error = at(2).float(row % 16);
            let admitted = limits.admit(f32::from_bits(*guess), error);
            prop_assert_eq!(admitted, expected.0 >> row & 1 == 1);
        }
        for kernel in Kernel::all() {
            prop_assert_eq!(scan(kernel, &block, &probe, &limits), expected, "{:?}", kernel);
        }
    }

    #[test]
    fn every_kernel_adds_up_to_the_portable_ones_bits(
        floats in proptest::collection::vec((-2.0f32..2.0, -2.0f32..2.0), 0..700),
    ) {
        let halves: Vec<f16> = floats.iter().map(|(a, _)| f16::from_f32(*a)).collect();
        let singles: Vec<f32> = floats.iter().map(|(_, b)| *b).collect();
        for kernel in Kernel::all() {
            prop_assert_eq!(
                kernel.dot_halves(&halves, &singles).to_bits(),
                Kernel::PORTABLE.dot_halves(&halves, &singles).to_bits(),
                "{:?}", kernel
            );
        }
    }
}

#[test]
fn the_largest_codes_do_not_overflow() {
    let steps = if cfg!(miri) { 8 } else { 2048 };
    let limit = Limit { at: 0.0, flat: 1.0, slope: 0.0 };
    let limits = Limits { high: limit, low: limit };
    for (code, level) in [(0xff, 63.0), (0, -63.0)] {
        let mut block = vec![Line([code; 64]); block_lines(steps)];
        let ones = Line([0, 0, 128, 63].repeat(16).try_into().expect("64 bytes"));
        block[2 * steps..].fill(ones);
        for value in [-128, 127] {
            let probe = Probe::new(vec![[[value; 4]; 2]; steps], 1.0);
            let expected = level * f32::from(value) * steps as f32 * 8.0;
            for kernel in Kernel::all() {
                let (_, guesses) = scan(kernel, &block, &probe, &limits);
                assert_eq!(guesses, [expected.to_bits(); BLOCK_ROWS], "{kernel:?}");
            }
        }
    }
}
