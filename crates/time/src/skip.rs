//! Clocks that skip ahead.

use std::ops::Range;
use std::time::Duration;

use crate::Timestamp;

/// How long a clock that has skipped is not believed.
const DOUBT: Duration = Duration::from_secs(24 * 60 * 60);

/// Whether a clock is believed when something is dropped by its age. On the first day after it has
/// skipped, it may be wrong, and what is dropped does not come back.
///
/// ```
/// use std::time::Duration;
/// use waypost_time::{SkipDetector, Timestamp};
///
/// let hours = |count: u64| Duration::from_secs(count * 3600);
/// let mut detector = SkipDetector::since(Timestamp::EPOCH);
/// let mut believes = |after| detector.believes(Timestamp::EPOCH.saturating_add(after), hours(48), || None);
/// assert!(believes(hours(47)));
/// assert!(!believes(hours(96)));
/// assert!(!believes(hours(119)));
/// assert!(believes(hours(120)));
/// ```
#[derive(Debug, Clone, Default)]
pub struct SkipDetector {
    looked: Option<Timestamp>,
    doubted: Option<Range<Timestamp>>,
}

impl SkipDetector {
    /// A detector that has last seen this time.
    pub fn since(looked: Timestamp) -> Self {
        Self { looked: Some(looked), doubted: None }
    }

    /// Whether the clock, which says `now`, is believed. It has skipped if more than `limit` has
    /// passed since it was last seen; the first time, since `first`, if that is known.
    pub fn believes(
        &mut self,
        now: Timestamp,
        limit: Duration,
        first: impl FnOnce() -> Option<Timestamp>,
    ) -> bool {
        let before = self.looked.or_else(first).unwrap_or(now);
        self.looked = Some(now);
        if now > before.saturating_add(limit) {
            self.doubted = Some(now..now.saturating_add(DOUBT));
        }
        !self.doubted.as_ref().is_some_and(|doubted| doubted.contains(&now))
    }
}
