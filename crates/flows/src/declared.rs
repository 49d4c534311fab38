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
                is_short && is_canonical && digits.bytes().all(|byte| byte.is_ascii_digit())
            }
            Kind::Number => {
                value.len() <= SHORT_MAX && waypost_events::Number::from_decimal(value).is_some()
            }
            Kind::Boolean => value == "true" || value == "false",
            Kind::Slug => {
                value.starts_with(|c: char| c.is_ascii_alphanumeric())
                    && value.len() <= SHORT_MAX
                    && value
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
            }
            Kind::OneOf(choices) => choices.iter().any(|choice| choice == value),
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
    let inside = list.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let inside = inside.ok_or("one of needs a list in brackets: one of [open, closed]")?;
    let mut choices: Vec<String> = Vec::new();
    for choice in inside.split(',').map(str::trim) {
        if choice.is_empty() {
            return Err("one of has an empty entry".to_owned());
        }
        if choice.contains(['"', '\'', '[', ']']) || choice.chars().any(char::is_control) {
            return Err(format!("{choice:?} in one of: write entries without quotes and brackets"));
        }
        if choices.iter().any(|other| other == choice) {
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
        built.map_err(|error| invalid(&error))
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
