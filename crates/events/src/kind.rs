use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use serde::de::{self, Deserialize, Deserializer, Visitor};

use crate::NAME_BYTES_MAX;

/// An event's type: `namespace:name`, each of 1 to 64 ASCII letters, digits, `_` and `-`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(into = "String")]
pub struct EventType {
    text: String,
    colon: usize,
}

/// Namespaces whose events only the service publishes.
const RESERVED: [&str; 3] = ["flow", "memory", "system"];

impl EventType {
    /// The whole type.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The part before the colon.
    pub fn namespace(&self) -> &str {
        &self.text[..self.colon]
    }

    /// The part after the colon.
    pub fn name(&self) -> &str {
        &self.text[self.colon + 1..]
    }

    /// Whether only the service may publish events of this type.
    pub fn is_reserved(&self) -> bool {
        RESERVED.contains(&self.namespace())
    }
}

impl FromStr for EventType {
    type Err = InvalidType;

    fn from_str(text: &str) -> Result<Self, InvalidType> {
        let invalid = |what: String| InvalidType { what };
        let Some(colon) = text.find(':') else {
            return Err(invalid("missing colon".to_owned()));
        };
        for (part, which) in [(&text[..colon], "namespace"), (&text[colon + 1..], "name")] {
            if part.is_empty() {
                return Err(invalid(format!("the {which} is empty")));
            }
            if let Some((at, other)) = part.char_indices().find(|(_, it)| !is_name_char(*it)) {
                let start = if which == "name" { colon + 1 } else { 0 };
                let at = text[..start + at].chars().count() + 1;
                return Err(invalid(format!("character {at} is invalid: {other:?}")));
            }
            if part.len() > NAME_BYTES_MAX {
                return Err(invalid(format!("the {which} has {} characters", part.len())));
            }
        }
        Ok(Self { text: text.to_owned(), colon })
    }
}

pub(crate) fn is_name_char(it: char) -> bool {
    it.is_ascii_alphanumeric() || it == '_' || it == '-'
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<EventType> for String {
    fn from(kind: EventType) -> Self {
        kind.text
    }
}

/// Deserialises from a text. Formats with positions report an error at its position in the file.
impl<'de> Deserialize<'de> for EventType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = EventType;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an event type")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<EventType, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_str(Text)
    }
}

/// An invalid event type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what}; an event type is namespace:name, each with 1 to {NAME_BYTES_MAX} letters, digits, _ and -, such as eval:scored"
)]
pub struct InvalidType {
    what: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_has_a_namespace_and_a_name() {
        let kind: EventType = "agent:daily-complete".parse().unwrap();
        assert_eq!((kind.namespace(), kind.name()), ("agent", "daily-complete"));
        assert!(!kind.is_reserved());
        assert!("memory:added".parse::<EventType>().unwrap().is_reserved());
    }

    #[test]
    fn what_is_no_type_is_refused_with_the_place() {
        let long = "a".repeat(65);
        for (text, said) in [
            ("", "missing colon"),
            ("eval", "missing colon"),
            (":scored", "namespace is empty"),
            ("eval:", "name is empty"),
            ("a:b:c", "character 4 is invalid: ':'"),
            ("eval:sco*", "character 9 is invalid: '*'"),
            ("eval.x:y", "character 5 is invalid: '.'"),
            ("eval:scored\n", "character 12 is invalid: '\\n'"),
            ("\u{435}val:scored", "character 1 is invalid: 'е'"),
            (&format!("{long}:x"), "namespace has 65"),
            (&format!("x:{long}"), "name has 65"),
        ] {
            let error = text.parse::<EventType>().unwrap_err().to_string();
            assert!(error.contains(said), "{text:?}: {error}");
        }
    }
}
