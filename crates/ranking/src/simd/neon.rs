use std::arch::aarch64::{
    vandq_u8, vdupq_n_s32, vdupq_n_u8, vget_low_s8, vld1q_s8, vld1q_u8, vmlal_high_s8, vmlal_s8,
    vmull_high_s8, vmull_s8, vpadalq_s16, vpaddq_s32, vqtbl1q_s8, vreinterpretq_s8_s32, vshrq_n_u8,
    vst1q_s32,
};

use super::{BLOCK_ROWS, Kernel, LEVELS, Limits, Line, Probe, portable};

pub(super) fn push_kernels(kernels: &mut Vec<Kernel>) {
    if std::arch::is_aarch64_feature_detected!("neon") {
        // The compiler already generates NEON from the portable float loop.
        kernels.push(Kernel { name: "neon", scan: scan_checked, dot_halves: portable::dot_halves });
    }
}

fn scan_checked(
    block: &[Line],
    probe: &Probe,
    limits: &Limits,
    guesses: &mut [f32; BLOCK_ROWS],
) -> u32 {
    // SAFETY: `push_kernels` adds this function only where NEON was detected.
    unsafe { scan(block, probe, limits, guesses) }
}

#[target_feature(enable = "neon")]
fn scan(block: &[Line], probe: &Probe, limits: &Limits, guesses: &mut [f32; BLOCK_ROWS]) -> u32 {
    // SAFETY: 16 readable bytes.
    let levels = unsafe { vld1q_s8(LEVELS.as_ptr()) };
    let mask = vdupq_n_u8(15);
    // Two sums of two vectors each, eight times.
    let mut sums = [[vdupq_n_s32(0); 2]; 8];
    for (lines, [low, high]) in block.as_chunks::<2>().0.iter().zip(&probe.steps) {
        let low = vdupq_n_s32(i32::from_le_bytes(low.map(i8::cast_unsigned)));
        let high = vdupq_n_s32(i32::from_le_bytes(high.map(i8::cast_unsigned)));
        let (low, high) = (vreinterpretq_s8_s32(low), vreinterpretq_s8_s32(high));
        for (at, sums) in sums.iter_mut().enumerate() {
            // SAFETY: 16 of the 64 bytes of a line.
            let codes = unsafe { vld1q_u8(lines[at / 4].0[at % 4 * 16..].as_ptr()) };
            let a = vqtbl1q_s8(levels, vandq_u8(codes, mask));
            let b = vqtbl1q_s8(levels, vshrq_n_u8::<4>(codes));
            // 63 × 128 × 2 fits in 16 bits.
            let first = vmlal_s8(
                vmull_s8(vget_low_s8(a), vget_low_s8(low)),
                vget_low_s8(b),
                vget_low_s8(high),
            );
            let second = vmlal_high_s8(vmull_high_s8(a, low), b, high);
            sums[0] = vpadalq_s16(sums[0], first);
            sums[1] = vpadalq_s16(sums[1], second);
        }
    }
    let mut totals = [0i32; BLOCK_ROWS];
    for (totals, [first, second]) in totals.as_chunks_mut::<4>().0.iter_mut().zip(sums) {
        // SAFETY: `totals` is 4 writable numbers.
        unsafe { vst1q_s32(totals.as_mut_ptr(), vpaddq_s32(first, second)) };
    }
    portable::judge(&totals, block, probe, limits, guesses)
}
