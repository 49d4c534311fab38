//! Types of an event's values: what a flow declares, and where in a command this allows them.

use std::fmt;
use std::str::FromStr;

use regex_syntax::hir::{Class as Letters, Hir, HirKind};
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
/// All types but `text` are closed: their values have no character with a meaning in a shell. A
/// list or an expression that allows other characters than `A-Z a-z 0-9 _ . : / @ -` is checked
/// like any other, but its values may be used only where a text may.
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
    OneOf { choices: Vec<String>, is_closed: bool },
    Matches { regex: regex::Regex, is_closed: bool },
    Text,
}

/// What is known about a value's characters, which decides where it may occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Anything.
    Text,
    /// A name chosen by the publisher.
    Name,
    /// One of the names listed in the flow.
    Choice,
    /// A number or a boolean.
    Number,
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
            Kind::OneOf { choices, .. } => choices.iter().any(|it| it == value),
            Kind::Matches { regex, .. } => regex.is_match(value),
            Kind::Text => true,
        }
    }

    /// The values of `one of`.
    pub(crate) fn choices(&self) -> Option<&[String]> {
        match &self.kind {
            Kind::OneOf { choices, .. } => Some(choices),
            _ => None,
        }
    }

    pub(crate) fn class(&self) -> Class {
        match &self.kind {
            Kind::Integer | Kind::Number | Kind::Boolean => Class::Number,
            Kind::OneOf { is_closed: true, .. } => Class::Choice,
            Kind::Slug | Kind::Matches { is_closed: true, .. } => Class::Name,
            Kind::OneOf { .. } | Kind::Matches { .. } | Kind::Text => Class::Text,
        }
    }

    /// Whether its values have no character with a meaning in a shell.
    pub fn is_closed(&self) -> bool {
        self.class() != Class::Text
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
    let is_closed = choices.iter().all(|it| it.chars().all(is_inert) && !it.starts_with('-'));
    Ok(Kind::OneOf { choices, is_closed })
}

fn matches(source: &str) -> Result<Kind, String> {
    let invalid = |why: &dyn fmt::Display| {
        let why = why.to_string();
        let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        format!("invalid regular expression {source:?}: {why}")
    };
    // Parsed separately first: `a)|(b` would escape the anchors.
    let parsed = regex_syntax::parse(source).map_err(|it| invalid(&it))?;
    let anchored = regex::RegexBuilder::new(&format!(r"\A(?:{source})\z"))
        .size_limit(1 << 20)
        .build()
        .map_err(|it| invalid(&it))?;
    Ok(Kind::Matches { regex: anchored, is_closed: is_inert_only(&parsed) })
}

/// These characters have no meaning in a shell, quoted or not.
fn is_inert(it: char) -> bool {
    it.is_ascii_alphanumeric() || "_.:/@-".contains(it)
}

/// Whether every text that the expression matches has only such characters.
fn is_inert_only(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => true,
        HirKind::Literal(literal) => {
            std::str::from_utf8(&literal.0).is_ok_and(|it| it.chars().all(is_inert))
        }
        HirKind::Class(Letters::Unicode(class)) => {
            class.ranges().iter().all(|it| all_inert(it.start().into(), it.end().into()))
        }
        HirKind::Class(Letters::Bytes(class)) => {
            class.ranges().iter().all(|it| all_inert(it.start().into(), it.end().into()))
        }
        HirKind::Repetition(it) => is_inert_only(&it.sub),
        HirKind::Capture(it) => is_inert_only(&it.sub),
        HirKind::Concat(all) | HirKind::Alternation(all) => all.iter().all(is_inert_only),
    }
}

fn all_inert(start: u32, end: u32) -> bool {
    end < 128 && (start..=end).all(|it| char::from_u32(it).is_some_and(is_inert))
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

    /// The error for each value that is missing or not of its declared type, by name.
    pub fn mismatches<'a>(&'a self, data: &'a Data) -> impl Iterator<Item = Mismatch> + 'a {
        self.iter().filter_map(|(key, kind)| {
            let found = data.get(key).map(ToString::to_string);
            let is_right = found.as_deref().is_some_and(|it| kind.admits(it));
            (!is_right).then(|| Mismatch { key: key.to_owned(), kind: kind.to_string(), found })
        })
    }

    /// Whether the data has every declared name, with a value of its type.
    pub fn admit(&self, data: &Data) -> bool {
        self.mismatches(data).next().is_none()
    }

    pub(crate) fn class(&self, key: &str) -> Class {
        self.get(key).map_or(Class::Text, DataType::class)
    }
}

/// A value that an event lacks, or that is not of its declared type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The name in the event's data.
    pub key: String,
    /// The type, as written in the flow.
    pub kind: String,
    /// The value; nothing if the event has none.
    pub found: Option<String>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.found {
            None => write!(f, "data.{} is missing", self.key),
            Some(found) => {
                let shown: String = found.chars().take(64).collect();
                let more = if shown.len() < found.len() { "…" } else { "" };
                write!(f, "data.{} is {shown:?}{more}", self.key)
            }
        }
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
        for (kind, class, right, wrong) in [
            (
                "integer",
                Class::Number,
                &["0", "412", "-5", "999999999999999999"][..],
                &["", "-", "007", "+1", "1.0", "1e3", "0x1", " 1", "1\n", "9999999999999999999"][..],
            ),
            ("number", Class::Number, &["0", "-1.5", "1e3", "1E-5"], &["", "x", ".5", "1 ", "inf"]),
            ("boolean", Class::Number, &["true", "false"], &["", "True", "1", "yes"]),
            (
                "slug",
                Class::Name,
                &["a", "0", "A_b-9"],
                &["", "-a", "_a", "a b", "a/b", "é", "a\n", "a.b", "$(x)"],
            ),
            ("one of [open, closed]", Class::Choice, &["open", "closed"], &["", "ope", "open "]),
            ("one of [needs work, done]", Class::Text, &["needs work"], &["needs"]),
            ("one of [-rf, done]", Class::Text, &["-rf"], &["rf"]),
            ("matches [a-z0-9/-]+", Class::Name, &["a/b-1"], &["", "A", "a b", "a\n"]),
            ("matches (?i)[a-j]+", Class::Name, &["aB"], &["x"]),
            // Unicode has a Kelvin sign, which is a k.
            ("matches (?i)k", Class::Text, &["k", "K", "\u{212a}"], &["x"]),
            ("matches a|b", Class::Name, &["a", "b"], &["ab", "xb", "ax"]),
            ("matches v\\d+", Class::Text, &["v1", "v٣"], &["v"]),
            ("matches v[0-9]{1,3}\\.x", Class::Name, &["v1.x"], &["v1x"]),
            ("matches .+", Class::Text, &["$(x)"], &["", "a\nb"]),
            ("matches [^a]", Class::Text, &["b"], &["a"]),
            ("matches a b", Class::Text, &["a b"], &["ab"]),
            ("matches ^a$", Class::Name, &["a"], &["a\n"]),
            ("matches (?m)^a$", Class::Name, &["a"], &["a\n", "b\na"]),
            ("text", Class::Text, &["", "$(x)"], &[]),
        ] {
            let parsed: DataType = kind.parse().unwrap_or_else(|it| panic!("{kind}: {it}"));
            assert_eq!(parsed.class(), class, "{kind}");
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
        let said: Vec<String> = types.mismatches(&wrong).map(|it| it.to_string()).collect();
        assert_eq!(said, ["data.n is \"4.5\"", "data.s is \"other\"", "data.t is missing"]);
    }
}
