//! YAML: the only module of this crate that knows how it is read.

use std::fmt;

use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess,
    SeqAccess, Visitor,
};

use super::brackets::{self, OPEN_BRACKETS_MAX};
use super::read::InvalidFile;

/// The most lines that begin with `%`: the parser compares each with all before it.
pub(crate) const DIRECTIVES_MAX: usize = 100;

/// Reads a whole document. An error has its position.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, InvalidFile> {
    check(text)?;
    serde_yaml::from_str(text).map_err(|error| located(&error))
}

/// Rejects texts for which the parser takes too long.
fn check(text: &str) -> Result<(), InvalidFile> {
    if let Some((line, column)) = brackets::excess(text) {
        let message = format!(
            "more than {OPEN_BRACKETS_MAX} [ and {{ before this place are not closed on their lines; close them there, or write lists as lines with - and mappings as lines with key: value"
        );
        return Err(InvalidFile { line, column, message });
    }
    let mut directives = text.split(is_break).enumerate().filter(|(_, it)| it.starts_with('%'));
    if let Some((idx, _)) = directives.nth(DIRECTIVES_MAX) {
        let message = format!(
            "more than {DIRECTIVES_MAX} lines begin with %; flow files need no directives, so remove them"
        );
        return Err(InvalidFile { line: idx + 1, column: 1, message });
    }
    Ok(())
}

/// The characters that end a line in YAML.
fn is_break(it: char) -> bool {
    matches!(it, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// An error of the value at a path such as `flows/0/name`, with its place.
pub(crate) fn invalid_at(text: &str, path: &str, message: &str) -> InvalidFile {
    let at = At { path: Some(path), message };
    let failed = at.deserialize(serde_yaml::Deserializer::from_str(text));
    located(&failed.err().unwrap_or_else(|| serde_yaml::Error::custom(message)))
}

/// `serde_yaml` puts the place at the end of its message.
fn located(error: &serde_yaml::Error) -> InvalidFile {
    let text = error.to_string();
    let Some(location) = error.location() else {
        return InvalidFile { line: 1, column: 1, message: text };
    };
    let place = format!(" at line {} column {}", location.line(), location.column());
    let message = text.replacen(&place, "", 1);
    InvalidFile { line: location.line(), column: location.column(), message }
}

/// Fails with a message at the end of a path, which is empty there.
#[derive(Clone, Copy)]
struct At<'a> {
    path: Option<&'a str>,
    message: &'a str,
}

impl<'a> At<'a> {
    /// The next step of the path, and what comes after it.
    fn next(self) -> (&'a str, Self) {
        let path = self.path.unwrap_or_default();
        let (step, rest) =
            path.split_once('/').map_or((path, None), |(step, rest)| (step, Some(rest)));
        (step, Self { path: rest, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for At<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.path {
            Some(_) => deserializer.deserialize_any(self),
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
        let (wanted, rest) = self.next();
        while let Some(key) = map.next_key::<String>()? {
            if key == wanted {
                map.next_value_seed(rest)?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let (wanted, rest) = self.next();
        for _ in 0..wanted.parse().unwrap_or(0) {
            items.next_element::<IgnoredAny>()?;
        }
        items.next_element_seed(rest)?;
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
}
