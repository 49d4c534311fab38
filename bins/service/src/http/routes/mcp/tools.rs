//! The tools, one module each. A new one is also in [`ALL`].

mod browser;
mod context;
mod events;
mod flows;
mod memory_add;
mod memory_get;
mod memory_link;
mod memory_search;
#[cfg(test)]
mod tests;

use std::pin::Pin;
use std::sync::Arc;

use rmcp::model::{JsonObject, ToolAnnotations};
use serde_json::Value;
use waypost_api::{Scope, TokenGrants};

pub(super) use self::browser::{TOOL as BROWSER, has_browser};
pub(super) use self::context::render as render_context;
pub(super) use self::memory_get::render as render_memories;
use super::asker::Asker;
use super::outcome::{Answer, Failure};
use crate::cluster::position;

/// All tools, in the order of the list.
pub(super) const ALL: [&Tool; 8] = [
    &memory_search::TOOL,
    &memory_get::TOOL,
    &memory_add::TOOL,
    &memory_link::TOOL,
    &context::TOOL,
    &events::TOOL,
    &flows::TOOL,
    &browser::TOOL,
];

/// A tool.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    /// The scopes of its routes. A token with one of them can use the tool.
    scopes: &'static [Scope],
    /// Whether a token that is bound to a space can use it.
    is_in_spaces: bool,
    /// What the tool says about itself to a token.
    describe: fn(&TokenGrants) -> Description,
    call: Call,
}

/// Carries out a call with these arguments, which the schema describes.
type Call = for<'a> fn(&'a Asker, &'a JsonObject, JsonObject) -> Called<'a>;
type Called<'a> = Pin<Box<dyn Future<Output = Result<Answer, Failure>> + Send + 'a>>;

/// What a tool says about itself. Its schema is written by hand, without unions and references, which some clients
/// reject.
#[derive(Debug)]
struct Description {
    /// When to use it, and what it returns.
    text: &'static str,
    annotations: ToolAnnotations,
    /// The JSON schema of its arguments.
    schema: Value,
}

impl PartialEq for Tool {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Tool {
    /// Whether a token can use the tool.
    pub(super) fn is_for(&self, grants: &TokenGrants) -> bool {
        let is_possible = self.is_in_spaces || grants.space.is_none();
        is_possible && self.scopes.iter().any(|scope| grants.allows(*scope))
    }

    /// The tool as a list shows it to that token.
    pub(super) fn listed(&self, grants: &TokenGrants) -> rmcp::model::Tool {
        let Description { text, annotations, schema } = (self.describe)(grants);
        rmcp::model::Tool::new(self.name, text, Arc::new(object(schema)))
            .with_annotations(annotations)
    }

    /// Calls the tool.
    pub(super) async fn call(&self, asker: &Asker, given: JsonObject) -> Result<Answer, Failure> {
        if let [scope] = self.scopes {
            asker.require(*scope)?;
        }
        let all = TokenGrants { scopes: vec![Scope::Admin], space: None };
        let Description { annotations, schema, .. } = (self.describe)(&all);
        if annotations.read_only_hint == Some(false) {
            position::wait_until_compared(&asker.app).await;
        }
        (self.call)(asker, &object(schema), given).await
    }
}

fn object(schema: Value) -> JsonObject {
    match schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    }
}

/// Notes for clients about a tool that changes nothing.
fn reads() -> ToolAnnotations {
    ToolAnnotations::new().destructive(false).open_world(false).read_only(true)
}

/// The same for one that adds something, once.
fn adds() -> ToolAnnotations {
    ToolAnnotations::new().destructive(false).open_world(false).read_only(false).idempotent(true)
}

/// The value of the argument that selects what a tool does, among those of the schema; the rest is read afterwards.
fn action(schema: &JsonObject, given: &mut JsonObject) -> Result<String, Failure> {
    let values = schema.get("properties").and_then(|schema| schema.pointer("/action/enum"));
    let values: Vec<&str> =
        values.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    match given.remove("action") {
        Some(Value::String(name)) if values.contains(&name.as_str()) => Ok(name),
        other => {
            let what = if other.is_none_or(|other| other.is_null()) {
                "is required"
            } else {
                "is unknown"
            };
            let message = format!("{what}; it is one of {}", values.join(", "));
            Err(Failure::argument("action", message, schema))
        }
    }
}

/// The schema with only these arguments, for one action of a tool.
fn only(schema: &JsonObject, names: &[&str], required: &[&str]) -> JsonObject {
    let mut schema = schema.clone();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.retain(|name, _| names.contains(&name.as_str()));
    }
    schema.insert("required".to_owned(), required.into());
    schema
}
