//! Checks input against the limits.

use waypost_api::limits::LIMIT_MAX;
use waypost_api::{Check, Faults};

use crate::{Error, Result, Timestamp};

/// The first fault of a value, if it has one.
pub(crate) fn check(value: &impl Check) -> Result<()> {
    check_with(|faults| value.check(faults))
}

/// The first fault that a check finds.
pub(crate) fn check_with(check: impl FnOnce(&mut Faults)) -> Result<()> {
    let mut faults = Faults::of_body();
    check(&mut faults);
    match faults.into_vec().into_iter().next() {
        Some(fault) => Err(Error::invalid(fault.pointer.trim_start_matches('/'), fault.message)),
        None => Ok(()),
    }
}

/// A number of results.
pub(crate) fn limit(limit: usize) -> Result<()> {
    check_with(|faults| faults.range("limit", Some(limit as u64), LIMIT_MAX))
}

/// A new time of expiry.
pub(crate) fn expiry(expires_at: Option<Timestamp>, now: Timestamp) -> Result<()> {
    match expires_at {
        Some(expiry) if expiry <= now => {
            let reason = format!("is {expiry}; it must be after the present time, {now}");
            Err(Error::invalid("expiresAt", reason))
        }
        _ => Ok(()),
    }
}
