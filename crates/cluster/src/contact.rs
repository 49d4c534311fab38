//! When the database last answered.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Whether this machine has contact with the database, by its own monotonic clock.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contact {
    /// How long ago an operation succeeded. At first, since the hub was opened.
    pub age: Duration,
    /// Why the last operation failed, if it did.
    pub fault: Option<String>,
}

#[derive(Debug)]
pub(crate) struct LastContact(Mutex<(Instant, Option<String>)>);

impl LastContact {
    pub(crate) fn new() -> Self {
        Self(Mutex::new((now(), None)))
    }

    pub(crate) fn succeeded(&self) {
        *self.0.lock() = (now(), None);
    }

    pub(crate) fn failed(&self, why: String) {
        self.0.lock().1 = Some(why);
    }

    pub(crate) fn get(&self) -> Contact {
        let (at, fault) = self.0.lock().clone();
        Contact { age: now() - at, fault }
    }
}

/// The monotonic clock: contact with the database is about the time that passes here.
#[expect(clippy::disallowed_methods, reason = "how long the database is silent is in its own time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
