//! Whether the clock is believed when events are dropped by their age.

use std::ops::Range;
use std::time::Duration;

use waypost_time::Timestamp;

/// How long a clock that has skipped the retention time is not believed.
const DOUBT: Duration = Duration::from_secs(24 * 60 * 60);

/// The clock as retention by age has seen it.
#[derive(Debug, Default)]
pub(crate) struct Aging {
    looked: Option<Timestamp>,
    doubted: Option<Range<Timestamp>>,
}

impl Aging {
    /// Whether events may be dropped by their age. `newest` is the time of the newest event: the
    /// first look compares with it.
    pub(crate) fn believes(
        &mut self,
        now: Timestamp,
        newest: Option<Timestamp>,
        age: Duration,
    ) -> bool {
        let before = self.looked.replace(now).or(newest).unwrap_or(now);
        if now > before.saturating_add(age.max(DOUBT)) {
            self.doubted = Some(now..now.saturating_add(DOUBT));
        }
        !self.doubted.as_ref().is_some_and(|it| it.contains(&now))
    }
}
