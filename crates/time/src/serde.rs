//! As an RFC 3339 string, or as a number of milliseconds.

use std::fmt;

use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Timestamp;

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        output.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Timestamp;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an RFC 3339 time such as 2025-01-31T09:30:00.000Z")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Timestamp, E> {
                text.parse().map_err(E::custom)
            }
        }
        input.deserialize_str(Text).map_err(D::Error::custom)
    }
}

/// A [`Timestamp`] as milliseconds since 1970, for `#[serde(with = "waypost_time::millis")]`.
pub mod millis {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::Timestamp;

    /// Writes the number.
    pub fn serialize<S: Serializer>(time: &Timestamp, output: S) -> Result<S::Ok, S::Error> {
        time.as_millis().serialize(output)
    }

    /// Reads the number, clamped like [`Timestamp::from_millis`].
    pub fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Timestamp, D::Error> {
        i64::deserialize(input).map(Timestamp::from_millis)
    }

    /// The same for a time that may be missing.
    pub mod optional {
        use serde::{Deserialize, Deserializer, Serialize, Serializer};

        use crate::Timestamp;

        /// Writes the number or null.
        pub fn serialize<S: Serializer>(
            time: &Option<Timestamp>,
            output: S,
        ) -> Result<S::Ok, S::Error> {
            time.map(Timestamp::as_millis).serialize(output)
        }

        /// Reads the number or null.
        pub fn deserialize<'de, D: Deserializer<'de>>(
            input: D,
        ) -> Result<Option<Timestamp>, D::Error> {
            Ok(Option::<i64>::deserialize(input)?.map(Timestamp::from_millis))
        }
    }
}
