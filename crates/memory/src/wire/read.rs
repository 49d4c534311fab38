//! Reads a line of an export, or says what is wrong with it.

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

use super::{LifespanLine, Line};

/// Characters of the file that a message shows.
const SHOWN_CHARS_MAX: usize = 64;

/// What the value of a field is.
#[derive(Clone, Copy)]
enum Shape {
    /// A whole number up to this one.
    Whole(u64),
    Text,
    Texts,
    Object,
    Flag,
    Lifespan,
}

/// A field of a line, and whether the line needs it. An optional one may be null if it is a text or
/// a lifespan.
type Field = (&'static str, Shape, bool);

const MEMORY: &[Field] = &[
    ("id", Shape::Whole(u64::MAX), true),
    ("version", Shape::Whole(u32::MAX as u64), false),
    ("title", Shape::Text, false),
    ("content", Shape::Text, false),
    ("type", Shape::Text, false),
    ("tags", Shape::Texts, false),
    ("metadata", Shape::Object, false),
    ("session", Shape::Text, false),
    ("lifespan", Shape::Lifespan, false),
    ("space", Shape::Text, false),
    ("createdAt", Shape::Text, false),
    ("validFrom", Shape::Text, false),
    ("purged", Shape::Flag, false),
    ("deletedAt", Shape::Text, false),
];
const LIFESPAN: &[Field] = &[
    ("validFrom", Shape::Text, false),
    ("validUntil", Shape::Text, false),
    ("expiresAt", Shape::Text, false),
    ("pinned", Shape::Flag, false),
];
const DELETION: &[Field] = &[("id", Shape::Whole(u64::MAX), true), ("at", Shape::Text, true)];
const LINK: &[Field] = &[
    ("from", Shape::Whole(u64::MAX), true),
    ("to", Shape::Whole(u64::MAX), true),
    ("type", Shape::Text, true),
    ("createdAt", Shape::Text, false),
];
const END: &[Field] = &[
    ("memories", Shape::Whole(u64::MAX), true),
    ("links", Shape::Whole(u64::MAX), true),
    ("crc32c", Shape::Text, true),
];

impl Line {
    /// Reads a line, or says what is wrong with it and what is valid.
    pub(crate) fn read(text: &[u8]) -> Result<Self, String> {
        // Derived code reads an array of the fields in order, too.
        let is_object = text.iter().find(|it| !it.is_ascii_whitespace()) == Some(&b'{');
        match serde_json::from_slice(text) {
            Ok(line) if is_object => Ok(line),
            Ok(_) => Err(fault(text, "")),
            Err(error) => Err(fault(text, &error.to_string())),
        }
    }
}

/// Reads a lifespan from an object only.
pub(super) fn lifespan<'de, D: Deserializer<'de>>(
    input: D,
) -> Result<Option<Box<LifespanLine>>, D::Error> {
    struct Object;
    impl<'de> Visitor<'de> for Object {
        type Value = Option<Box<LifespanLine>>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
            let read = LifespanLine::deserialize(MapAccessDeserializer::new(members));
            read.map(|it| Some(Box::new(it)))
        }
    }
    input.deserialize_any(Object)
}

/// What is wrong with a line that cannot be read; `error` is what the reader of JSON says.
fn fault(text: &[u8], error: &str) -> String {
    let value = match serde_json::from_slice(text) {
        Ok(Value::Object(fields)) => fields,
        Ok(other) => return format!("must be a JSON object, not {}", found(&other)),
        Err(error) if error.to_string().starts_with("number out of range") => {
            let column = error.column();
            return format!(
                "the number before column {column} is beyond the range of a 64-bit float, \
                 -1.7976931348623157e308 to 1.7976931348623157e308"
            );
        }
        Err(error) => return format!("is not valid JSON: {error}"),
    };
    let known = match value.get("record") {
        Some(Value::String(record)) => match record.as_str() {
            "memory" => Ok(MEMORY),
            "deletion" => Ok(DELETION),
            "link" => Ok(LINK),
            "end" => Ok(END),
            other => Err(format!(", not `{}`", shown(other))),
        },
        Some(other) => Err(format!(", not {}", found(other))),
        None => Err("; it is missing".to_owned()),
    };
    let known = match known {
        Ok(known) => known,
        Err(end) => return format!("record: must be `memory`, `deletion`, `link` or `end`{end}"),
    };
    let told = of_fields(&value, known, "").or_else(|| twice(error));
    told.unwrap_or_else(|| "has values that do not belong together".to_owned())
}

/// The first fault of an object's fields.
fn of_fields(values: &Map<String, Value>, known: &[Field], prefix: &str) -> Option<String> {
    for (name, shape, is_required) in known {
        let Some(value) = values.get(*name) else {
            if *is_required {
                return Some(format!("{prefix}{name}: is required"));
            }
            continue;
        };
        if !is_required && value.is_null() && matches!(shape, Shape::Text | Shape::Lifespan) {
            continue;
        }
        if let Some(reason) = of_value(value, *shape, &format!("{prefix}{name}")) {
            return Some(reason);
        }
    }
    let is_known = |name: &str| {
        known.iter().any(|(it, ..)| *it == name) || prefix.is_empty() && name == "record"
    };
    let unknown = values.keys().find(|it| !is_known(it))?;
    let names: Vec<String> = known.iter().map(|(it, ..)| format!("`{it}`")).collect();
    Some(format!("{prefix}{}: unknown field; valid are {}", shown(unknown), names.join(", ")))
}

fn of_value(value: &Value, shape: Shape, name: &str) -> Option<String> {
    let wanted = match (shape, value) {
        (Shape::Whole(most), _) if value.as_u64().is_some_and(|it| it <= most) => return None,
        (Shape::Text, Value::String(_))
        | (Shape::Object, Value::Object(_))
        | (Shape::Flag, Value::Bool(_)) => return None,
        (Shape::Texts, Value::Array(all)) => {
            let (at, other) = all.iter().enumerate().find(|(_, it)| !it.is_string())?;
            return Some(format!("{name}/{at}: must be a string, not {}", found(other)));
        }
        (Shape::Lifespan, Value::Object(inner)) => {
            return of_fields(inner, LIFESPAN, &format!("{name}/"));
        }
        (Shape::Whole(u64::MAX), _) => "a non-negative whole number".to_owned(),
        (Shape::Whole(most), _) => format!("a whole number from 0 to {most}"),
        (Shape::Text, _) => "a string".to_owned(),
        (Shape::Texts, _) => "an array of strings".to_owned(),
        (Shape::Object | Shape::Lifespan, _) => "an object".to_owned(),
        (Shape::Flag, _) => "a boolean".to_owned(),
    };
    Some(format!("{name}: must be {wanted}, not {}", found(value)))
}

/// The name of a field that a line has twice.
fn twice(error: &str) -> Option<String> {
    let name = error.split_once("duplicate field `")?.1.split_once('`')?.0;
    Some(format!("{}: the line has it twice", shown(name)))
}

fn found(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(it) => it.to_string(),
        Value::Number(it) => it.to_string(),
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// Text of the file: cut, with escapes for control characters.
pub(crate) fn shown(text: &str) -> String {
    let mut shown: String =
        text.chars().take(SHOWN_CHARS_MAX).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN_CHARS_MAX).is_some() {
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::Line;

    fn check(line: &str, expected: &str) {
        let told = Line::read(line.as_bytes()).expect_err(line);
        assert!(told.contains(expected), "{line}: {told}");
        for phrase in ["struct", "expected", "invalid type", "variant", "LifespanLine", "u64"] {
            assert!(!told.contains(phrase), "{line}: {told}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_line_is_said_in_the_words_of_the_file() {
        check(r#"["memory",{"id":1}]"#, "must be a JSON object, not an array");
        check(r#"["memory",1,1,"t"]"#, "must be a JSON object, not an array");
        check("7", "must be a JSON object, not 7");
        check(
            r#"{"id":1}"#,
            "record: must be `memory`, `deletion`, `link` or `end`; it is missing",
        );
        check(r#"{"record":"note","id":1}"#, "not `note`");
        check(r#"{"record":{"memory":null},"id":1}"#, "not an object");
        check(r#"{"record":"memory"}"#, "id: is required");
        check(
            r#"{"record":"memory","id":"1"}"#,
            "id: must be a non-negative whole number, not a string",
        );
        check(r#"{"record":"memory","id":1.5}"#, "not 1.5");
        check(
            r#"{"record":"memory","id":1,"version":4294967296}"#,
            "from 0 to 4294967295, not 4294967296",
        );
        check(
            r#"{"record":"memory","id":1,"lifespan":[]}"#,
            "lifespan: must be an object, not an array",
        );
        check(
            r#"{"record":"memory","id":1,"lifespan":["x"]}"#,
            "lifespan: must be an object, not an array",
        );
        check(
            r#"{"record":"memory","id":1,"lifespan":{"pinned":1}}"#,
            "lifespan/pinned: must be a boolean, not 1",
        );
        check(
            r#"{"record":"memory","id":1,"lifespan":{"nope":1}}"#,
            "lifespan/nope: unknown field; valid are `validFrom`",
        );
        check(r#"{"record":"memory","id":1,"tags":["a",2]}"#, "tags/1: must be a string, not 2");
        check(
            r#"{"record":"memory","id":1,"tags":null}"#,
            "tags: must be an array of strings, not null",
        );
        check(
            r#"{"record":"memory","id":1,"metadata":[]}"#,
            "metadata: must be an object, not an array",
        );
        check(
            r#"{"record":"memory","id":1,"metadata":{"k":1e999}}"#,
            "beyond the range of a 64-bit float",
        );
        check("{\"record\":\"memory\",\"id\":1,\"a\\u001b[1m\":1}", "a\\u{1b}[1m: unknown field");
        check(r#"{"record":"memory","id":1,"id":2}"#, "id: the line has it twice");
        check(r#"{"record":"link","from":1,"to":2}"#, "type: is required");
        check(
            r#"{"record":"link","from":1,"to":2,"type":{"updates":null}}"#,
            "type: must be a string, not an object",
        );
        let long = format!(r#"{{"record":"{}"}}"#, "x".repeat(1 << 16));
        assert!(Line::read(long.as_bytes()).expect_err("too long").len() < 200);
    }

    #[test]
    fn null_is_an_absent_text() {
        let line = r#"{"record":"memory","id":1,"title":null,"lifespan":null}"#;
        assert!(Line::read(line.as_bytes()).is_ok());
    }
}
