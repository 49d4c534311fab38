//! Checks `tokenizer.json` before the tokenizer library reads it.
//!
//! A model's files are untrusted, and the library does whatever they say: a few lines of
//! normalisation can turn a word into gigabytes. So only parts whose cost has a bound pass, and only
//! with the fields that were checked. The parts are parsed into types that list what is valid and
//! written again, because the library guesses the type of a part that it does not know by its
//! fields.
//!
//! The bounds: the file is at most [`FILE_BYTES_MAX`] long, a byte of a text becomes at most
//! [`GROWTH_MAX`] bytes, and a text is cut so that it becomes at most [`NORMALISED_BYTES_MAX`] bytes.

mod charsmap;
mod ends;
mod steps;
mod words;

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::recipe::Recipe;
use crate::{Error, Result};

/// The largest known, of ModernBERT's multilingual kin, has 34 MB.
const FILE_BYTES_MAX: usize = 64 << 20;
/// The values of the file in memory take up to 100 bytes each; the largest known has 1.6 million.
const VALUES_MAX: usize = 6_000_000;
/// XLM-R's normalisation and pre-tokenization reach 44, which is the most of the supported models.
const GROWTH_MAX: f64 = 128.0;
/// Each byte takes up to about 250 bytes while a text is tokenized.
const NORMALISED_BYTES_MAX: usize = 4 << 20;
/// Sixteen bytes for each token of the longest models.
const TEXT_BYTES_MAX: usize = 128 << 10;
/// Four are the most of the supported models.
const STEPS_MAX: usize = 32;
/// Literal texts in steps are a word or less.
const LITERAL_BYTES_MAX: usize = 256;
/// The largest known has 10,000 marks, of a few letters each.
const MARKS_MAX: usize = 16_384;
const MARKS_BYTES_MAX: usize = 128 << 10;

/// A file that passed.
pub(super) struct Checked {
    /// The parts that turn a text into tokens. Truncation and padding belong to the recipe, and
    /// nothing here turns tokens into a text.
    pub(super) json: Vec<u8>,
    /// Bytes of a text that may be tokenized at once.
    pub(super) text_bytes_max: usize,
}

/// What is wrong with a part of the file.
#[derive(Debug)]
struct Fault {
    at: String,
    reason: String,
    is_unsupported: bool,
}

impl Fault {
    /// The part contradicts the format or another part.
    fn damaged(at: &str, reason: impl Into<String>) -> Self {
        Self { at: at.to_owned(), reason: reason.into(), is_unsupported: false }
    }

    /// The part is valid for the library, and beyond what is run here.
    fn unsupported(at: &str, reason: impl Into<String>) -> Self {
        Self { at: at.to_owned(), reason: reason.into(), is_unsupported: true }
    }

    fn into_error(self, path: &Path) -> Error {
        let Self { at, reason, is_unsupported } = self;
        let reason = if at.is_empty() { reason } else { format!("{at}: {reason}") };
        if is_unsupported {
            return Error::Unsupported { path: path.to_owned(), reason };
        }
        Error::damaged(path, reason)
    }
}

type Checks<T> = std::result::Result<T, Fault>;

/// Checks the file at `path`, and returns what the library may read of it.
pub(super) fn check(path: &Path, bytes: &[u8], recipe: &Recipe) -> Result<Checked> {
    check_size(bytes).map_err(|fault| fault.into_error(path))?;
    let mut file: Map<String, Value> =
        serde_json::from_slice(bytes).map_err(|error| Error::damaged(path, error))?;
    let growth = check_parts(&mut file, recipe).map_err(|fault| fault.into_error(path))?;
    let json = serde_json::to_vec(&file).map_err(|error| Error::damaged(path, error))?;
    let text_bytes_max = (NORMALISED_BYTES_MAX as f64 / growth) as usize;
    Ok(Checked { json, text_bytes_max: text_bytes_max.min(TEXT_BYTES_MAX) })
}

fn check_size(bytes: &[u8]) -> Checks<()> {
    if bytes.len() > FILE_BYTES_MAX {
        let count = bytes.len();
        let reason = format!("it has {count} bytes; valid: up to {FILE_BYTES_MAX}");
        return Err(Fault::unsupported("", reason));
    }
    // Each value but the first follows one of these. Those inside texts count too, which only
    // makes the limit stricter.
    let values = bytes.iter().filter(|it| matches!(it, b',' | b'[' | b'{')).count();
    if values > VALUES_MAX {
        let reason = format!("it has about {values} values; valid: up to {VALUES_MAX}");
        return Err(Fault::unsupported("", reason));
    }
    Ok(())
}

/// Checks each part, leaves only what was checked, and returns the bytes that a byte of a text can
/// become.
fn check_parts(file: &mut Map<String, Value>, recipe: &Recipe) -> Checks<f64> {
    const KEPT: [&str; 6] =
        ["version", "added_tokens", "normalizer", "pre_tokenizer", "post_processor", "model"];
    file.retain(|name, _| KEPT.contains(&name.as_str()));
    check_marks(file.get("added_tokens"))?;
    let mut budget = steps::Budget::new();
    replace(file, "normalizer", |value| steps::normalizer(&mut budget, "normalizer", value))?;
    replace(file, "pre_tokenizer", |value| {
        steps::pre_tokenizer(&mut budget, "pre_tokenizer", value)
    })?;
    replace(file, "post_processor", |value| ends::post_processor(value, recipe))?;
    match file.get_mut("model") {
        Some(Value::Object(model)) => words::check(model)?,
        _ => return Err(Fault::damaged("model", "it is missing, or is not an object")),
    }
    Ok(budget.growth())
}

/// Replaces a part that is present by what `check` leaves of it.
fn replace(
    file: &mut Map<String, Value>,
    name: &str,
    check: impl FnOnce(Value) -> Checks<Value>,
) -> Checks<()> {
    match file.remove(name) {
        None | Some(Value::Null) => {}
        Some(value) => drop(file.insert(name.to_owned(), check(value)?)),
    }
    Ok(())
}

/// The library searches each text for all of these, and normalises some.
fn check_marks(marks: Option<&Value>) -> Checks<()> {
    let marks = match marks {
        None => return Ok(()),
        Some(Value::Array(marks)) => marks,
        Some(_) => return Err(Fault::damaged("added_tokens", "it is not a list")),
    };
    if marks.len() > MARKS_MAX {
        let reason = format!("it has {} tokens; valid: up to {MARKS_MAX}", marks.len());
        return Err(Fault::unsupported("added_tokens", reason));
    }
    let mut bytes = 0;
    for (index, mark) in marks.iter().enumerate() {
        let at = || format!("added_tokens[{index}].content");
        let Some(content) = mark.get("content").and_then(Value::as_str) else {
            return Err(Fault::damaged(&at(), "it is not a text"));
        };
        check_literal(&at(), content)?;
        bytes += content.len();
    }
    if bytes > MARKS_BYTES_MAX {
        let reason = format!("its tokens have {bytes} bytes; valid: up to {MARKS_BYTES_MAX}");
        return Err(Fault::unsupported("added_tokens", reason));
    }
    Ok(())
}

fn check_literal(at: &str, text: &str) -> Checks<()> {
    if text.len() > LITERAL_BYTES_MAX {
        let reason = format!("it has {} bytes; valid: up to {LITERAL_BYTES_MAX}", text.len());
        return Err(Fault::unsupported(at, reason));
    }
    Ok(())
}

/// Parses one part. The message of a type that is not known lists those that are.
fn parse<T: DeserializeOwned>(at: &str, value: Value) -> Checks<T> {
    let kind = value.get("type").map(ToString::to_string);
    serde_json::from_value(value).map_err(|error| {
        let reason = error.to_string();
        match kind {
            Some(_) if reason.starts_with("unknown variant") => Fault::unsupported(at, reason),
            Some(kind) => Fault::damaged(at, format!("not a valid {kind}: {reason}")),
            None => Fault::damaged(at, reason),
        }
    })
}

/// The parts of a `Sequence`, with their paths, or `None` if `value` is another part.
fn sequence(at: &str, value: &mut Value, list: &str) -> Checks<Option<Vec<(String, Value)>>> {
    if value.get("type").and_then(Value::as_str) != Some("Sequence") {
        return Ok(None);
    }
    let Some(Value::Array(parts)) = value.get_mut(list).map(Value::take) else {
        return Err(Fault::damaged(at, format!("a Sequence has a list \"{list}\"")));
    };
    let named = parts.into_iter().enumerate();
    Ok(Some(named.map(|(index, part)| (format!("{at}.{list}[{index}]"), part)).collect()))
}

#[cfg(test)]
mod tests;
