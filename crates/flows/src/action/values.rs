//! Data that an action sends.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use waypost_events::{Data, Number, Value};

use crate::scalar::pairs;
use crate::{Template, Unready};

/// The data that an action sends: names with a value each, in the order written.
#[derive(Debug, Clone, Default)]
pub struct Values(pub Vec<(String, EmitValue)>);

/// A value that an action sends.
#[derive(Debug, Clone)]
pub enum EmitValue {
    /// A text that may contain values of the event.
    Text(Template),
    /// A number as written.
    Number(Number),
}

impl Values {
    /// The names and values for an event.
    pub(super) fn render(&self, data: &Data) -> Result<Vec<(&str, Value)>, Unready> {
        let value = |value: &EmitValue| match value {
            EmitValue::Text(text) => text.render(data).map(Value::from),
            EmitValue::Number(number) => Ok(Value::Number(*number)),
        };
        self.0.iter().map(|(name, it)| Ok((name.as_str(), value(it)?))).collect()
    }
}

impl<'de> Deserialize<'de> for EmitValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Scalar;

        impl Visitor<'_> for Scalar {
            type Value = EmitValue;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, a finite number or a boolean")
            }

            fn visit_bool<E: de::Error>(self, it: bool) -> Result<EmitValue, E> {
                self.visit_str(if it { "true" } else { "false" })
            }

            fn visit_i64<E>(self, it: i64) -> Result<EmitValue, E> {
                Ok(EmitValue::Number(it.into()))
            }

            fn visit_u64<E>(self, it: u64) -> Result<EmitValue, E> {
                Ok(EmitValue::Number(it.into()))
            }

            fn visit_f64<E: de::Error>(self, it: f64) -> Result<EmitValue, E> {
                let number = Number::from_float(it);
                number.map(EmitValue::Number).ok_or_else(|| E::custom("the number is not finite"))
            }

            fn visit_str<E: de::Error>(self, it: &str) -> Result<EmitValue, E> {
                it.parse().map(EmitValue::Text).map_err(E::custom)
            }
        }

        deserializer.deserialize_any(Scalar)
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        pairs(deserializer, "an object with string, number or boolean values", |_, _| Ok(()))
            .map(Self)
    }
}
