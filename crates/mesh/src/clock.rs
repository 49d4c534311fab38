//! The only place that reads the time: deadlines use real time, and both sides of a call must mean
//! the same moment.

use std::time::{Duration, Instant, SystemTime};

use waypost_time::Timestamp;

#[expect(clippy::disallowed_methods, reason = "a deadline is of the wall clock of both sides")]
pub(crate) fn now() -> Timestamp {
    SystemTime::now().into()
}

/// The end of a wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Until(Instant);

impl Until {
    #[expect(clippy::disallowed_methods, reason = "waiting is for real")]
    pub(crate) fn after(wait: Duration) -> Self {
        Self(Instant::now() + wait)
    }

    #[expect(clippy::disallowed_methods, reason = "waiting is for real")]
    pub(crate) fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    pub(crate) fn is_over(self) -> bool {
        self.left().is_zero()
    }
}
