//! Types of an event's values, as a flow declares them.

use std::fmt;
use std::str::FromStr;

use waypost_events::Data;

use crate::scalar::{from_text, pairs};
use crate::template::is_key;

/// The longest list of `one of`.
pub const CHOICES_MAX: usize = 100;
/// The longest type, in bytes.
pub const TYPE_BYTES_MAX: usize = 4096;
/// The most digits of an `integer`: it fits in 64 bits.
const DIGITS_MAX: usize = 18;
/// The longest value of the types `slug` and `number`, in bytes.
const SHORT_MAX: usize = 64;

/// The type that a flow declares for a value of the event: `trigger.data`.
///
/// ```text
/// pr_number: integer             -?(0|[1-9][0-9]{0,17})
/// score:     number              decimal, finite
/// improved:  boolean             true or false
/// metric:    slug                [A-Za-z0-9][A-Za-z0-9_-]{0,63}
/// state:     one of [open, closed]
/// branch:    matches [a-z0-9/-]+ the whole value matches
/// title:     text                anything; an undeclared value is a text
/// ```
///
/// In a command, a value of any type must be plain, too.
#[derive(Debug, Clone)]
pub struct DataType {
    source: String,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Integer,
    Number,
    Boolean,
    Slug,
    OneOf(Vec<String>),
    Matches(regex::Regex),
    Text,
}

impl DataType {
    /// Whether a value, as text, is of this type.
    pub fn admits(&self, value: &str) -> bool {
        match &self.kind {
            Kind::Integer => {
                let digits = value.strip_prefix('-').unwrap_or(value);
                let is_short = (1..=DIGITS_MAX).contains(&digits.len());
                let is_canonical = digits == "0" || !digits.starts_with('0');
                is_short && is_canonical && digits.bytes().all(|it| it.is_ascii_digit())
            }
            Kind::Number => {
                value.len() <= SHORT_MAX && waypost_events::Number::from_decimal(value).is_some()
            }
            Kind::Boolean => value == "true" || value == "false",
            Kind::Slug => {
                value.starts_with(|it: char| it.is_ascii_alphanumeric())
                    && value.len() <= SHORT_MAX
                    && value.bytes().all(|it| it.is_ascii_alphanumeric() || b"_-".contains(&it))
            }
            Kind::OneOf(choices) => choices.iter().any(|it| it == value),
            Kind::Matches(regex) => regex.is_match(value),
            Kind::Text => true,
        }
    }
}

impl FromStr for DataType {
    type Err = String;

    fn from_str(source: &str) -> Result<Self, String> {
        if source.len() > TYPE_BYTES_MAX {
            return Err(format!(
                "the type has {} bytes; the limit is {TYPE_BYTES_MAX}",
                source.len()
            ));
        }
        let kind = match source {
            "integer" => Kind::Integer,
            "number" => Kind::Number,
            "boolean" => Kind::Boolean,
            "slug" => Kind::Slug,
            "text" => Kind::Text,
            _ => match (source.strip_prefix("one of "), source.strip_prefix("matches ")) {
                (Some(list), _) => one_of(list.trim())?,
                (None, Some(regex)) => matches(regex.trim())?,
                (None, None) => {
                    return Err(format!(
                        "{source:?} is not a type; write integer, number, boolean, slug, text, \"one of [a, b]\" or \"matches REGEX\""
                    ));
                }
            },
        };
        Ok(Self { source: source.to_owned(), kind })
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

from_text!(DataType: "a type, such as integer or one of [a, b]");

fn one_of(list: &str) -> Result<Kind, String> {
    let inside = list.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let inside = inside.ok_or("one of needs a list in brackets: one of [open, closed]")?;
    let mut choices: Vec<String> = Vec::new();
    for choice in inside.split(',').map(str::trim) {
        if choice.is_empty() {
            return Err("one of has an empty entry".to_owned());
        }
        if choice.contains(['"', '\'', '[', ']']) || choice.chars().any(char::is_control) {
            return Err(format!("{choice:?} in one of: write entries without quotes and brackets"));
        }
        if choices.iter().any(|it| it == choice) {
            return Err(format!("duplicate entry {choice:?} in one of"));
        }
        choices.push(choice.to_owned());
    }
    if choices.len() > CHOICES_MAX {
        return Err(format!("one of has {} entries; the limit is {CHOICES_MAX}", choices.len()));
    }
    Ok(Kind::OneOf(choices))
}

fn matches(source: &str) -> Result<Kind, String> {
    let invalid = |why: &dyn fmt::Display| {
        let why = why.to_string();
        let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        format!("invalid regular expression {source:?}: {why}")
    };
    let parsed = |source: &str| {
        let built = regex::RegexBuilder::new(source).size_limit(1 << 20).build();
        built.map_err(|it| invalid(&it))
    };
    // Also alone: `a)|(b` would escape the anchors.
    parsed(source)?;
    parsed(&format!(r"\A(?:{source})\z")).map(Kind::Matches)
}

/// The types that a flow declares for its events' values.
#[derive(Debug, Clone, Default)]
pub struct DataTypes(Vec<(String, DataType)>);

impl DataTypes {
    /// The declared names and their types, in the order written.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &DataType)> {
        self.0.iter().map(|(key, kind)| (key.as_str(), kind))
    }

    /// The type of a name, if one is declared.
    pub fn get(&self, key: &str) -> Option<&DataType> {
        self.0.iter().find(|(it, _)| it == key).map(|(_, kind)| kind)
    }

    /// What is wrong with each value that is missing or not of its declared type:
    /// `data.n is "x", not integer`.
    pub fn mismatches<'a>(&'a self, data: &'a Data) -> impl Iterator<Item = String> + 'a {
        self.iter().filter_map(|(key, kind)| {
            let found = data.get(key).map(ToString::to_string);
            match found {
                None => Some(format!("data.{key} is missing, not {kind}")),
                Some(found) if kind.admits(&found) => None,
                Some(found) => {
                    let shown: String = found.chars().take(64).collect();
                    let more = if shown.len() < found.len() { "…" } else { "" };
                    Some(format!("data.{key} is {shown:?}{more}, not {kind}"))
                }
            }
        })
    }

    /// Whether the data has every declared name, with a value of its type.
    pub fn admit(&self, data: &Data) -> bool {
        self.mismatches(data).next().is_none()
    }

    /// Whether a name has a type that says something about its values.
    pub(crate) fn declares(&self, key: &str) -> bool {
        self.get(key).is_some_and(|it| !matches!(it.kind, Kind::Text))
    }
}

impl<'de> serde::Deserialize<'de> for DataTypes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let check = |key: &str, _: &DataType| {
            if is_key(key) {
                return Ok(());
            }
            Err(format!("{key:?} is not a key of an event's data: letters, digits, _ and -"))
        };
        pairs(deserializer, "an object with a type for each value", check).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_admits_its_values_and_no_others() {
        for (kind, right, wrong) in [
            (
                "integer",
                &["0", "412", "-5", "999999999999999999"][..],
                &["", "-", "007", "+1", "1.0", "1e3", "0x1", " 1", "1\n", "9999999999999999999"][..],
            ),
            ("number", &["0", "-1.5", "1e3", "1E-5"], &["", "x", ".5", "1 ", "inf"]),
            ("boolean", &["true", "false"], &["", "True", "1", "yes"]),
            (
                "slug",
                &["a", "0", "A_b-9"],
                &["", "-a", "_a", "a b", "a/b", "é", "a\n", "a.b", "$(x)"],
            ),
            ("one of [open, closed]", &["open", "closed"], &["", "ope", "open "]),
            ("one of [needs work, done]", &["needs work"], &["needs"]),
            ("one of [-rf, done]", &["-rf"], &["rf"]),
            ("matches [a-z0-9/-]+", &["a/b-1"], &["", "A", "a b", "a\n"]),
            ("matches (?i)[a-j]+", &["aB"], &["x"]),
            // Unicode has a Kelvin sign, which is a k.
            ("matches (?i)k", &["k", "K", "\u{212a}"], &["x"]),
            ("matches a|b", &["a", "b"], &["ab", "xb", "ax"]),
            ("matches v\\d+", &["v1", "v٣"], &["v"]),
            ("matches v[0-9]{1,3}\\.x", &["v1.x"], &["v1x"]),
            ("matches .+", &["$(x)"], &["", "a\nb"]),
            ("matches [^a]", &["b"], &["a"]),
            ("matches a b", &["a b"], &["ab"]),
            ("matches ^a$", &["a"], &["a\n"]),
            ("matches (?m)^a$", &["a"], &["a\n", "b\na"]),
            ("text", &["", "$(x)"], &[]),
        ] {
            let parsed: DataType = kind.parse().unwrap_or_else(|it| panic!("{kind}: {it}"));
            assert_eq!(parsed.to_string(), kind);
            for value in right {
                assert!(parsed.admits(value), "{kind} admits {value:?}");
            }
            for value in wrong {
                assert!(!parsed.admits(value), "{kind} does not admit {value:?}");
            }
        }
    }

    #[test]
    fn what_is_not_a_type_is_refused() {
        let long = format!("matches {}", "a".repeat(TYPE_BYTES_MAX));
        let many = format!(
            "one of [{}]",
            (0..=CHOICES_MAX).map(|it| it.to_string()).collect::<Vec<_>>().join(",")
        );
        for (kind, said) in [
            ("", "not a type"),
            ("Integer", "integer, number"),
            ("int", "not a type"),
            ("one of", "not a type"),
            ("one of a, b", "in brackets"),
            ("one of []", "empty entry"),
            ("one of [a,,b]", "empty entry"),
            ("one of [a, a]", "duplicate entry"),
            ("one of ['a', b]", "without quotes"),
            ("one of [a\u{7}]", "without quotes"),
            ("matches (", "unclosed group"),
            ("matches a)|(?:b", "invalid regular expression"),
            ("matches (?x)a #", "invalid regular expression"),
            ("matches (a{1000}){1000}", "invalid regular expression"),
            (&long, "the limit is 4096"),
            (&many, "the limit is 100"),
        ] {
            let error = kind.parse::<DataType>().unwrap_err();
            assert!(error.contains(said), "{kind:.60}: {error}");
        }
    }

    #[test]
    fn a_value_that_is_missing_or_of_another_type_is_named() {
        let types: DataTypes =
            crate::definition::yaml::read("{n: integer, s: 'one of [open, closed]', t: text}")
                .unwrap();
        let data = |text: &str| serde_json::from_str::<Data>(text).unwrap();
        assert!(types.admit(&data(r#"{"n": 412, "s": "open", "t": "$(x)", "more": 1}"#)));
        assert!(types.admit(&data(r#"{"n": "412", "s": "closed", "t": ""}"#)));
        let wrong = data(r#"{"n": 4.5, "s": "other"}"#);
        let said: Vec<String> = types.mismatches(&wrong).collect();
        assert_eq!(
            said,
            [
                "data.n is \"4.5\", not integer",
                "data.s is \"other\", not one of [open, closed]",
                "data.t is missing, not text"
            ]
        );
    }
}
