//! Memories, searches, links and bulk transfer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Problem;
use crate::time::Time;
use crate::wire;

/// Body of `POST /api/memory/search`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SearchRequest {
    /// What to look for: 1 to 8192 characters.
    pub query: String,
    /// How many hits at most: 1 to 1000, by default 10.
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
    /// Only memories that carry all of these tags.
    #[serde(default, deserialize_with = "wire::list", skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Only memories of this space; by default all spaces that the token may read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<String>,
    /// Only memories created at or after this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// Only memories created before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// How to rank; by default `hybrid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<SearchMode>,
    /// Whether each hit carries its `scores` and `links`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<bool>,
    /// Only hits with at least this score, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_score: Option<f64>,
    /// Whether a memory that a newer one `updates` ranks as if it were not superseded; by default it ranks below.
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
    /// The title, up to 512 characters; absent or blank, it is the first line of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The text to remember: 1 byte to 1 MiB.
    pub content: String,
    /// The type, `[a-z0-9_-]{1,64}`; by default `note`.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Tags, up to 64.
    #[serde(default, deserialize_with = "wire::list", skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Further values, up to 64.
    #[serde(default, deserialize_with = "wire::map", skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, Scalar>,
    /// The namespace, up to 128 characters; by default `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<String>,
    /// The session that this memory belongs to; memories of one session are neighbours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// When the memory came to be; by default now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Time>,
}

/// A metadata value.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum Scalar {
    /// A text.
    String(String),
    /// A number.
    #[cfg_attr(feature = "openapi", schema(value_type = f64))]
    Number(serde_json::Number),
    /// A truth value.
    Bool(bool),
}

/// Body of `PATCH /api/memory/{id}`: what is given replaces what is there, what is absent stays.
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
    /// The new tags, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// The new metadata, all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, Scalar>>,
    /// The new session; `null` takes the memory out of its session.
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
    /// The text.
    pub content: String,
    /// The type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Further values.
    #[serde(default)]
    pub metadata: BTreeMap<String, Scalar>,
    /// The namespace.
    pub space: String,
    /// The session that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// When it came to be.
    pub created_at: Time,
    /// When it was changed last.
    pub updated_at: Time,
    /// Whether it has a vector of the model in use, and so is found by meaning.
    pub embedded: bool,
    /// The newer memory that updates it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<u64>,
}

/// An element of a search's answer: a memory with its score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Hit {
    /// The memory, its fields beside the others.
    #[serde(flatten)]
    pub memory: Memory,
    /// How well it fits, 0 to 1.
    pub score: f64,
    /// Ids of memories that contradict it or that it contradicts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradicts: Vec<u64>,
    /// With `explain`: where the score comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores: Option<Scores>,
    /// With `explain`: the links of the memory, both ways.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<Vec<Link>>,
}

/// Where a hit's score comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Scores {
    /// Each signal that took part.
    pub signals: Vec<SignalScore>,
    /// The terms of the query that the memory contains, as they were analysed.
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
    /// The memory's place in this signal's own list, from 1; absent where the signal keeps no list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u64>,
    /// The weight of the signal.
    pub weight: f64,
}

/// A step of a score's computation, with the steps that it was made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The value of this step.
    pub value: f64,
    /// What it is.
    pub description: String,
    /// What it was made of.
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
    pub since: Option<Time>,
    /// Only memories created before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
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
    /// What the edge says.
    #[serde(rename = "type")]
    pub kind: LinkKind,
}

/// What an edge says about its source.
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

/// A typed edge between two memories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// The id of the source memory.
    pub from: u64,
    /// The id of the target memory.
    pub to: u64,
    /// What the edge says.
    #[serde(rename = "type")]
    pub kind: LinkKind,
    /// When it was made.
    pub created_at: Time,
    /// In `GET /api/memory/{id}/links`: how many steps from the memory it was met, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u64>,
}

/// Body of `POST /api/memory/index`; it may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IndexRequest {
    /// Whether to embed what lacks a vector or was embedded by another model, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backfill: Option<bool>,
}

/// Answer of `POST /api/memory/index`; the data of its stream's last event, `done`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct IndexResult {
    /// Memories put in the new index.
    pub indexed: u64,
    /// Memories embedded.
    pub embedded: u64,
    /// Memories that could not be embedded.
    pub failed: u64,
    /// Memories that had a vector of the model in use.
    pub skipped: u64,
    /// How long it took.
    pub duration_ms: u64,
}

/// The data of a `progress` event while an index is rebuilt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct IndexProgress {
    /// What is being done: `index` or `embed`.
    pub phase: String,
    /// Memories done in this phase.
    pub done: u64,
    /// Memories in this phase.
    pub total: u64,
}

/// A line of the answer of `POST /api/memory/batch`, in the order of the request's lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct BatchResult {
    /// The number of the request's line, from 1.
    pub line: u64,
    /// 201 added, 200 there already, else what `POST /api/memory/add` would have answered.
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
    pub changed_at: Time,
    /// The memory after the change; absent when it was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
}

/// What happened to a memory.
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

/// Answer of `POST /api/memory/import`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ImportResult {
    /// Memories that are new.
    pub memories: u64,
    /// Links that are new.
    pub links: u64,
    /// Memories and links that were there already.
    pub existing: u64,
    /// Memories that have another id here than in the file.
    #[serde(default)]
    pub mapped: Vec<MappedId>,
    /// Lines that were not taken.
    #[serde(default)]
    pub problems: Vec<LineProblem>,
}

/// A memory that has another id here than in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct MappedId {
    /// Its id in the file.
    pub from: u64,
    /// Its id here.
    pub to: u64,
}

/// A line of an import that was not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct LineProblem {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub message: String,
    /// Whether another memory has its id, and `ids=map` would give it a new one.
    #[serde(default)]
    pub id_taken: bool,
}

/// Body of `POST /api/memory/compact`; it may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CompactRequest {
    /// Also remove the content of all but so many newest versions of each memory; by default all
    /// versions stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub versions: Option<u32>,
}

/// Answer of `POST /api/memory/compact`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct CompactResult {
    /// Bytes of the log before.
    pub bytes_before: u64,
    /// Bytes of the log after.
    pub bytes_after: u64,
    /// Versions whose content was removed for good.
    pub purged_versions: u64,
}
