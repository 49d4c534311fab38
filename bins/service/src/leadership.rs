//! Whether this service does the work that only one machine of a cluster does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that parts share: publishing notes, expiry and retention are decided by one machine. A
/// machine without a cluster always leads.
#[derive(Debug, Clone)]
pub(crate) struct Leadership(Arc<AtomicBool>);

impl Leadership {
    pub(crate) fn new(leads: bool) -> Self {
        Self(Arc::new(AtomicBool::new(leads)))
    }

    pub(crate) fn set(&self, leads: bool) {
        self.0.store(leads, Ordering::Release);
    }

    pub(crate) fn leads(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
