//! Reads the arguments of a call strictly: only arguments of the schema, valid types and ranges.

use rmcp::model::JsonObject;
use serde::de::DeserializeOwned;
use serde_json::Value;
use waypost_api::{Check, Faults, FieldError, escape_pointer, parse_fields};

use super::outcome::Failure;

/// The arguments as the request that they describe.
pub(super) fn read<T: DeserializeOwned + Check>(
    schema: &JsonObject,
    given: JsonObject,
) -> Result<T, Failure> {
    read_with(schema, given, |_, _| ())
}

/// The same with another check.
pub(super) fn read_with<T: DeserializeOwned + Check>(
    schema: &JsonObject,
    mut given: JsonObject,
    also: impl Fn(&T, &mut Faults),
) -> Result<T, Failure> {
    given.retain(|_, value| !value.is_null());
    let known = schema.get("properties").and_then(Value::as_object);
    let is_known = |name: &String| known.is_some_and(|known| known.contains_key(name));
    let fault = |name: &str, message: &str| FieldError {
        pointer: format!("/{}", escape_pointer(&name.chars().take(64).collect::<String>())),
        message: message.to_owned(),
    };
    let unknown = given.keys().filter(|name| !is_known(name)).take(8);
    let mut errors: Vec<_> = unknown.map(|name| fault(name, "unknown argument")).collect();
    given.retain(|name, _| is_known(name));
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let missing = required.filter_map(Value::as_str).filter(|name| !given.contains_key(*name));
    errors.extend(missing.map(|name| fault(name, "is required")));
    match parse_fields(given, also) {
        Ok(value) if errors.is_empty() => return Ok(value),
        Ok(_) => {}
        Err(problem) if problem.errors.is_empty() => {
            let message = problem.detail.replace("the body", "the arguments");
            errors.push(FieldError { pointer: String::new(), message });
        }
        Err(problem) => {
            for error in problem.errors {
                if errors.iter().all(|known| known.pointer != error.pointer) {
                    errors.push(error);
                }
            }
        }
    }
    Err(Failure::arguments(errors, schema))
}

/// A number of elements within a tool's own limit.
pub(super) fn limit(
    asked: Option<u64>,
    (default, max): (u64, u64),
    schema: &JsonObject,
) -> Result<u64, Failure> {
    match asked.unwrap_or(default) {
        limit if limit <= max => Ok(limit),
        limit => {
            let message = format!("must be between 1 and {max}, not {limit}");
            Err(Failure::argument("limit", message, schema))
        }
    }
}

/// The arguments of a schema, for a message: `query (required), limit`.
pub(super) fn valid(schema: &JsonObject) -> Vec<String> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|item| item == name));
    let names = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    names
        .map(|(name, rule)| {
            let mut notes = Vec::new();
            if is_required(name) {
                notes.push("required".to_owned());
            }
            if let Some(values) = rule.get("enum").and_then(Value::as_array) {
                let values: Vec<_> = values.iter().filter_map(Value::as_str).collect();
                notes.push(values.join("|"));
            }
            if notes.is_empty() { name.clone() } else { format!("{name} ({})", notes.join(", ")) }
        })
        .collect()
}
