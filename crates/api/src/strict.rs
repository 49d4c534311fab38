//! Reads JSON strictly. What `serde_json` accepts and the contract does not is rejected: repeated keys, NUL characters,
//! and nesting deeper than 32 levels, also in fields that nothing reads. Derived code accepts more than the contract,
//! too: `{"lexical": null}` for the name `lexical`, and an array of values in order for a struct. A [`Tree`] does not.

use std::collections::HashSet;
use std::fmt;

use serde::de::value::{Error as ShapeError, MapDeserializer, SeqDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::Result;

/// The maximum nesting depth of arrays and objects.
const DEPTH_MAX: usize = 32;

/// What is said of a NUL character, before the position.
pub(crate) const NUL: &str = "a string contains a NUL character (U+0000), which is not permitted";

/// What `serde_json` says of a number that no 64-bit float can hold, before the position.
pub(crate) const OUT_OF_RANGE: &str = "number out of range";

const REPEATED: &str = "duplicate key";

/// A JSON value.
#[derive(Debug)]
pub(crate) enum Tree {
    Null,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    String(String),
    Array(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

/// Reads a whole JSON text.
pub(crate) fn parse(json: &[u8]) -> Result<Tree> {
    let mut input = serde_json::Deserializer::from_slice(json);
    let tree = Strict { depth: 0, keys_only: false }.deserialize(&mut input)?;
    input.end()?;
    Ok(tree)
}

/// The same for JSON that has been read.
pub(crate) fn parse_value(value: serde_json::Value) -> Result<Tree> {
    Strict { depth: 0, keys_only: false }.deserialize(value)
}

/// What is wrong with the first object, at any depth, that has the same key twice; `None` if no object has, and for
/// what is not JSON.
pub fn repeated_key(json: &[u8]) -> Option<String> {
    let mut input = serde_json::Deserializer::from_slice(json);
    let checked = Strict { depth: 0, keys_only: true }.deserialize(&mut input);
    checked.err().map(|error| error.to_string()).filter(|error| error.starts_with(REPEATED))
}

impl Tree {
    /// What it is, in words.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Unsigned(_) | Self::Signed(_) | Self::Float(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }

    fn is_not(&self, expected: &str) -> ShapeError {
        let found = match self {
            Self::Null => Unexpected::Unit,
            Self::Bool(value) => Unexpected::Bool(*value),
            Self::Unsigned(value) => Unexpected::Unsigned(*value),
            Self::Signed(value) => Unexpected::Signed(*value),
            Self::Float(value) => Unexpected::Float(*value),
            Self::String(value) => Unexpected::Str(value),
            Self::Array(_) => Unexpected::Seq,
            Self::Object(_) => Unexpected::Map,
        };
        ShapeError::invalid_type(found, &expected)
    }
}

impl<'de> Deserializer<'de> for Tree {
    type Error = ShapeError;

    fn deserialize_any<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> std::result::Result<V::Value, ShapeError> {
        match self {
            Self::Null => visitor.visit_unit(),
            Self::Bool(value) => visitor.visit_bool(value),
            Self::Unsigned(value) => visitor.visit_u64(value),
            Self::Signed(value) => visitor.visit_i64(value),
            Self::Float(value) => visitor.visit_f64(value),
            Self::String(value) => visitor.visit_string(value),
            Self::Array(values) => visitor.visit_seq(SeqDeserializer::new(values.into_iter())),
            Self::Object(members) => visitor.visit_map(MapDeserializer::new(members.into_iter())),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> std::result::Result<V::Value, ShapeError> {
        if matches!(self, Self::Null) { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> std::result::Result<V::Value, ShapeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> std::result::Result<V::Value, ShapeError> {
        match self {
            Self::String(name) => visitor.visit_enum(name.into_deserializer()),
            other => Err(other.is_not(&format!("one of `{}`", names.join("`, `")))),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> std::result::Result<V::Value, ShapeError> {
        match self {
            Self::Object(_) => self.deserialize_any(visitor),
            other => Err(other.is_not("an object")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map identifier ignored_any
    }
}

impl IntoDeserializer<'_, ShapeError> for Tree {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Reads any value, inside this many arrays and objects.
#[derive(Clone, Copy)]
struct Strict {
    depth: usize,
    /// Whether only repeated keys are rejected.
    keys_only: bool,
}

impl Strict {
    fn inside<E: Error>(self) -> std::result::Result<Self, E> {
        if self.depth == DEPTH_MAX && !self.keys_only {
            return Err(E::custom(format!("nested deeper than {DEPTH_MAX} levels")));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }

    fn check<E: Error>(self, text: &str) -> std::result::Result<(), E> {
        if text.contains('\0') && !self.keys_only { Err(E::custom(NUL)) } else { Ok(()) }
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Tree;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> std::result::Result<Tree, D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Tree;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> std::result::Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> std::result::Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> std::result::Result<Tree, E> {
        Ok(Tree::Signed(value))
    }

    fn visit_u64<E>(self, value: u64) -> std::result::Result<Tree, E> {
        Ok(Tree::Unsigned(value))
    }

    fn visit_f64<E>(self, value: f64) -> std::result::Result<Tree, E> {
        Ok(Tree::Float(value))
    }

    fn visit_str<E: Error>(self, text: &str) -> std::result::Result<Tree, E> {
        self.check(text)?;
        Ok(Tree::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> std::result::Result<Tree, A::Error> {
        let inside = self.inside()?;
        let mut array = Vec::new();
        while let Some(value) = values.next_element_seed(inside)? {
            array.push(value);
        }
        Ok(Tree::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> std::result::Result<Tree, A::Error> {
        let inside = self.inside()?;
        let (mut object, mut keys) = (Vec::new(), HashSet::new());
        while let Some(key) = members.next_key::<String>()? {
            self.check(&key)?;
            if !keys.insert(key.clone()) {
                let shown: String = key.chars().take(64).flat_map(char::escape_debug).collect();
                return Err(A::Error::custom(format!("{REPEATED} \"{shown}\"")));
            }
            object.push((key, members.next_value_seed(inside)?));
        }
        Ok(Tree::Object(object))
    }
}
