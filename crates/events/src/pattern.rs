use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use serde::de::{self, Deserialize, Deserializer, Visitor};

use crate::EventType;
use crate::kind::is_name_char;

/// Selects events by type: a type, or a prefix of one followed by `*`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(into = "String")]
pub struct Pattern {
    /// Without the `*`.
    text: String,
    prefix: bool,
}

/// The maximum length of a type, and the `*`.
const PATTERN_BYTES_MAX: usize = 2 * crate::NAME_BYTES_MAX + 2;

impl Pattern {
    /// Every event.
    pub fn all() -> Self {
        Self { text: String::new(), prefix: true }
    }

    /// Whether it matches this type.
    pub fn matches(&self, kind: &EventType) -> bool {
        self.matches_text(kind.as_str())
    }

    /// Like [`matches`](Self::matches), for the text of a type.
    pub(crate) fn matches_text(&self, kind: &str) -> bool {
        if self.prefix { kind.starts_with(&self.text) } else { kind == self.text }
    }

    /// The prefix of every type that it matches.
    pub fn literal(&self) -> &str {
        &self.text
    }

    /// Whether it matches only one type.
    pub fn is_exact(&self) -> bool {
        !self.prefix
    }
}

impl FromStr for Pattern {
    type Err = InvalidPattern;

    fn from_str(text: &str) -> Result<Self, InvalidPattern> {
        let invalid = |what: String| Err(InvalidPattern { what });
        if text.is_empty() {
            return invalid("it is empty".to_owned());
        }
        let (literal, prefix) = match text.strip_suffix('*') {
            Some(literal) => (literal, true),
            None => (text, false),
        };
        let mut colons = 0;
        for (at, it) in literal.chars().enumerate() {
            colons += usize::from(it == ':');
            if (!is_name_char(it) && it != ':') || colons > 1 {
                return invalid(format!("character {} is invalid: {it:?}", at + 1));
            }
        }
        if text.len() > PATTERN_BYTES_MAX {
            return invalid(format!("it has {} characters", text.len()));
        }
        if !prefix && let Err(error) = literal.parse::<EventType>() {
            return invalid(format!("without * it must be an event type: {error}"));
        }
        if literal.starts_with(':') {
            return invalid("the namespace is empty".to_owned());
        }
        Ok(Self { text: literal.to_owned(), prefix })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.text, if self.prefix { "*" } else { "" })
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.to_string()
    }
}

/// Deserialises from a text. Formats with positions report an error at its position in the file.
impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = Pattern;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a pattern")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Pattern, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_str(Text)
    }
}

/// An invalid pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}; a pattern is an event type or a prefix followed by *, such as eval:* or eval:sc*")]
pub struct InvalidPattern {
    what: String,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_pattern_is_a_type_or_a_beginning() {
        let kind: EventType = "eval:scored".parse().unwrap();
        for (pattern, selects) in [
            ("*", true),
            ("eval*", true),
            ("eval:*", true),
            ("eval:sc*", true),
            ("eval:scored", true),
            ("eval:scored*", true),
            ("eval:score", false),
            ("eval:scored2*", false),
            ("evals:*", false),
            ("kanban:*", false),
        ] {
            assert_eq!(pattern.parse::<Pattern>().unwrap().matches(&kind), selects, "{pattern}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused_with_the_place() {
        for (text, said) in [
            ("", "empty"),
            ("**", "character 1"),
            ("*:scored", "character 1"),
            ("eval:*d", "character 6"),
            ("eval", "missing colon"),
            (":*", "namespace is empty"),
            ("a:b:*", "character 4"),
            (&format!("{}*", "a".repeat(10_000)), "10001 characters"),
        ] {
            let error = text.parse::<Pattern>().unwrap_err().to_string();
            assert!(error.contains(said), "{text:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn a_type_is_selected_by_itself_and_by_each_of_its_beginnings(
            text in "[A-Za-z0-9_-]{1,8}:[A-Za-z0-9_-]{1,8}"
        ) {
            let kind: EventType = text.parse().unwrap();
            prop_assert!(text.parse::<Pattern>().unwrap().matches(&kind));
            for end in 0..=text.len() {
                let pattern: Pattern = format!("{}*", &text[..end]).parse().unwrap();
                prop_assert!(pattern.matches(&kind));
                prop_assert_eq!(pattern.to_string().parse::<Pattern>().unwrap(), pattern);
            }
        }
    }
}
