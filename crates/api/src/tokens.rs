//! Access tokens.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;
use waypost_time::Timestamp;

use crate::Vocabulary;
use crate::limits::{Check, Faults, NOTE_CHARS_MAX};

/// A scope of a token.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[expect(missing_docs, reason = "`describe` says what each means")]
pub enum Scope {
    #[serde(rename = "memory:read")]
    MemoryRead,
    #[serde(rename = "memory:write")]
    MemoryWrite,
    #[serde(rename = "context:read")]
    ContextRead,
    #[serde(rename = "events:read")]
    EventsRead,
    #[serde(rename = "events:publish")]
    EventsPublish,
    #[serde(rename = "flows:read")]
    FlowsRead,
    #[serde(rename = "flows:run")]
    FlowsRun,
    #[serde(rename = "browser:use")]
    BrowserUse,
    #[serde(rename = "admin")]
    Admin,
}

impl Vocabulary for Scope {
    const ALL: &'static [Self] = &[
        Self::MemoryRead,
        Self::MemoryWrite,
        Self::ContextRead,
        Self::EventsRead,
        Self::EventsPublish,
        Self::FlowsRead,
        Self::FlowsRun,
        Self::BrowserUse,
        Self::Admin,
    ];

    fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::MemoryRead => ("memory:read", "Read memories"),
            Self::MemoryWrite => {
                ("memory:write", "Add, change, delete and link memories, rebuild the index")
            }
            Self::ContextRead => ("context:read", "Query project context"),
            Self::EventsRead => ("events:read", "Read events"),
            Self::EventsPublish => ("events:publish", "Publish events"),
            Self::FlowsRead => ("flows:read", "Read flows and their runs"),
            Self::FlowsRun => ("flows:run", "Run flows"),
            Self::BrowserUse => ("browser:use", "Read and change the pages of a browser"),
            Self::Admin => ("admin", "Everything, tokens included"),
        }
    }
}

/// Body of `POST /api/tokens`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewTokenRequest {
    /// Its scopes; at least one.
    pub scopes: Vec<Scope>,
    /// When it expires; default: never.
    pub expires_at: Option<Timestamp>,
    /// The only space it can access; default: all.
    pub space: Option<String>,
    /// A note on its purpose, up to 256 characters.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenCreated {
    /// The token itself, which is shown only once.
    pub token: String,
    /// Its properties.
    pub info: TokenInfo,
}

/// Response of `GET /api/tokens/current`: what a token permits.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenGrants {
    /// Its scopes; `admin` includes all others.
    pub scopes: Vec<Scope>,
    /// The only space it can access; absent if it can access all.
    pub space: Option<String>,
}

impl TokenGrants {
    /// Whether it has this scope, or `admin`.
    pub fn allows(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope) || self.scopes.contains(&Scope::Admin)
    }
}

/// The properties of a token; an element of `GET /api/tokens`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenInfo {
    /// The id: the middle part of the token.
    pub id: String,
    /// Its scopes.
    pub scopes: Vec<Scope>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
    /// The only space it can access.
    pub space: Option<String>,
    /// A description.
    pub note: Option<String>,
    /// When it was last used, accurate to about a minute.
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// The id of the token that it is derived from, and with which it is revoked.
    pub parent: Option<String>,
}

/// Response of `DELETE /api/tokens/{id}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenRevoked {
    /// The ids of the valid tokens that were derived from it, directly or not, and are revoked with
    /// it.
    pub derived: Vec<String>,
}
