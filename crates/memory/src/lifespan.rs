//! When a memory holds, and how long it is kept.

use crate::codec::{Malformed, Reader, Writer};
use crate::{Error, Patch, Result, Timestamp};

/// When what a memory says holds, and how long the memory is kept. By default it always holds and
/// is kept until it is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Lifespan {
    /// It holds from this time on.
    pub valid_from: Option<Timestamp>,
    /// It holds before this time.
    pub valid_until: Option<Timestamp>,
    /// It is hidden from this time on, and then [deleted](crate::Store::expire).
    pub expires_at: Option<Timestamp>,
    /// Whether it is kept beyond `expires_at`, and comes first in a context.
    pub is_pinned: bool,
}

/// The flags of the fields, as stored.
const VALID_FROM: u8 = 1;
const VALID_UNTIL: u8 = 2;
const EXPIRES_AT: u8 = 4;
const PINNED: u8 = 8;

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
    pub fn with_is_pinned(self, is_pinned: bool) -> Self {
        Self { is_pinned, ..self }
    }

    /// When it expires. A pinned memory does not expire.
    pub fn expiry(&self) -> Option<Timestamp> {
        self.expires_at.filter(|_| !self.is_pinned)
    }

    /// Whether it has expired by this time.
    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.expiry().is_some_and(|it| it <= now)
    }

    /// Whether it holds at this time.
    pub fn holds_at(&self, time: Timestamp) -> bool {
        self.valid_from.is_none_or(|it| it <= time) && self.valid_until.is_none_or(|it| time < it)
    }

    /// The lifespan after a patch.
    pub(crate) fn patched(self, patch: &Patch) -> Self {
        Self {
            valid_from: patch.valid_from.unwrap_or(self.valid_from),
            valid_until: patch.valid_until.unwrap_or(self.valid_until),
            expires_at: patch.expires_at.unwrap_or(self.expires_at),
            is_pinned: patch.is_pinned.unwrap_or(self.is_pinned),
        }
    }

    /// Checks the order of its times.
    pub(crate) fn check(&self) -> Result<()> {
        match (self.valid_from, self.valid_until) {
            (Some(from), Some(until)) if until <= from => {
                let reason = format!("is {until}; it must be after `validFrom`, {from}");
                Err(Error::invalid("validUntil", reason))
            }
            _ => Ok(()),
        }
    }

    /// Checks a new time of expiry.
    pub(crate) fn check_expiry(expires_at: Option<Timestamp>, now: Timestamp) -> Result<()> {
        match expires_at {
            Some(it) if it <= now => {
                let reason = format!("is {it}; it must be after the present time, {now}");
                Err(Error::invalid("expiresAt", reason))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn encode(&self, out: &mut Writer) {
        let Self { valid_from, valid_until, expires_at, is_pinned } = *self;
        let flag = |it: Option<Timestamp>, flag| if it.is_some() { flag } else { 0 };
        out.u8(flag(valid_from, VALID_FROM)
            | flag(valid_until, VALID_UNTIL)
            | flag(expires_at, EXPIRES_AT)
            | if is_pinned { PINNED } else { 0 });
        for time in [valid_from, valid_until, expires_at].into_iter().flatten() {
            out.time(time);
        }
    }

    /// Decodes a lifespan that is not the default.
    pub(crate) fn decode(input: &mut Reader<'_>) -> std::result::Result<Self, Malformed> {
        let flags = input.u8()?;
        if !(1..=VALID_FROM | VALID_UNTIL | EXPIRES_AT | PINNED).contains(&flags) {
            return Err(Malformed("the flags of a lifespan are unknown"));
        }
        let mut time = |flag: u8| (flags & flag != 0).then(|| input.time()).transpose();
        let (valid_from, valid_until) = (time(VALID_FROM)?, time(VALID_UNTIL)?);
        let expires_at = time(EXPIRES_AT)?;
        Ok(Self { valid_from, valid_until, expires_at, is_pinned: flags & PINNED != 0 })
    }
}
