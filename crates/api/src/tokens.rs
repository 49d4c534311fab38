//! Access tokens.

use serde::{Deserialize, Serialize};
use waypost_time::Timestamp;

use crate::limits::{Check, Faults, NOTE_CHARS_MAX};

/// A scope of a token.
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
    /// Its scopes; at least one.
    pub scopes: Vec<Scope>,
    /// When it expires; default: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The only space it can access; default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<String>,
    /// A note on its purpose, up to 256 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Check for NewTokenRequest {
    fn check(&self, faults: &mut Faults) {
        if self.scopes.is_empty() {
            faults.add("scopes", "must name at least one scope");
        }
        faults.space(self.space.as_deref());
        if let Some(note) = &self.note {
            faults.chars("note", note, NOTE_CHARS_MAX);
        }
    }
}

/// Response of `POST /api/tokens`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TokenCreated {
    /// The token itself, which is shown only once.
    pub token: String,
    /// Its properties.
    pub info: TokenInfo,
}

/// The properties of a token; an element of `GET /api/tokens`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TokenInfo {
    /// The id: the middle part of the token.
    pub id: String,
    /// Its scopes.
    pub scopes: Vec<Scope>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The only space it can access.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<String>,
    /// A description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When it was last used, accurate to about a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}
