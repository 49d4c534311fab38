//! The tools, one module each.

mod context;
mod events;
mod flows;
mod memory_add;
mod memory_get;
mod memory_link;
mod memory_search;
#[cfg(test)]
mod tests;

pub(crate) use self::context::render as render_context;
pub(crate) use self::memory_get::render as render_memories;

use std::sync::Arc;

use rmcp::model::{JsonObject, ToolAnnotations};
use serde_json::Value;
use waypost_api::{Scope, TokenGrants};

use crate::api::Api;
use crate::outcome::{Answer, Failure};
use crate::service::Service;

/// A tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    MemorySearch,
    MemoryGet,
    MemoryAdd,
    MemoryLink,
    Context,
    Events,
    Flows,
}

/// What a tool says about itself. Its schema is written by hand, without unions and references, which some clients
/// reject.
#[derive(Debug)]
pub(crate) struct Description {
    /// When to use it, and what it returns.
    pub(crate) text: &'static str,
    /// The JSON schema of its arguments.
    pub(crate) schema: Value,
}

impl Tool {
    /// All tools, in the order of the list.
    pub(crate) const ALL: [Self; 7] = [
        Self::MemorySearch,
        Self::MemoryGet,
        Self::MemoryAdd,
        Self::MemoryLink,
        Self::Context,
        Self::Events,
        Self::Flows,
    ];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::MemorySearch => "memory_search",
            Self::MemoryGet => "memory_get",
            Self::MemoryAdd => "memory_add",
            Self::MemoryLink => "memory_link",
            Self::Context => "context",
            Self::Events => "events",
            Self::Flows => "flows",
        }
    }

    /// The scopes of its routes. A token with one of them can use the tool.
    fn scopes(self) -> &'static [Scope] {
        match self {
            Self::MemorySearch | Self::MemoryGet => &[Scope::MemoryRead],
            Self::MemoryAdd | Self::MemoryLink => &[Scope::MemoryWrite],
            Self::Context => &[Scope::ContextRead],
            Self::Events => &[Scope::EventsRead, Scope::EventsPublish],
            Self::Flows => &[Scope::FlowsRead],
        }
    }

    /// Whether a token can use the tool. Flows concern all spaces.
    pub(crate) fn is_for(self, grants: &TokenGrants) -> bool {
        let is_possible = self != Self::Flows || grants.space.is_none();
        is_possible && self.scopes().iter().any(|it| grants.allows(*it))
    }

    fn description(self, grants: &TokenGrants) -> Description {
        match self {
            Self::MemorySearch => memory_search::description(),
            Self::MemoryGet => memory_get::description(),
            Self::MemoryAdd => memory_add::description(),
            Self::MemoryLink => memory_link::description(),
            Self::Context => context::description(grants),
            Self::Events => events::description(grants),
            Self::Flows => flows::description(),
        }
    }

    /// The tool as a list shows it to that token.
    pub(crate) fn listed(self, grants: &TokenGrants) -> rmcp::model::Tool {
        let it = self.description(grants);
        let annotations = ToolAnnotations::new().destructive(false).open_world(false);
        let annotations = match self {
            Self::MemoryAdd => annotations.read_only(false).idempotent(true),
            Self::MemoryLink => annotations.read_only(false).idempotent(true),
            Self::Events => annotations.read_only(!grants.allows(Scope::EventsPublish)),
            _ => annotations.read_only(true),
        };
        rmcp::model::Tool::new(self.name(), it.text, Arc::new(object(it.schema)))
            .with_annotations(annotations)
    }

    /// Calls the tool. What the caller's token does not permit, the service refuses.
    pub(crate) async fn call<S: Service>(
        self,
        api: Api<'_, S>,
        given: &JsonObject,
    ) -> Result<Answer, Failure> {
        let all = TokenGrants { scopes: vec![Scope::Admin], space: None };
        let schema = object(self.description(&all).schema);
        match self {
            Self::MemorySearch => memory_search::call(api, &schema, given).await,
            Self::MemoryGet => memory_get::call(api, &schema, given).await,
            Self::MemoryAdd => memory_add::call(api, &schema, given).await,
            Self::MemoryLink => memory_link::call(api, &schema, given).await,
            Self::Context => context::call(api, &schema, given).await,
            Self::Events => events::call(api, &schema, given).await,
            Self::Flows => flows::call(api, &schema, given).await,
        }
    }
}

fn object(schema: Value) -> JsonObject {
    match schema {
        Value::Object(it) => it,
        _ => JsonObject::new(),
    }
}

/// The value of the argument that selects what a tool does, among those of the schema; the rest is read afterwards.
fn action(schema: &JsonObject, given: &JsonObject) -> Result<(String, JsonObject), Failure> {
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
            Err(Failure::argument("action", message, crate::arguments::valid(schema)))
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
