//! The engine's time.

use std::time::Duration;

use waypost_time::Timestamp;

/// Time that never goes back: if the system's clock was set back, it continues from where it was,
/// so that delays and windows keep their length.
#[derive(Debug)]
pub(super) struct Clock {
    latest: Timestamp,
    ahead: Duration,
}

impl Clock {
    /// Time that continues from this one.
    pub(super) fn since(latest: Timestamp) -> Self {
        Self { latest, ahead: Duration::ZERO }
    }

    pub(super) fn read(&mut self, now: Timestamp) -> Timestamp {
        self.ahead = self.ahead.max(self.latest.saturating_duration_since(now));
        self.latest = now.saturating_add(self.ahead);
        self.latest
    }

    /// The time of the system's clock at one of these times.
    pub(super) fn of_system(&self, at: Timestamp) -> Timestamp {
        at.saturating_sub(self.ahead)
    }
}
