//! The tools, one module each.

mod browser;
mod context;
mod description;
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

use self::description::Description;
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
    Search,
    Get,
    Add,
    Link,
    Context,
    Events,
    Flows,
    Browser,
}

impl Tool {
    /// All tools, in the order of the list.
    pub(crate) const ALL: [Self; 8] = [
        Self::Search,
        Self::Get,
        Self::Add,
        Self::Link,
        Self::Context,
        Self::Events,
        Self::Flows,
        Self::Browser,
    ];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Search => "memory_search",
            Self::Get => "memory_get",
            Self::Add => "memory_add",
            Self::Link => "memory_link",
            Self::Context => "context",
            Self::Events => "events",
            Self::Flows => "flows",
            Self::Browser => "browser",
        }
    }

    /// The scopes of its routes. A token with one of them can use the tool.
    fn scopes(self) -> &'static [Scope] {
        match self {
            Self::Search | Self::Get => &[Scope::MemoryRead],
            Self::Add | Self::Link => &[Scope::MemoryWrite],
            Self::Context => &[Scope::ContextRead],
            Self::Events => &[Scope::EventsRead, Scope::EventsPublish],
            Self::Flows => &[Scope::FlowsRead],
            Self::Browser => &[Scope::BrowserUse],
        }
    }

    /// Whether a token can use the tool. Flows and the browser belong to no space.
    pub(crate) fn is_for(self, grants: &TokenGrants) -> bool {
        let is_possible = !matches!(self, Self::Flows | Self::Browser) || grants.space.is_none();
        is_possible && self.scopes().iter().any(|it| grants.allows(*it))
    }

    fn description(self, grants: &TokenGrants) -> Description {
        match self {
            Self::Search => memory_search::description(),
            Self::Get => memory_get::description(),
            Self::Add => memory_add::description(),
            Self::Link => memory_link::description(),
            Self::Context => context::description(grants),
            Self::Events => events::description(grants),
            Self::Flows => flows::description(),
            Self::Browser => browser::description(),
        }
    }

    /// The tool as a list shows it to that token.
    pub(crate) fn listed(self, grants: &TokenGrants) -> rmcp::model::Tool {
        let it = self.description(grants);
        let annotations = ToolAnnotations::new().destructive(false).open_world(false);
        let annotations = match self {
            Self::Add => annotations.read_only(false).idempotent(true),
            Self::Link => annotations.read_only(false).idempotent(true),
            Self::Events => annotations.read_only(!grants.allows(Scope::EventsPublish)),
            // A click can do anything that a page offers.
            Self::Browser => ToolAnnotations::new().read_only(false).open_world(true),
            _ => annotations.read_only(true),
        };
        rmcp::model::Tool::new(self.name(), it.text, Arc::new(object(it.schema)))
            .with_annotations(annotations)
    }

    /// Whether the tool has anything to work on at present. A service that does not respond has no browser.
    pub(crate) async fn is_there<S: Service>(self, api: &Api<'_, S>) -> bool {
        self != Self::Browser || browser::is_there(api).await
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
            Self::Search => memory_search::call(api, &schema, given).await,
            Self::Get => memory_get::call(api, &schema, given).await,
            Self::Add => memory_add::call(api, &schema, given).await,
            Self::Link => memory_link::call(api, &schema, given).await,
            Self::Context => context::call(api, &schema, given).await,
            Self::Events => events::call(api, &schema, given).await,
            Self::Flows => flows::call(api, &schema, given).await,
            Self::Browser => browser::call(api, &schema, given).await,
        }
    }
}

fn object(schema: Value) -> JsonObject {
    match schema {
        Value::Object(it) => it,
        _ => JsonObject::new(),
    }
}
