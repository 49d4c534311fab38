//! The state of the service.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// Answer of `GET /api/memory/status`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Whether all works as it should.
    pub status: StatusKind,
    /// When degraded: what to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// How many memories there are.
    pub memories: u64,
    /// How many of each type.
    pub by_type: BTreeMap<String, u64>,
    /// How many in each space.
    pub by_space: BTreeMap<String, u64>,
    /// How many links there are.
    pub links: u64,
    /// Memories with a vector of the model in use.
    pub embedded: u64,
    /// Memories that wait for one.
    pub pending_embeddings: u64,
    /// The embedding model.
    pub model: ModelStatus,
    /// The search index.
    pub index: IndexStatus,
    /// Bytes on disk.
    pub storage_bytes: u64,
    /// When the index was last rebuilt by order.
    #[serde(default)]
    pub last_reindex_at: Option<Time>,
    /// How it stands with the mesh; absent if it is not to join.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mesh: Option<MeshStatus>,
    /// Where the service is reached over the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Flow files that wait for approval, for who may read flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending_approval: Vec<String>,
    /// The version of the service.
    pub version: String,
    /// How long the service has been running.
    pub uptime_seconds: u64,
}

/// How the service stands with the mesh of peers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct MeshStatus {
    /// Whether it has joined.
    pub joined: bool,
    /// What is wrong, if anything is. All else works without the mesh.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Whether all works as it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum StatusKind {
    /// All works.
    Ok,
    /// It answers, but something is missing, such as the model.
    Degraded,
}

/// The embedding model of the service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ModelStatus {
    /// Its name.
    pub name: String,
    /// Numbers in a vector; absent as long as it is not loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dimensions: Option<u64>,
    /// What it is doing.
    pub state: ModelState,
    /// While it is fetched: bytes that are here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetched_bytes: Option<u64>,
    /// While it is fetched: bytes in all, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_bytes: Option<u64>,
}

/// What the embedding model is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ModelState {
    /// It embeds.
    Ready,
    /// Its files are being fetched.
    Fetching,
    /// It is being loaded.
    Loading,
    /// It could not be had.
    Missing,
    /// It is switched off.
    Off,
}

impl ModelState {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Fetching => "fetching",
            Self::Loading => "loading",
            Self::Missing => "missing",
            Self::Off => "off",
        }
    }
}

/// The search index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct IndexStatus {
    /// Memories in it.
    pub documents: u64,
    /// Distinct terms in it.
    pub terms: u64,
    /// Its size in memory.
    pub bytes: u64,
    /// Memories that it lacks while it is being built after a start; searches do not find them yet.
    pub lacking: u64,
}

/// Answer of `GET /healthz`: the process answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// Always `ok`.
    pub status: String,
}

/// Answer of `GET /readyz` when requests are served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Readiness {
    /// `ready`; `indexing` while the index is being built after a start and searches find what is in
    /// it; `degraded` while something else hinders the service, such as damage in a store or a full
    /// disk. A service that is not ready answers 503 with a problem.
    pub status: String,
    /// When degraded: what hinders it, and what to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}
