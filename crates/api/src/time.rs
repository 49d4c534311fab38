//! Times on the wire: RFC 3339 in UTC with milliseconds.

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;
use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;
use serde::de::{Deserialize, Deserializer, Error as _, Visitor};
use serde::{Serialize, Serializer};

/// A moment, in milliseconds since 1970-01-01T00:00:00Z. Written as `2025-01-31T09:30:00.000Z`; read with any offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(
    /// Milliseconds since the epoch.
    pub i64,
);

/// The text is not an RFC 3339 time between the years 0 and 9999.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "not an RFC 3339 time such as 2025-01-31T09:30:00.000Z, from 0000-01-01T00:00:00.000Z to \
     9999-12-31T23:59:59.999Z"
)]
#[non_exhaustive]
pub struct TimeError;

const FIRST_MS: i64 = -62_167_219_200_000; // 0000-01-01T00:00:00.000Z
const LAST_MS: i64 = 253_402_300_799_999; // 9999-12-31T23:59:59.999Z
// Civil times reach to the end of the year 9999; `jiff::Timestamp` ends a day before.
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

impl FromStr for Time {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        // Only a date, `T` and a time are accepted; jiff itself would also accept other forms.
        let bytes = text.as_bytes();
        let strict = bytes.len() >= 20
            && bytes.len() <= 40
            && bytes[..4].iter().all(u8::is_ascii_digit)
            && bytes[4] == b'-'
            && bytes[7] == b'-'
            && matches!(bytes[10], b'T' | b't' | b' ')
            && bytes[13] == b':'
            && bytes[16] == b':'
            && !text.contains('[');
        if !strict {
            return Err(TimeError);
        }
        let pieces = Pieces::parse(text).map_err(|_| TimeError)?;
        let (Some(time), Some(offset)) = (pieces.time(), pieces.to_numeric_offset()) else {
            return Err(TimeError);
        };
        let local = EPOCH.duration_until(pieces.date().to_datetime(time)).as_nanos();
        let ms = local.div_euclid(1_000_000) as i64 - i64::from(offset.seconds()) * 1_000;
        if (FIRST_MS..=LAST_MS).contains(&ms) { Ok(Self(ms)) } else { Err(TimeError) }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since_epoch = SignedDuration::from_millis(self.0.clamp(FIRST_MS, LAST_MS));
        write!(f, "{:.3}Z", EPOCH.saturating_add(since_epoch))
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        output.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Time;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an RFC 3339 time such as 2025-01-31T09:30:00.000Z")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Time, E> {
                text.parse().map_err(E::custom)
            }
        }
        input.deserialize_str(Text).map_err(D::Error::custom)
    }
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for Time {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for Time {
    fn name() -> std::borrow::Cow<'static, str> {
        "Time".into()
    }
}
