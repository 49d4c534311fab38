//! Points in time: milliseconds since 1970, written and read as RFC 3339.
//!
//! All crates of Waypost accept and return [`Timestamp`]. It reads no clock: a program that has one
//! converts from [`SystemTime`].
//!
//! ```
//! use std::time::Duration;
//! use waypost_time::Timestamp;
//!
//! let time: Timestamp = "2026-11-21T12:00:00.25+01:00".parse()?;
//! assert_eq!(time.to_string(), "2026-11-21T11:00:00.250Z");
//! let later = time.saturating_add(Duration::from_secs(60));
//! assert_eq!(later.saturating_duration_since(time), Duration::from_secs(60));
//! # Ok::<(), waypost_time::InvalidTimestamp>(())
//! ```

mod skip;
mod text;

#[cfg(feature = "openapi")]
mod openapi;
#[cfg(feature = "serde")]
mod serde;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[cfg(feature = "serde")]
pub use self::serde::millis;
pub use skip::SkipDetector;
pub use text::InvalidTimestamp;

/// Milliseconds since 1970-01-01T00:00:00Z, from [`Self::MIN`] to [`Self::MAX`]; by default 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The earliest time that RFC 3339 can express: `0000-01-01T00:00:00.000Z`.
    pub const MIN: Self = Self(-62_167_219_200_000);
    /// The latest time that RFC 3339 can express: `9999-12-31T23:59:59.999Z`.
    pub const MAX: Self = Self(253_402_300_799_999);
    /// `1970-01-01T00:00:00.000Z`.
    pub const EPOCH: Self = Self(0);

    /// The time this many milliseconds after the epoch, clamped to [`Self::MIN`] and [`Self::MAX`].
    pub const fn from_millis(millis: i64) -> Self {
        if millis < Self::MIN.0 {
            Self::MIN
        } else if millis > Self::MAX.0 {
            Self::MAX
        } else {
            Self(millis)
        }
    }

    /// Milliseconds since the epoch.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// The time this many seconds after the epoch, clamped like [`Self::from_millis`].
    pub const fn from_secs(seconds: i64) -> Self {
        Self::from_millis(seconds.saturating_mul(1_000))
    }

    /// Whole seconds since the epoch, rounded down.
    pub const fn as_secs(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    /// The time `span` later, or `None` if that is after [`Self::MAX`].
    pub fn checked_add(self, span: Duration) -> Option<Self> {
        let later = self.0.checked_add(i64::try_from(span.as_millis()).ok()?)?;
        (later <= Self::MAX.0).then_some(Self(later))
    }

    /// The time `span` earlier, or `None` if that is before [`Self::MIN`].
    pub fn checked_sub(self, span: Duration) -> Option<Self> {
        let earlier = self.0.checked_sub(i64::try_from(span.as_millis()).ok()?)?;
        (earlier >= Self::MIN.0).then_some(Self(earlier))
    }

    /// The time `span` later, at most [`Self::MAX`].
    #[must_use]
    pub fn saturating_add(self, span: Duration) -> Self {
        self.checked_add(span).unwrap_or(Self::MAX)
    }

    /// The time `span` earlier, at least [`Self::MIN`].
    #[must_use]
    pub fn saturating_sub(self, span: Duration) -> Self {
        self.checked_sub(span).unwrap_or(Self::MIN)
    }

    /// The time from `earlier` to this time, or zero if `earlier` is later.
    pub fn saturating_duration_since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }
}

impl From<SystemTime> for Timestamp {
    /// Clamps to [`Timestamp::MIN`] and [`Timestamp::MAX`].
    fn from(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(since) => Self::EPOCH.saturating_add(since),
            Err(before) => Self::EPOCH.saturating_sub(before.duration()),
        }
    }
}
