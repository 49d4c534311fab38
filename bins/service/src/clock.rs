//! The system's clock, in the units that the parts of the service use.

use std::time::SystemTime;

use waypost_time::Timestamp;

/// The time of day.
pub(crate) fn now() -> Timestamp {
    SystemTime::now().into()
}

/// The time of day in milliseconds since the epoch, for events.
pub(crate) fn event_time() -> u64 {
    u64::try_from(now_ms()).unwrap_or(0)
}

/// The time of day in milliseconds since the epoch, for tokens.
pub(crate) fn now_ms() -> i64 {
    now().as_millis()
}
