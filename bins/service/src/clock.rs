//! The system's clock, in the units that the parts of the service use.

use std::time::{SystemTime, UNIX_EPOCH};

use waypost_memory::Timestamp;

/// The time of day, for the store.
pub(crate) fn now() -> Timestamp {
    Timestamp::from_millis(now_ms())
}

/// The time of day in milliseconds since the epoch, for events.
pub(crate) fn event_time() -> u64 {
    u64::try_from(now_ms()).unwrap_or(0)
}

/// The time of day in milliseconds since the epoch, for tokens.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
