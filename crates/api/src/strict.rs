//! Rejects JSON that `serde_json` accepts and the contract does not: repeated keys, NUL characters,
//! and nesting deeper than 32 levels, also in fields that nothing reads.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Result;

/// The maximum nesting depth of arrays and objects.
const DEPTH_MAX: usize = 32;

/// What the check says of a NUL character, before the position.
pub(crate) const NUL: &str = "a string contains a NUL character (U+0000), which is not permitted";

/// Checks a whole JSON text.
pub(crate) fn check(json: &[u8]) -> Result<()> {
    let mut input = serde_json::Deserializer::from_slice(json);
    Strict { depth: 0, keys_only: false }.deserialize(&mut input)?;
    input.end()
}

/// The same for JSON that has been read.
pub(crate) fn check_value(value: &serde_json::Value) -> Result<()> {
    Strict { depth: 0, keys_only: false }.deserialize(value)
}

/// What is wrong with the first object, at any depth, that has the same key twice; `None` if no object has, and for
/// what is not JSON.
pub fn repeated_key(json: &[u8]) -> Option<String> {
    let mut input = serde_json::Deserializer::from_slice(json);
    let checked = Strict { depth: 0, keys_only: true }.deserialize(&mut input);
    checked.err().map(|it| it.to_string()).filter(|it| it.starts_with(REPEATED))
}

const REPEATED: &str = "duplicate key";

/// Any value, inside this many arrays and objects.
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
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> std::result::Result<(), D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> std::result::Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> std::result::Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> std::result::Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> std::result::Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> std::result::Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> std::result::Result<(), E> {
        if text.contains('\0') && !self.keys_only { Err(E::custom(NUL)) } else { Ok(()) }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> std::result::Result<(), A::Error> {
        let inside = self.inside()?;
        while values.next_element_seed(inside)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> std::result::Result<(), A::Error> {
        let inside = self.inside()?;
        let mut keys = HashSet::new();
        while members.next_key_seed(Key(&mut keys, self))?.is_some() {
            members.next_value_seed(inside)?;
        }
        Ok(())
    }
}

/// The next key of an object that has these, and how it is checked.
struct Key<'a>(&'a mut HashSet<String>, Strict);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> std::result::Result<(), D::Error> {
        input.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> std::result::Result<(), E> {
        self.1.visit_str(key)?;
        if self.0.insert(key.to_owned()) {
            return Ok(());
        }
        let shown: String = key.chars().take(64).flat_map(char::escape_debug).collect();
        Err(E::custom(format!("{REPEATED} \"{shown}\"")))
    }
}
