//! Query strings: from a request's fields, and back.

#![expect(
    clippy::result_large_err,
    reason = "a refused request is rare, and its caller wants the problem itself"
)]

use std::collections::HashMap;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::de::value::{Error, SeqDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, Visitor};
use serde::{Serialize, forward_to_deserialize_any};
use serde_json::Value;

use crate::Problem;
use crate::limits::ID_MAX;
use crate::wire::WHOLE;

/// A parameter with all its values, in order.
pub(crate) type Pair = (String, Vec<String>);

/// Splits and decodes a query string; values with the same name are grouped.
pub(crate) fn pairs(query: &str) -> Result<Vec<Pair>, Problem> {
    let mut pairs: Vec<Pair> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let (name, value) = (decode(name)?, decode(value)?);
        if let Some(place) = places.get(&name) {
            pairs[*place].1.push(value);
        } else {
            places.insert(name.clone(), pairs.len());
            pairs.push((name, vec![value]));
        }
    }
    Ok(pairs)
}

fn decode(text: &str) -> Result<String, Problem> {
    let problem = |what: &str| Problem::new(400, format!("the query string {what}"));
    let is_escape = |rest: &str| {
        let digits = rest.as_bytes().first_chunk::<2>();
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    // The crate leaves an incomplete escape as it is.
    if !text.split('%').skip(1).all(is_escape) {
        return Err(problem("has a `%` without two hexadecimal digits"));
    }
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8();
    let decoded = decoded.map_err(|_| problem("is not valid UTF-8"))?;
    if decoded.contains('\0') {
        return Err(problem("contains a NUL character"));
    }
    Ok(decoded.into_owned())
}

/// A query string, to be deserialized as a struct.
pub(crate) struct Pairs {
    rest: std::vec::IntoIter<Pair>,
    values: Vec<String>,
}

impl Pairs {
    pub(crate) fn new(pairs: Vec<Pair>) -> Self {
        Self { rest: pairs.into_iter(), values: Vec::new() }
    }
}

impl<'de> Deserializer<'de> for Pairs {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_map(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> MapAccess<'de> for Pairs {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some((name, values)) = self.rest.next() else {
            return Ok(None);
        };
        self.values = values;
        let name: StrDeserializer<'_, Error> = name.as_str().into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(Values(std::mem::take(&mut self.values)))
    }
}

/// The values of one parameter.
struct Values(Vec<String>);

impl Values {
    fn single(mut self) -> Result<String, Error> {
        match (self.0.pop(), self.0.is_empty()) {
            (Some(value), true) => Ok(value),
            _ => Err(Error::custom("is given more than once")),
        }
    }
}

macro_rules! parsed {
    ($($method:ident $visit:ident $kind:ty, $wanted:literal;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.single()?.parse::<$kind>() {
                Ok(value) => visitor.$visit(value),
                Err(_) => Err(Error::custom(concat!("must be ", $wanted))),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Values {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.len() == 1 {
            visitor.visit_string(self.single()?)
        } else {
            visitor.visit_seq(SeqDeserializer::new(self.0.into_iter()))
        }
    }

    parsed! {
        deserialize_bool visit_bool bool, "`true` or `false`";
        deserialize_f64 visit_f64 f64, "a number";
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let text = self.single()?;
        let is_whole = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(value) => visitor.visit_u64(value),
            Err(_) if is_whole => {
                let shown: String = text.chars().take(40).collect();
                let cut = if shown.len() < text.len() { "..." } else { "" };
                Err(Error::custom(format!(
                    "must be {WHOLE}, at most {ID_MAX} (2^53 - 1), not {shown}{cut}"
                )))
            }
            Err(_) => Err(Error::custom(format!("must be {WHOLE}"))),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_string(self.single()?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_string(self.single()?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let value = self.single()?;
        let value: StrDeserializer<'_, Error> = value.as_str().into_deserializer();
        value.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 u8 u16 u32 f32 char bytes byte_buf unit unit_struct newtype_struct seq tuple tuple_struct
        map struct identifier ignored_any
    }
}

/// The path with the fields of a request as its query string; a field that is an array is repeated.
pub fn with_query(path: &str, request: &impl Serialize) -> String {
    let mut url = path.to_owned();
    let mut glue = '?';
    let mut push = |name: &str, value: &Value| {
        url.push(glue);
        glue = '&';
        encode(name, &mut url);
        url.push('=');
        match value {
            Value::String(text) => encode(text, &mut url),
            other => encode(&other.to_string(), &mut url),
        }
    };
    if let Ok(Value::Object(fields)) = serde_json::to_value(request) {
        for (name, value) in &fields {
            match value {
                Value::Array(values) => values.iter().for_each(|value| push(name, value)),
                value => push(name, value),
            }
        }
    }
    url
}

pub(crate) fn encode(text: &str, url: &mut String) {
    /// All but what RFC 3986, section 2.3, calls unreserved.
    const RESERVED: &AsciiSet =
        &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    url.extend(utf8_percent_encode(text, RESERVED));
}
