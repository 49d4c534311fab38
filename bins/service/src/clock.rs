//! The system's clock.

use std::time::SystemTime;

use waypost_time::Timestamp;

/// The current time.
pub(crate) fn now() -> Timestamp {
    SystemTime::now().into()
}
