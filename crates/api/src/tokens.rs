//! Access tokens.

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// What a token permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Scope {
    /// Read memories.
    #[serde(rename = "memory:read")]
    MemoryRead,
    /// Add, change, delete and link memories, rebuild the index.
    #[serde(rename = "memory:write")]
    MemoryWrite,
    /// Ask for project context.
    #[serde(rename = "context:read")]
    ContextRead,
    /// Read events.
    #[serde(rename = "events:read")]
    EventsRead,
    /// Publish events.
    #[serde(rename = "events:publish")]
    EventsPublish,
    /// Read flows and their runs.
    #[serde(rename = "flows:read")]
    FlowsRead,
    /// Run flows.
    #[serde(rename = "flows:run")]
    FlowsRun,
    /// Everything, tokens included.
    #[serde(rename = "admin")]
    Admin,
}

impl Scope {
    /// All scopes, in the order of the documentation.
    pub const ALL: [Self; 8] = [
        Self::MemoryRead,
        Self::MemoryWrite,
        Self::ContextRead,
        Self::EventsRead,
        Self::EventsPublish,
        Self::FlowsRead,
        Self::FlowsRun,
        Self::Admin,
    ];

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MemoryRead => "memory:read",
            Self::MemoryWrite => "memory:write",
            Self::ContextRead => "context:read",
            Self::EventsRead => "events:read",
            Self::EventsPublish => "events:publish",
            Self::FlowsRead => "flows:read",
            Self::FlowsRun => "flows:run",
            Self::Admin => "admin",
        }
    }

    /// The scope with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == name)
    }
}

/// Body of `POST /api/tokens`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewTokenRequest {
    /// What it permits; at least one.
    pub scopes: Vec<Scope>,
    /// When it stops working; by default never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Time>,
    /// The only space that it may touch; by default all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<String>,
    /// What it is for, up to 256 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Answer of `POST /api/tokens`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TokenCreated {
    /// The token itself: shown here once and never again.
    pub token: String,
    /// What is kept about it.
    pub info: TokenInfo,
}

/// What is kept about a token; an element of `GET /api/tokens`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TokenInfo {
    /// The id, the middle part of the token.
    pub id: String,
    /// What it permits.
    pub scopes: Vec<Scope>,
    /// When it was made.
    pub created_at: Time,
    /// When it stops working.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Time>,
    /// The only space that it may touch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When it was used last, to the minute or so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Time>,
    /// When it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Time>,
}
