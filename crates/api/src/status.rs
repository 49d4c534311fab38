//! The state of the service.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;
use waypost_time::Timestamp;

/// Response of `GET /api/memory/status`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Whether the service is fully working.
    pub status: StatusKind,
    /// The remedy, if degraded.
    pub remedy: Option<String>,
    /// Number of memories.
    pub memories: u64,
    /// Memories by type.
    pub by_type: BTreeMap<String, u64>,
    /// Memories by space.
    pub by_space: BTreeMap<String, u64>,
    /// Number of links.
    pub links: u64,
    /// Memories with a vector of the current model.
    pub embedded: u64,
    /// Memories waiting for a vector.
    pub pending_embeddings: u64,
    /// The embedding model.
    pub model: ModelStatus,
    /// The model of `rerank.model`; absent if it is off.
    pub reranker: Option<RerankerStatus>,
    /// The search index.
    pub index: IndexStatus,
    /// Bytes on disk.
    pub storage_bytes: u64,
    /// When the index was last rebuilt on request.
    #[serialize_always]
    pub last_reindex_at: Option<Timestamp>,
    /// The state of the mesh; absent if it is disabled.
    pub mesh: Option<MeshStatus>,
    /// The service's address on the network.
    pub url: Option<String>,
    /// Flow files pending approval; only for tokens that can read flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending_approval: Vec<String>,
    /// The version of the service.
    pub version: String,
    /// How long the service has been running.
    pub uptime_seconds: u64,
}

/// The state of the service's connection to the mesh.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MeshStatus {
    /// Whether it has joined.
    pub joined: bool,
    /// The problem, if there is one. Everything else works without the mesh.
    pub problem: Option<String>,
}

/// Whether the service is fully working.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum StatusKind {
    /// All works.
    Ok,
    /// It answers, but something is missing, such as the model.
    Degraded,
}

/// The embedding model of the service.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelStatus {
    /// Its name.
    pub name: String,
    /// Dimensions of a vector; absent until the model has loaded.
    pub dimensions: Option<u64>,
    /// Its state.
    pub state: ModelState,
    /// During a download: bytes received.
    pub fetched_bytes: Option<u64>,
    /// During a download: total bytes, if known.
    pub total_bytes: Option<u64>,
}

/// The model that orders the best results of a search again.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RerankerStatus {
    /// Its name.
    pub name: String,
    /// `loading`, `ready`, or `missing` if it could not be loaded.
    pub state: ModelState,
    /// What is wrong with it and what to do, if it could not be loaded. Results then keep the order of the ranking.
    pub problem: Option<String>,
}

/// The state of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct IndexStatus {
    /// Memories in it.
    pub documents: u64,
    /// Distinct terms in it.
    pub terms: u64,
    /// Size in memory, in bytes.
    pub bytes: u64,
    /// Memories not indexed yet, while the index is being rebuilt after a start; searches do not find them.
    pub lacking: u64,
}

/// Response of `GET /healthz`: the process responds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// Always `ok`.
    pub status: String,
}

/// Response of `GET /readyz` when the service accepts requests.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Readiness {
    /// `ready`, or `indexing` while the index is being rebuilt after a start and searches do not find everything; a
    /// service that is not ready responds with 503 and a problem.
    pub status: String,
    /// When degraded: the problem and its remedy.
    pub detail: Option<String>,
}
