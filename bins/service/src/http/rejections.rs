//! Which rejected tokens are logged.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::metrics::Denied;

/// Rejected tokens are logged at most so often, each reason by itself.
const LOG_EVERY: Duration = Duration::from_secs(10);

/// Rejected tokens that are to be logged.
#[derive(Debug, Default)]
pub(crate) struct Rejections(Mutex<[(Option<Instant>, u64); Denied::ALL.len()]>);

impl Rejections {
    /// How many rejections a log line of now stands for; `None` if there is to be none.
    pub(crate) fn count(&self, why: Denied) -> Option<u64> {
        let mut logged = self.0.lock();
        let (last, count) = &mut logged[why as usize];
        *count += 1;
        if last.is_some_and(|it| it.elapsed() < LOG_EVERY) {
            return None;
        }
        *last = Some(Instant::now());
        Some(std::mem::take(count))
    }
}
