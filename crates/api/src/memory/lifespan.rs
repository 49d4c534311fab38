//! When a memory holds, and how long it is kept.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use waypost_time::Timestamp;

use crate::limits::{Check, Faults};
use crate::wire;

/// When what a memory says holds, and how long the memory is kept. By default it always holds and
/// is kept until it is deleted.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Lifespan {
    /// It holds from this time on.
    pub valid_from: Option<Timestamp>,
    /// It holds before this time.
    pub valid_until: Option<Timestamp>,
    /// It is hidden from this time on, and then deleted.
    pub expires_at: Option<Timestamp>,
    /// Whether it is kept beyond `expires_at`, and comes first in a context.
    #[serde(default, skip_serializing_if = "wire::is_false")]
    pub pinned: bool,
}

impl Lifespan {
    /// Sets the time from which it holds.
    #[must_use]
    pub fn with_valid_from(self, valid_from: impl Into<Option<Timestamp>>) -> Self {
        Self { valid_from: valid_from.into(), ..self }
    }

    /// Sets the time before which it holds.
    #[must_use]
    pub fn with_valid_until(self, valid_until: impl Into<Option<Timestamp>>) -> Self {
        Self { valid_until: valid_until.into(), ..self }
    }

    /// Sets the time from which it is hidden.
    #[must_use]
    pub fn with_expires_at(self, expires_at: impl Into<Option<Timestamp>>) -> Self {
        Self { expires_at: expires_at.into(), ..self }
    }

    /// Sets whether it is pinned.
    #[must_use]
    pub fn with_pinned(self, pinned: bool) -> Self {
        Self { pinned, ..self }
    }

    /// When it expires. A pinned memory does not expire.
    pub fn expiry(&self) -> Option<Timestamp> {
        self.expires_at.filter(|_| !self.pinned)
    }

    /// Whether it has expired by this time.
    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.expiry().is_some_and(|expiry| expiry <= now)
    }

    /// Whether it holds at this time.
    pub fn holds_at(&self, time: Timestamp) -> bool {
        self.valid_from.is_none_or(|from| from <= time)
            && self.valid_until.is_none_or(|until| time < until)
    }
}

impl Check for Lifespan {
    fn check(&self, faults: &mut Faults) {
        if let (Some(from), Some(until)) = (self.valid_from, self.valid_until)
            && until <= from
        {
            let reason = format!("is {until}; it must be after `validFrom`, {from}");
            faults.add("validUntil", reason);
        }
    }
}
