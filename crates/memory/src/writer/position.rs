//! The position up to which reads and searches have everything.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// The position up to which the state, the index and the outbox have the records of the journal.
#[derive(Debug, Default)]
pub(crate) struct Position {
    reached: AtomicU64,
    /// Held between a look at the position and the wait for a higher one.
    waiting: Mutex<()>,
    advanced: Condvar,
}

impl Position {
    pub(crate) fn new(reached: u64) -> Self {
        Self { reached: AtomicU64::new(reached), ..Self::default() }
    }

    pub(crate) fn get(&self) -> u64 {
        self.reached.load(Ordering::Acquire)
    }

    pub(crate) fn advance(&self, reached: u64) {
        self.reached.fetch_max(reached, Ordering::AcqRel);
        drop(self.waiting.lock());
        self.advanced.notify_all();
    }

    /// Waits at most this long for a position, and returns whether it is reached.
    pub(crate) fn wait(&self, position: u64, timeout: Duration) -> bool {
        if self.get() >= position {
            return true;
        }
        let mut waiting = self.waiting.lock();
        let is_short = |(): &mut ()| self.get() < position;
        self.advanced.wait_while_for(&mut waiting, is_short, timeout);
        self.get() >= position
    }
}
