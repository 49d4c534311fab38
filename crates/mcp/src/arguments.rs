//! Reads the arguments of a call strictly: only arguments of the schema, valid types and ranges.

use rmcp::model::JsonObject;
use serde::de::DeserializeOwned;
use serde_json::Value;
use waypost_api::{Check, FieldError, escape_pointer, parse_body};

use crate::outcome::Failure;

/// The arguments as the request that they describe.
pub(crate) fn read<T: DeserializeOwned + Check>(
    schema: &JsonObject,
    given: &JsonObject,
) -> Result<T, Failure> {
    let known = schema.get("properties").and_then(Value::as_object);
    let is_known = |name: &str| known.is_some_and(|it| it.contains_key(name));
    let mut errors: Vec<FieldError> = given
        .keys()
        .filter(|name| !is_known(name))
        .take(8)
        .map(|name| FieldError {
            pointer: format!("/{}", escape_pointer(&name.chars().take(64).collect::<String>())),
            message: "unknown argument".to_owned(),
        })
        .collect();
    let rest: JsonObject = given
        .iter()
        .filter(|(name, value)| is_known(name) && !value.is_null())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let missing = required.filter_map(Value::as_str).filter(|it| !rest.contains_key(*it));
    errors.extend(
        missing.map(|name| FieldError {
            pointer: format!("/{name}"),
            message: "is required".to_owned(),
        }),
    );
    // A map of JSON values can always be written.
    let body = serde_json::to_vec(&rest).unwrap_or_default();
    match parse_body(&body) {
        Ok(value) if errors.is_empty() => return Ok(value),
        Ok(_) => {}
        Err(problem) if problem.errors.is_empty() => {
            let message = problem.detail.replace("the body", "the arguments");
            errors.push(FieldError { pointer: String::new(), message });
        }
        Err(problem) => {
            let is_new = |it: &FieldError| errors.iter().all(|known| known.pointer != it.pointer);
            let more: Vec<_> = problem.errors.into_iter().filter(is_new).collect();
            errors.extend(more);
        }
    }
    Err(Failure::Arguments { errors, valid: valid(schema) })
}

/// The arguments of a schema, for a message: `query (required), limit`.
pub(crate) fn valid(schema: &JsonObject) -> Vec<String> {
    let is_required = |name: &str| {
        let all = schema.get("required").and_then(Value::as_array);
        all.is_some_and(|it| it.iter().any(|it| it == name))
    };
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
