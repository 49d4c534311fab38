//! Parses values of a YAML file that have their own syntax.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

/// Parses a text. What is wrong with it is reported at its own place in the file: the parser
/// of YAML adds the place of the value whose visitor failed.
pub(crate) fn parse<'de, D, T>(deserializer: D, expecting: &'static str) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: fmt::Display>,
{
    deserializer.deserialize_str(Text(expecting, PhantomData))
}

struct Text<T>(&'static str, PhantomData<T>);

impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

/// Names with a value each, in the order written, without duplicate names.
pub(crate) fn pairs<'de, D, V>(
    deserializer: D,
    expecting: &'static str,
    check: fn(&str, &V) -> Result<(), String>,
) -> Result<Vec<(String, V)>, D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de>,
{
    deserializer.deserialize_map(Pairs(expecting, check))
}

struct Pairs<V>(&'static str, fn(&str, &V) -> Result<(), String>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for Pairs<V> {
    type Value = Vec<(String, V)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs: Vec<(String, V)> = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, V>()? {
            self.1(&name, &value).map_err(de::Error::custom)?;
            if pairs.iter().any(|(it, _)| *it == name) {
                return Err(de::Error::custom(format!("duplicate key {name}")));
            }
            pairs.push((name, value));
        }
        Ok(pairs)
    }
}

/// Implements `Deserialize` from a text through `FromStr`.
macro_rules! from_text {
    ($($type:ty: $expecting:literal),+ $(,)?) => {$(
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::scalar::parse(deserializer, $expecting)
            }
        }
    )+};
}
pub(crate) use from_text;
