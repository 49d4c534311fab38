//! Whether the service is stopping.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that is set once, when the stop begins, and shared by everything that has to end early.
/// [`Wake::stop`](crate::wake::Wake::stop) follows later, when all requests have been answered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stopping(Arc<AtomicBool>);

impl Stopping {
    pub(crate) fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
