//! Reads settings from JSON files, and says which setting is wrong.

use std::path::Path;

use serde::Deserializer;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::weights_file::shown;
use crate::{Error, Result};

/// Reads a file of a model folder.
pub(super) fn parse<T: DeserializeOwned>(folder: &Path, file: &str, bytes: &[u8]) -> Result<T> {
    let path = folder.join(file);
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| Error::damaged(&path, format!("it is not valid JSON: {error}")))?;
    convert(&path, value)
}

/// Reads settings from JSON; an error names the setting and what it must be.
pub(super) fn convert<T: DeserializeOwned>(path: &Path, value: Value) -> Result<T> {
    read(value).map_err(|fault| match fault {
        Fault::Unknown(reason) => Error::Unsupported { path: path.to_owned(), reason },
        Fault::Invalid(reason) => Error::damaged(path, reason),
    })
}

enum Fault {
    /// A value of a setting that is not supported.
    Unknown(String),
    Invalid(String),
}

fn read<T: DeserializeOwned>(
    value: impl for<'de> Deserializer<'de, Error = serde_json::Error>,
) -> std::result::Result<T, Fault> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let setting = shown(&error.path().to_string());
        explain(&setting, &error.inner().to_string())
    })
}

/// Says in the words of the file what serde says in those of the program.
fn explain(setting: &str, message: &str) -> Fault {
    if let Some(name) =
        message.strip_prefix("missing field `").and_then(|rest| rest.split('`').next())
    {
        return Fault::Invalid(format!("it has no {name}"));
    }
    if let Some((value, known)) =
        message.strip_prefix("unknown variant `").and_then(|rest| rest.split_once("`, expected "))
    {
        let known = known.trim_start_matches("one of ").replace('`', "");
        let value = shown(value);
        return Fault::Unknown(format!("{setting} \"{value}\"; supported are {known}"));
    }
    let typed = message.strip_prefix("invalid type: ");
    let typed = typed.or_else(|| message.strip_prefix("invalid value: "));
    let wanted = typed.and_then(|typed| typed.rsplit_once(", expected "));
    let Some((found, wanted)) = wanted else {
        return Fault::Invalid(format!("{setting} has a value that is not supported"));
    };
    let wanted = match wanted {
        "usize" | "u32" | "u64" | "i64" => "a non-negative whole number",
        "f64" | "f32" => "a number",
        "a sequence" => "an array",
        "a map" => "an object",
        other if other.starts_with("struct ") => "an object",
        other if other.starts_with("enum ") || other == "string or map" => "a string",
        other => other,
    };
    let found = match found.split('`').nth(1) {
        Some(number) => shown(number),
        None if found.starts_with("string ") => "a string".to_owned(),
        None if found == "map" => "an object".to_owned(),
        None if found == "sequence" => "an array".to_owned(),
        None => shown(found),
    };
    let setting = if setting == "." { "its content" } else { setting };
    Fault::Invalid(format!("{setting} must be {wanted}, not {found}"))
}
