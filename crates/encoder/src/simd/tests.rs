use proptest::prelude::*;

use super::{Kernel, LANES, Simd, Task, f16};

/// Every operation on the same numbers.
#[derive(Clone, Copy)]
struct Operations {
    a: [f32; LANES],
    b: [f32; LANES],
    c: [f32; LANES],
    power: [f32; LANES],
    halves: [f16; LANES],
}

impl Task for Operations {
    type Output = Vec<[f32; LANES]>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Self::Output {
        let [a, b, c] = [self.a, self.b, self.c].map(|it| simd.load(&it));
        let results = [
            simd.add(a, b),
            simd.sub(a, b),
            simd.mul(a, b),
            simd.div(a, b),
            simd.mul_add(a, b, c),
            simd.max(a, b),
            simd.round(a),
            simd.scale(a, simd.load(&self.power)),
            simd.load_halves(&self.halves),
            simd.splat(simd.sum(a)),
            simd.splat(simd.greatest(a)),
        ];
        simd.prefetch(&self.a, 1000);
        let stored = results.map(|lanes| {
            let mut array = [0.0; LANES];
            simd.store(lanes, &mut array);
            array
        });
        stored.to_vec()
    }
}

fn check(operations: &Operations) {
    let expected = Kernel::all()[0].run(*operations);
    for kernel in Kernel::all() {
        for (at, (found, expected)) in kernel.run(*operations).iter().zip(&expected).enumerate() {
            for (found, expected) in found.iter().zip(expected) {
                let same = found.to_bits() == expected.to_bits();
                // Machines differ in the sign of NaN.
                assert!(
                    same || found.is_nan() && expected.is_nan(),
                    "operation {at}: {found} with {kernel:?}, {expected} portably"
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 500 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_kernel_gives_the_portable_ones_bits(
        a in any::<[f32; LANES]>(),
        b in any::<[f32; LANES]>(),
        c in any::<[f32; LANES]>(),
        small in any::<bool>(),
        power in proptest::array::uniform16(-126_i8..=127),
        halves in any::<[u16; LANES]>(),
    ) {
        // Sums of numbers of any size are rarely rounded.
        let sized = |numbers: [f32; LANES]| {
            numbers.map(|it| if small { it % 8.0 } else { it })
        };
        let finite = |bits: u16| f16::from_bits(if bits & 0x7C00 == 0x7C00 { 0 } else { bits });
        check(&Operations {
            a: sized(a),
            b: sized(b),
            c: sized(c),
            power: power.map(f32::from),
            halves: halves.map(finite),
        });
    }
}

#[test]
fn halves_are_read_exactly() {
    let all: Vec<f16> =
        (0..=u16::MAX).map(f16::from_bits).filter(|bits| bits.is_finite()).collect();
    let step = if cfg!(miri) { 97 } else { 1 };
    for halves in all.as_chunks::<LANES>().0.iter().step_by(step) {
        let zero = [0.0; LANES];
        let operations = Operations { a: zero, b: zero, c: zero, power: zero, halves: *halves };
        check(&operations);
        let found = Kernel::all()[0].run(operations)[8];
        assert_eq!(found.map(f32::to_bits), halves.map(|it| it.to_f32().to_bits()));
    }
}
