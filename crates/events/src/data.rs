use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::kind::is_name_char;
use crate::{DATA_BYTES_MAX, KEY_BYTES_MAX, KEYS_MAX, NotFinite, Number, VALUE_BYTES_MAX};

/// The data of an event: up to 64 names with a value each, in insertion order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Data(Vec<(String, Value)>);

/// A text or a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Without NUL characters.
    Text(String),
    /// Finite.
    Number(Number),
}

impl Data {
    /// Adds a value: a text, a number or a boolean, which is stored as the text `true` or `false`.
    ///
    /// # Errors
    /// If the name already exists or is invalid, if the text is too long or has a NUL character, if
    /// the number is not finite, or if the data would have too many names or bytes.
    ///
    /// # Examples
    /// ```
    /// let mut data = waypost_events::Data::default();
    /// data.insert("agent", "scout")?;
    /// data.insert("attempts", 3)?;
    /// data.insert("score", 0.25)?;
    /// data.insert("improved", true)?;
    /// assert_eq!(data.get("improved"), Some(&"true".into()));
    /// assert!(data.insert("ratio", f64::NAN).is_err());
    /// # Ok::<(), waypost_events::InvalidData>(())
    /// ```
    pub fn insert(
        &mut self,
        key: &str,
        value: impl TryInto<Value, Error: fmt::Display>,
    ) -> Result<(), InvalidData> {
        let invalid = |what: String| Err(InvalidData { key: key.to_owned(), what });
        let value = match value.try_into() {
            Ok(value) => value,
            Err(error) => return invalid(error.to_string()),
        };
        let mut letters = key.chars();
        if !letters.next().is_some_and(|letter| letter.is_ascii_alphabetic() || letter == '_')
            || !letters.all(is_name_char)
            || key.len() > KEY_BYTES_MAX
        {
            return invalid(format!(
                "a key is a letter or _ followed by letters, digits, _ and -, at most {KEY_BYTES_MAX} characters"
            ));
        }
        if self.get(key).is_some() {
            return invalid("duplicate key".to_owned());
        }
        if self.0.len() == KEYS_MAX {
            return invalid(format!("more than {KEYS_MAX} keys"));
        }
        if let Value::Text(text) = &value {
            if text.contains('\0') {
                return invalid("the string has a NUL character".to_owned());
            }
            if text.len() > VALUE_BYTES_MAX {
                let len = text.len();
                return invalid(format!(
                    "the string has {len} bytes; the limit is {VALUE_BYTES_MAX}"
                ));
            }
        }
        let bytes = self.bytes() + key.len() + value.bytes();
        if bytes > DATA_BYTES_MAX {
            return invalid(format!(
                "with this value the data has {bytes} bytes; the limit is {DATA_BYTES_MAX}"
            ));
        }
        self.0.push((key.to_owned(), value));
        Ok(())
    }

    /// The value of a name.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The names and values, in insertion order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The number of names.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn with_capacity(count: usize) -> Self {
        Self(Vec::with_capacity(count))
    }

    pub(crate) fn bytes(&self) -> usize {
        self.0.iter().map(|(key, value)| key.len() + value.bytes()).sum()
    }
}

impl Value {
    fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Number(_) => size_of::<f64>(),
        }
    }
}

/// The text itself, or the number as JSON writes it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => number.fmt(f),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Self {
        Self::Number(number)
    }
}

/// As the text `true` or `false`.
impl From<bool> for Value {
    fn from(boolean: bool) -> Self {
        Self::Text(boolean.to_string())
    }
}

impl From<i32> for Value {
    fn from(number: i32) -> Self {
        i64::from(number).into()
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        u64::from(number).into()
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number.into())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(number.into())
    }
}

impl TryFrom<f64> for Value {
    type Error = NotFinite;

    fn try_from(number: f64) -> Result<Self, NotFinite> {
        Number::from_float(number).map(Self::Number).ok_or(NotFinite)
    }
}

/// An invalid name or value of an event's data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key:?}: {what}")]
#[non_exhaustive]
pub struct InvalidData {
    /// The invalid name.
    pub key: String,
    /// What is wrong and what would be valid.
    pub what: String,
}

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Number(number) => number.to_json().serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Data;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with string, number or boolean values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Data, A::Error> {
                let mut data = Data::default();
                while let Some(key) = map.next_key::<String>()? {
                    let value: Value = map.next_value()?;
                    data.insert(&key, value).map_err(de::Error::custom)?;
                }
                Ok(data)
            }
        }

        deserializer.deserialize_map(Entries)
    }
}

/// A boolean becomes the text `true` or `false`.
impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Scalar;

        impl Visitor<'_> for Scalar {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, a finite number or a boolean")
            }

            fn visit_bool<E>(self, it: bool) -> Result<Value, E> {
                Ok(it.into())
            }

            fn visit_i64<E>(self, it: i64) -> Result<Value, E> {
                Ok(it.into())
            }

            fn visit_u64<E>(self, it: u64) -> Result<Value, E> {
                Ok(it.into())
            }

            fn visit_f64<E: de::Error>(self, it: f64) -> Result<Value, E> {
                it.try_into().map_err(E::custom)
            }

            fn visit_str<E>(self, it: &str) -> Result<Value, E> {
                Ok(it.into())
            }

            fn visit_string<E>(self, it: String) -> Result<Value, E> {
                Ok(it.into())
            }
        }

        deserializer.deserialize_any(Scalar)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Data, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn data_comes_back_as_it_was_given() {
        let json = r#"{"b":"x","a":-1,"n":18446744073709551615,"f":0.1,"_-9":""}"#;
        let data = read(json).unwrap();
        assert_eq!(serde_json::to_string(&data).unwrap(), json);
        assert_eq!(data.get("n").unwrap().to_string(), "18446744073709551615");
    }

    #[test]
    fn a_boolean_is_a_text() {
        assert_eq!(read(r#"{"improved":true}"#).unwrap().get("improved"), Some(&"true".into()));
    }

    #[test]
    fn numbers_and_booleans_are_inserted_as_json_has_them() {
        let mut data = Data::default();
        data.insert("literal", -1).unwrap();
        data.insert("u32", u32::MAX).unwrap();
        data.insert("i64", i64::MIN).unwrap();
        data.insert("u64", u64::MAX).unwrap();
        data.insert("f64", 0.1).unwrap();
        data.insert("yes", true).unwrap();
        data.insert("no", false).unwrap();
        let json = r#"{"literal":-1,"u32":4294967295,"i64":-9223372036854775808,"u64":18446744073709551615,"f64":0.1,"yes":"true","no":"false"}"#;
        assert_eq!(serde_json::to_string(&data).unwrap(), json);
        assert_eq!(read(&json.replace("\"true\"", "true")), Ok(data));
    }

    #[test]
    fn a_number_that_is_not_finite_is_refused() {
        let mut data = Data::default();
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let error = data.insert("ratio", number).unwrap_err();
            assert_eq!(error.to_string(), "\"ratio\": the number is not finite");
        }
        assert!(data.is_empty());
    }

    #[test]
    fn what_is_no_data_is_refused() {
        let many: Vec<String> = (0..65).map(|number| format!("\"k{number}\":1")).collect();
        for (json, said) in [
            ("[]", "invalid type"),
            ("null", "invalid type"),
            (r#"{"a":null}"#, "invalid type"),
            (r#"{"a":{"b":1}}"#, "invalid type"),
            (r#"{"a":[1]}"#, "invalid type"),
            (r#"{"a":1e400}"#, "out of range"),
            (r#"{"a":1,"a":2}"#, "duplicate key"),
            (r#"{"":1}"#, "a key is"),
            (r#"{"a.b":1}"#, "a key is"),
            (r#"{"a b":1}"#, "a key is"),
            (r#"{"9":1}"#, "a key is"),
            (r#"{"a":"\u0000"}"#, "NUL"),
            (&format!("{{{}}}", many.join(",")), "more than 64"),
            (&format!(r#"{{"a":"{}"}}"#, "x".repeat(VALUE_BYTES_MAX + 1)), "65537 bytes"),
        ] {
            let error = read(json).unwrap_err();
            assert!(error.contains(said), "{json:.60}: {error}");
        }
        let full: Vec<String> =
            (0..5).map(|number| format!("\"k{number}\":\"{}\"", "x".repeat(60 << 10))).collect();
        assert!(
            read(&format!("{{{}}}", full.join(","))).unwrap_err().contains("the limit is 262144")
        );
    }
}
