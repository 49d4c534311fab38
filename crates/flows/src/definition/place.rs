//! The places of values in a document that was read before.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::invalid::InvalidFile;
use super::yaml;

/// A step of a path in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Key(&'static str),
    Index(usize),
}

/// An error of the value at a path, with its place.
pub(crate) fn invalid_at(text: &str, path: &[Step], message: &str) -> InvalidFile {
    yaml::fault(text, At { path, message }, message)
}

/// Fails with a message at the end of a path.
#[derive(Clone, Copy)]
struct At<'a> {
    path: &'a [Step],
    message: &'a str,
}

impl<'de> DeserializeSeed<'de> for At<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.path.first() {
            Some(Step::Key(_)) => deserializer.deserialize_map(self),
            Some(Step::Index(_)) => deserializer.deserialize_seq(self),
            None => deserializer.deserialize_str(self),
        }
    }
}

impl<'de> Visitor<'de> for At<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what was there before")
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<(), E> {
        Err(E::custom(self.message))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((Step::Key(wanted), rest)) = self.path.split_first() else { return Ok(()) };
        while let Some(key) = map.next_key::<String>()? {
            if key == *wanted {
                map.next_value_seed(At { path: rest, ..self })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Some((Step::Index(wanted), rest)) = self.path.split_first() else { return Ok(()) };
        for _ in 0..*wanted {
            items.next_element::<IgnoredAny>()?;
        }
        items.next_element_seed(At { path: rest, ..self })?;
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
}
