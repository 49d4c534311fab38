//! How long an operation may take.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Ends operations of other threads, for example when the program shuts down.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Ends all operations that have it, within 100 ms, and lets no other begin.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// How long an operation may take: a deadline, and a [`Stop`].
#[derive(Debug, Clone)]
pub struct Until {
    deadline: Instant,
    stop: Stop,
}

/// How often an operation looks whether it was stopped.
const LOOK: Duration = Duration::from_millis(100);

impl Until {
    /// Lets the operation take this long, from now on.
    pub fn within(time: Duration) -> Self {
        Self { deadline: now() + time, stop: Stop::default() }
    }

    /// The same, but not before this time has passed.
    pub(crate) fn at_least(&self, time: Duration) -> Self {
        Self { deadline: self.deadline.max(now() + time), stop: self.stop.clone() }
    }

    /// Lets `stop` end the operation as well.
    #[must_use]
    pub fn with_stop(mut self, stop: &Stop) -> Self {
        self.stop = stop.clone();
        self
    }

    /// Returns the same with a deadline that is at most `time` away.
    pub(crate) fn at_most(&self, time: Duration) -> Self {
        Self { deadline: self.deadline.min(now() + time), stop: self.stop.clone() }
    }

    /// Returns the same with a deadline that leaves as much for each of the others of `count`, but
    /// that is at least `least` away, if this one is.
    pub(crate) fn share(&self, count: usize, least: Duration) -> Self {
        let left = self.left();
        let part =
            u32::try_from(count).ok().and_then(|number| left.checked_div(number)).unwrap_or(left);
        self.at_most(part.max(least))
    }

    /// The time until the deadline.
    pub(crate) fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(now())
    }

    pub(crate) fn is_over(&self) -> bool {
        self.stop.is_stopped() || now() >= self.deadline
    }

    /// Waits, unless it is over before.
    pub(crate) fn pause(&self, time: Duration) {
        let end = self.at_most(time);
        while !end.is_over() {
            std::thread::park_timeout(end.look().saturating_duration_since(now()));
        }
    }

    /// The next time to look whether it is over.
    pub(crate) fn look(&self) -> Instant {
        self.deadline.min(now() + LOOK)
    }
}

/// The monotonic clock: deadlines and the lease are about the time that passes here.
#[expect(clippy::disallowed_methods, reason = "deadlines of a connection are in its own time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
