//! How tests wait for something that happens elsewhere: until it has happened, and not forever.

use std::fmt::Display;
use std::thread;
use std::time::Duration;

/// The pauses between two looks double from the first to the last.
const PAUSE_FIRST: Duration = Duration::from_millis(1);
const PAUSE_LAST: Duration = Duration::from_millis(64);
/// Together, the pauses take a minute.
const PAUSES_MAX: usize = 940;

/// The value that `look` finds at last. Fails with the reason why it finds none if that takes too
/// long.
#[track_caller]
pub(crate) fn until<T, W: Display>(mut look: impl FnMut() -> Result<T, W>) -> T {
    let (mut pauses, mut pause) = (0, PAUSE_FIRST);
    loop {
        match look() {
            Ok(found) => return found,
            Err(why) => assert!(pauses < PAUSES_MAX, "waited in vain: {why}"),
        }
        // Other code on this thread may have left a token, which would end the pause at once.
        for pause in [Duration::ZERO, pause] {
            thread::park_timeout(pause);
        }
        pauses += 1;
        pause = PAUSE_LAST.min(2 * pause);
    }
}
