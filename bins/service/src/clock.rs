//! The system's clock, in the units that the parts of the service use.

use std::time::SystemTime;

use waypost_time::Timestamp;

/// The current time, for the store.
pub(crate) fn now() -> Timestamp {
    SystemTime::now().into()
}

/// The current time in milliseconds since the epoch, for events.
pub(crate) fn event_time() -> u64 {
    u64::try_from(now().as_millis()).unwrap_or(0)
}
