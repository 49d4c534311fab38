//! What tools say about themselves.

use rmcp::model::JsonObject;
use serde_json::Value;

use crate::arguments;
use crate::outcome::Failure;

/// What a tool says about itself. Its schema is written by hand, without unions and references, which some clients
/// reject.
#[derive(Debug)]
pub(crate) struct Description {
    /// When to use it, and what it returns.
    pub(crate) text: &'static str,
    /// The JSON schema of its arguments.
    pub(crate) schema: Value,
}

/// The value of the argument that selects what a tool does, among those of the schema; the rest is read afterwards.
pub(super) fn action(
    schema: &JsonObject,
    given: &JsonObject,
) -> Result<(String, JsonObject), Failure> {
    let mut rest = given.clone();
    let values = schema.get("properties").and_then(|it| it.pointer("/action/enum"));
    let values: Vec<&str> =
        values.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    match rest.remove("action") {
        Some(Value::String(name)) if values.contains(&name.as_str()) => Ok((name, rest)),
        other => {
            let what =
                if other.is_none_or(|it| it.is_null()) { "is required" } else { "is unknown" };
            let message = format!("{what}; it is one of {}", values.join(", "));
            Err(Failure::argument("action", message, arguments::valid(schema)))
        }
    }
}

/// The schema with only these arguments, for one action of a tool.
pub(super) fn only(schema: &JsonObject, names: &[&str], required: &[&str]) -> JsonObject {
    let mut schema = schema.clone();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.retain(|name, _| names.contains(&name.as_str()));
    }
    schema.insert("required".to_owned(), required.into());
    schema
}
