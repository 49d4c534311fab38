//! Limits how often each caller may do something.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// What a caller may do at once.
const BURST: u32 = 600;
/// After that, a caller may do one more each time that this has passed.
const EVERY: Duration = Duration::from_millis(50);
/// From this number of callers on, those that may do all at once again are forgotten.
const CALLERS: usize = 1_000;

/// For each caller, when it may do all at once again.
#[derive(Debug, Default)]
pub(crate) struct Pace(Mutex<HashMap<String, Instant>>);

impl Pace {
    /// Counts one more by the caller; false if it may not do it yet.
    pub(crate) fn takes(&self, caller: String) -> bool {
        self.takes_at(caller, Instant::now())
    }

    fn takes_at(&self, caller: String, now: Instant) -> bool {
        let mut rested = self.0.lock();
        if rested.len() >= CALLERS {
            rested.retain(|_, at| *at > now);
        }
        let at = rested.entry(caller).or_insert(now);
        let next = (*at).max(now) + EVERY;
        let is_within = next <= now + EVERY * BURST;
        if is_within {
            *at = next;
        }
        is_within
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_caller_has_a_burst_and_then_a_pace() {
        let (pace, start) = (Pace::default(), Instant::now());
        let taken = |caller: &str, at: Duration| {
            (0..10_000).take_while(|_| pace.takes_at(caller.to_owned(), start + at)).count()
        };
        assert_eq!(taken("a", Duration::ZERO), 600);
        assert_eq!(taken("a", Duration::from_secs(1)), 20);
        assert_eq!(taken("b", Duration::from_secs(1)), 600);
        assert_eq!(taken("a", Duration::from_secs(3_600)), 600);
        for caller in 0..2 * CALLERS {
            pace.takes_at(caller.to_string(), start + Duration::from_secs(caller as u64));
        }
        assert!(pace.0.lock().len() <= CALLERS);
    }
}
