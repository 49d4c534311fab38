//! Converts errors of serde to ones that tell a client what to change.

use serde_path_to_error::{Path, Segment};

use super::nearest;
use crate::limits::escape_pointer;
use crate::{FieldError, Lines, visible};

/// Longer than any message of ours.
const MESSAGE_CHARS_MAX: usize = 400;

/// Converts an error of serde to one that tells a client what to change.
pub(crate) fn explain(path: &Path, message: &str, prefix: char) -> FieldError {
    let mut segments: Vec<String> = path
        .iter()
        .filter_map(|segment| match segment {
            Segment::Map { key } => Some(escape_pointer(key)),
            Segment::Seq { index } => Some(index.to_string()),
            Segment::Enum { .. } | Segment::Unknown => None,
        })
        .collect();
    let text = if let Some((field, known)) = unknown(message, "unknown field `") {
        if segments.last().is_none_or(|last| *last != escape_pointer(field)) {
            segments.push(escape_pointer(field));
        }
        let known = names(known);
        match nearest(field, &known) {
            Some(name) => format!("unknown field; did you mean `{name}`?"),
            None => format!("unknown field; expected one of {}", listed(&known)),
        }
    } else if let Some((value, known)) = unknown(message, "unknown variant `") {
        let known = names(known);
        match nearest(value, &known) {
            Some(name) => format!("unknown value `{}`; did you mean `{name}`?", shortened(value)),
            None => format!("`{}` is not one of {}", shortened(value), listed(&known)),
        }
    } else if let Some(field) =
        message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'))
    {
        segments.push(escape_pointer(field));
        "is required".to_owned()
    } else if let Some((found, wanted)) = ["invalid type: ", "invalid value: "]
        .iter()
        .find_map(|start| message.strip_prefix(start))
        .and_then(|rest| rest.rsplit_once(", expected "))
    {
        format!("must be {}, not {}", wanted_in_words(wanted), found_in_words(found))
    } else {
        visible_to(message, MESSAGE_CHARS_MAX)
    };
    let joined = segments.join("/");
    FieldError {
        pointer: if joined.is_empty() { String::new() } else { format!("{prefix}{joined}") },
        message: text,
    }
}

/// Splits ``unknown field `x`, expected one of `a`, `b` `` into `x` and the rest.
fn unknown<'a>(message: &'a str, start: &str) -> Option<(&'a str, &'a str)> {
    let rest = message.strip_prefix(start)?;
    rest.rsplit_once("`, expected ").or_else(|| rest.rsplit_once("`, there are no "))
}

fn names(known: &str) -> Vec<&str> {
    known.split('`').skip(1).step_by(2).collect()
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// A value of the client, as a message shows it.
fn shortened(text: &str) -> String {
    visible_to(text, 120)
}

/// The first characters of a text, with escapes for those that a terminal would interpret.
fn visible_to(text: &str, chars_max: usize) -> String {
    let end = text.char_indices().nth(chars_max).map(|(at, _)| at);
    let shown = visible(&text[..end.unwrap_or(text.len())], Lines::Fold).into_owned();
    if end.is_some() { shown + "..." } else { shown }
}

fn wanted_in_words(wanted: &str) -> &str {
    match wanted {
        "u64" | "u32" | "i64" => "a whole number",
        "f64" | "f32" => "a number",
        "a sequence" => "an array",
        "a map" => "an object",
        other => other,
    }
}

/// Serde's description of the value that it found, without echoing long texts.
fn found_in_words(found: &str) -> String {
    let quoted = |start: &str| found.strip_prefix(start).and_then(|rest| rest.strip_suffix('`'));
    if found.starts_with("string ") {
        return "a string".to_owned();
    }
    if let Some(number) = quoted("floating point `") {
        // `1e300` instead of 301 digits.
        return number
            .parse()
            .map_or_else(|_| shortened(number), |value: f64| format!("{value:?}"));
    }
    if let Some(value) = quoted("integer `").or_else(|| quoted("boolean `")) {
        return shortened(value);
    }
    match found {
        "map" => "an object".to_owned(),
        "sequence" => "an array".to_owned(),
        "unit value" => "null".to_owned(),
        other => shortened(other),
    }
}
