//! When something must be done.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

/// A moment by which a call has answered, one way or another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

/// The time was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Late;

impl Deadline {
    /// So long from now.
    #[must_use]
    pub fn after(time: Duration) -> Self {
        Self(Instant::now() + time)
    }

    /// The earlier of this and so long from now.
    #[must_use]
    pub fn within(self, time: Duration) -> Self {
        self.min(Self::after(time))
    }

    /// The later of this and so long from now.
    pub(crate) fn later_of(self, time: Duration) -> Self {
        self.max(Self::after(time))
    }

    /// What is left; zero once it is over.
    #[must_use]
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    pub(crate) fn is_over(self) -> bool {
        self.left().is_zero()
    }

    /// What the future gives, if it does so in time.
    pub(crate) async fn of<T>(self, future: impl Future<Output = T>) -> Result<T, Late> {
        timeout_at(self.0, future).await.map_err(|_| Late)
    }
}
