//! Which rejected tokens are logged.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::metrics::Denied;

/// Rejected tokens are logged at most this often, for each reason separately.
const LOG_EVERY: Duration = Duration::from_secs(10);

/// Decides which rejected tokens are logged.
#[derive(Debug, Default)]
pub(crate) struct Rejections(Mutex<[(Option<Instant>, u64); Denied::ALL.len()]>);

impl Rejections {
    /// The number of rejections that a log line now stands for; `None` for no line.
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
