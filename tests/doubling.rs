//! How tests show that the time of some work grows with its input, and not with the square of it, where
//! nothing can be counted.

use std::fs;
use std::hint::black_box;
use std::thread;

/// Four times the input takes four times as long in proportion to it, and sixteen times as long in
/// proportion to its square.
const FACTOR_MAX: u64 = 9;
/// A shorter time is that of something else.
const NANOSECONDS_MIN: u64 = 10_000_000;
/// Other work on the machine disturbs a measurement, and not each of this many.
const TRIES: usize = 3;

/// Fails if four times the input takes more than nine times the processor time. `make` is given the
/// size of an input.
#[track_caller]
pub(crate) fn assert_proportional<T, R>(
    what: &str,
    size: usize,
    make: impl Fn(usize) -> T,
    work: impl Fn(&T) -> R,
) {
    let time = |input: &T| {
        let start = spent();
        black_box(work(black_box(input)));
        spent() - start
    };
    let (small, large) = (make(size), make(4 * size));
    let mut measured = Vec::new();
    for _ in 0..TRIES {
        let (one, four) = (time(&small).min(time(&small)), time(&large));
        if four < NANOSECONDS_MIN || four <= one * FACTOR_MAX {
            return;
        }
        measured.push((one, four));
    }
    assert!(measured.is_empty(), "{what}: four times the input takes too long: {measured:?} ns");
}

/// The processor time of this thread in nanoseconds; 0 where the system does not say it, so that
/// nothing is measured there.
fn spent() -> u64 {
    // It is brought up to date when the thread is scheduled.
    thread::yield_now();
    let told = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    told.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or_default()
}
