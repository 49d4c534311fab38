//! Memories, searches, links and bulk transfer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use waypost_time::Timestamp;

use crate::Problem;
use crate::wire;

/// Body of `POST /api/memory/search`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SearchRequest {
    /// The query: 1 to 8192 characters.
    pub query: String,
    /// Maximum number of hits: 1 to 1000; default: 10.
    #[serde(
        default,
        deserialize_with = "wire::optional_whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub limit: Option<u64>,
    /// Only memories of one of these types; one type may be given without an array.
    #[serde(
        rename = "type",
        default,
        deserialize_with = "wire::one_or_many",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::one_or_many))]
    pub kinds: Vec<String>,
    /// Only memories with all of these tags.
    #[serde(default, deserialize_with = "wire::list", skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Only memories of this space; default: all spaces that the token can read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<String>,
    /// Only memories created at or after this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Only memories created before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// How to rank; default: `hybrid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<SearchMode>,
    /// Whether each hit carries its `scores` and `links`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<bool>,
    /// Only hits with at least this score, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_score: Option<f64>,
    /// Whether superseded memories are not ranked lower.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_superseded: Option<bool>,
}

/// How a search ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum SearchMode {
    /// By words and by meaning, fused.
    Hybrid,
    /// By words alone.
    Lexical,
    /// By meaning alone.
    Semantic,
}

impl SearchMode {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::Lexical => "lexical",
            Self::Semantic => "semantic",
        }
    }
}

/// Body of `POST /api/memory/add`, and each line of `POST /api/memory/batch`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AddRequest {
    /// The title, up to 512 characters; if absent or blank, the first line of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The text to remember: 1 byte to 1 MiB.
    pub content: String,
    /// The type, `[a-z0-9_-]{1,64}`; default: `note`.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Tags, up to 64.
    #[serde(default, deserialize_with = "wire::list", skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Metadata, up to 64 values.
    #[serde(default, deserialize_with = "wire::map", skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, Scalar>,
    /// The space, up to 128 characters; default: `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<String>,
    /// The session of the memory; memories of one session are neighbours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Creation time; default: now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
}

/// A metadata value.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum Scalar {
    /// A string.
    String(String),
    /// A number.
    #[cfg_attr(feature = "openapi", schema(value_type = f64))]
    Number(serde_json::Number),
    /// A boolean.
    Bool(bool),
}

/// Body of `PATCH /api/memory/{id}`: given fields replace the existing ones, absent fields do not change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PatchRequest {
    /// The new title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The new content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The new type.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The new tags, which replace all existing ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// The new metadata, which replaces all existing values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, Scalar>>,
    /// The new session; `null` removes the memory from its session.
    #[serde(default, deserialize_with = "wire::given", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub session: Option<Option<String>>,
}

/// A memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    /// The id: positive, never reused, below 2^53.
    pub id: u64,
    /// The title.
    pub title: String,
    /// The content.
    pub content: String,
    /// The type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Metadata.
    #[serde(default)]
    pub metadata: BTreeMap<String, Scalar>,
    /// The space.
    pub space: String,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Creation time.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// Whether it has a vector of the current model, so that semantic search finds it.
    pub embedded: bool,
    /// The newer memory that supersedes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<u64>,
}

/// A hit of a search: a memory with its score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Hit {
    /// The memory, with its fields at the same level as the others.
    #[serde(flatten)]
    pub memory: Memory,
    /// The score, 0 to 1.
    pub score: f64,
    /// Ids of memories that contradict it or that it contradicts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradicts: Vec<u64>,
    /// With `explain`: how the score was computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores: Option<Scores>,
    /// With `explain`: the links from and to the memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<Vec<Link>>,
}

/// How a hit's score was computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Scores {
    /// The signals that contributed.
    pub signals: Vec<SignalScore>,
    /// The terms of the query that the memory contains, after analysis.
    pub terms: Vec<String>,
    /// The computation, as a tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
}

/// One signal of a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct SignalScore {
    /// The signal: `bm25`, `semantic`, `cues`, `neighbours`, `links`, `updates` or `superseded`.
    pub name: String,
    /// Its raw value.
    pub value: f64,
    /// The memory's rank for this signal, from 1; absent if the signal does not rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u64>,
    /// The weight of the signal.
    pub weight: f64,
}

/// A step of a score's computation, with its substeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The value of this step.
    pub value: f64,
    /// What it is.
    pub description: String,
    /// The substeps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(no_recursion))]
    pub children: Vec<Explanation>,
}

/// Query of `GET /api/memory`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListRequest {
    /// How many at most: 1 to 1000, by default 100.
    #[serde(
        default,
        deserialize_with = "wire::optional_whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub limit: Option<u64>,
    /// Only memories with a larger id: the last one of the page before.
    #[serde(
        default,
        deserialize_with = "wire::optional_whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub after: Option<u64>,
    /// Only memories of one of these types; may be repeated.
    #[serde(
        rename = "type",
        default,
        deserialize_with = "wire::one_or_many",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub kinds: Vec<String>,
    /// Only memories that carry all of these tags; may be repeated.
    #[serde(
        default,
        deserialize_with = "wire::one_or_many",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub tags: Vec<String>,
    /// Only memories of this space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<String>,
    /// Only memories created at or after this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Only memories created before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// Query of `GET /api/memory/{id}/links`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LinksRequest {
    /// How many steps from the memory: 1 to 16, by default 1.
    #[serde(
        default,
        deserialize_with = "wire::optional_whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub depth: Option<u64>,
}

/// What an import does with an id that another memory of the store has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ImportIds {
    /// The line is not taken.
    #[default]
    Keep,
    /// The memory gets a new id, and the import's links follow it.
    Map,
}

/// Query of `POST /api/memory/import`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportRequest {
    /// What is done with an id that another memory has: `keep` (by default) refuses its line, `map` gives it a new id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(inline))]
    pub ids: Option<ImportIds>,
}

/// Body of `POST /api/memory/link`; body or query of `DELETE /api/memory/link`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema, utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LinkRequest {
    /// The id of the source memory.
    #[serde(deserialize_with = "wire::whole")]
    pub from: u64,
    /// The id of the target memory.
    #[serde(deserialize_with = "wire::whole")]
    pub to: u64,
    /// The type of the link.
    #[serde(rename = "type")]
    pub kind: LinkKind,
}

/// The type of a link: what it says about its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum LinkKind {
    /// The source is newer and takes the target's place.
    Updates,
    /// The two cannot both hold.
    Contradicts,
    /// The two have to do with each other.
    RelatedTo,
    /// The target brought the source about.
    CausedBy,
    /// The source belongs to the target.
    PartOf,
}

impl LinkKind {
    /// Every kind, in the order of the documentation.
    pub const ALL: [Self; 5] =
        [Self::Updates, Self::Contradicts, Self::RelatedTo, Self::CausedBy, Self::PartOf];

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Updates => "updates",
            Self::Contradicts => "contradicts",
            Self::RelatedTo => "related_to",
            Self::CausedBy => "caused_by",
            Self::PartOf => "part_of",
        }
    }
}

/// A typed link between two memories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// The id of the source memory.
    pub from: u64,
    /// The id of the target memory.
    pub to: u64,
    /// The type of the link.
    #[serde(rename = "type")]
    pub kind: LinkKind,
    /// When it was made.
    pub created_at: Timestamp,
    /// In `GET /api/memory/{id}/links`: its distance from the memory, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u64>,
}

/// Body of `POST /api/memory/index`; it may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IndexRequest {
    /// Whether to also embed memories that lack a vector of the current model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backfill: Option<bool>,
}

/// Response of `POST /api/memory/index`; the data of its stream's last event, `done`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct IndexResult {
    /// Indexed memories.
    pub indexed: u64,
    /// Memories embedded.
    pub embedded: u64,
    /// Memories that could not be embedded.
    pub failed: u64,
    /// Memories that already had a vector of the current model.
    pub skipped: u64,
    /// Duration of the request.
    pub duration_ms: u64,
}

/// The data of a `progress` event while an index is rebuilt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct IndexProgress {
    /// The phase: `index` or `embed`.
    pub phase: String,
    /// Memories done in this phase.
    pub done: u64,
    /// Memories in this phase.
    pub total: u64,
}

/// A line of the response of `POST /api/memory/batch`, in the order of the request's lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct BatchResult {
    /// The number of the request's line, from 1.
    pub line: u64,
    /// 201 added, 200 already stored, else the status that `POST /api/memory/add` would return.
    pub status: u16,
    /// The id of the memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// What is wrong with the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

/// An element of `GET /api/memory/{id}/history`: the memory as it was after a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Version {
    /// The number of the version, from 1.
    pub version: u64,
    /// What happened.
    pub change: VersionChange,
    /// When.
    pub changed_at: Timestamp,
    /// The memory after the change; absent if it was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
}

/// The kind of change of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum VersionChange {
    /// It was added.
    Added,
    /// It was changed.
    Updated,
    /// It was deleted.
    Deleted,
}

/// Response of `POST /api/memory/import`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ImportResult {
    /// Imported memories.
    pub memories: u64,
    /// Imported links.
    pub links: u64,
    /// Memories and links that already existed.
    pub existing: u64,
    /// Memories that got a new id.
    #[serde(default)]
    pub mapped: Vec<MappedId>,
    /// Rejected lines.
    #[serde(default)]
    pub problems: Vec<LineProblem>,
}

/// A memory that got a new id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct MappedId {
    /// Its id in the file.
    pub from: u64,
    /// Its new id.
    pub to: u64,
}

/// A rejected line of an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct LineProblem {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub message: String,
    /// Whether another memory has its id; `ids=map` assigns a new one.
    #[serde(default)]
    pub id_taken: bool,
}

/// Body of `POST /api/memory/compact`; it may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CompactRequest {
    /// Keep the content of only this many newest versions of each memory; default: all versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub versions: Option<u32>,
}

/// Response of `POST /api/memory/compact`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct CompactResult {
    /// Size of the log before, in bytes.
    pub bytes_before: u64,
    /// Size of the log after, in bytes.
    pub bytes_after: u64,
    /// Versions whose content was permanently removed.
    pub purged_versions: u64,
}
