//! Deadlines.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

/// The time by which a call has returned, with whatever result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

/// The deadline has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Late;

impl Deadline {
    /// The deadline after this duration.
    #[must_use]
    pub fn after(time: Duration) -> Self {
        Self(Instant::now() + time)
    }

    /// The earlier of this deadline and the one after this duration.
    #[must_use]
    pub fn within(self, time: Duration) -> Self {
        self.min(Self::after(time))
    }

    /// The later of this deadline and the one after this duration.
    pub(crate) fn later_of(self, time: Duration) -> Self {
        self.max(Self::after(time))
    }

    /// The remaining time; zero once the deadline has passed.
    #[must_use]
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    pub(crate) fn is_over(self) -> bool {
        self.left().is_zero()
    }

    /// The result of the future, if it is ready in time.
    pub(crate) async fn of<T>(self, future: impl Future<Output = T>) -> Result<T, Late> {
        timeout_at(self.0, future).await.map_err(|_| Late)
    }
}
