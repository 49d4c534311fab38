//! Batches, imports, and work on the whole store.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use super::id::MemoryId;
use crate::limits::{Check, Faults};
use crate::{Problem, Vocabulary};

/// What an import does with an id that another memory of the store has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "`describe` says what each means")]
pub enum ImportIds {
    #[default]
    Keep,
    Map,
}

impl Vocabulary for ImportIds {
    const ALL: &'static [Self] = &[Self::Keep, Self::Map];

    fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::Keep => ("keep", "Reject the line"),
            Self::Map => {
                ("map", "Give the memory a new id; links and history of the file follow it")
            }
        }
    }
}

/// Query of `POST /api/memory/import`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportRequest {
    /// What is done with an id that another memory has: `keep` (by default) refuses its line, `map` gives it a new id.
    #[param(inline)]
    pub ids: Option<ImportIds>,
}

impl Check for ImportRequest {
    fn check(&self, _faults: &mut Faults) {}
}

/// Body of `POST /api/memory/index`; it may be empty.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IndexRequest {
    /// Whether to also embed memories that lack a vector of the current model.
    pub backfill: Option<bool>,
}

impl Check for IndexRequest {
    fn check(&self, _faults: &mut Faults) {}
}

/// Response of `POST /api/memory/index`; the data of its stream's last event, `done`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BatchResult {
    /// The number of the request's line, from 1.
    pub line: u64,
    /// 201 added, 200 already stored, else the status that `POST /api/memory/add` would return.
    pub status: u16,
    /// The id of the memory.
    pub id: Option<u64>,
    /// What is wrong with the line.
    pub problem: Option<Problem>,
}

/// Response of `POST /api/memory/import`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MappedId {
    /// Its id in the file.
    #[schema(value_type = u64)]
    pub from: MemoryId,
    /// Its new id.
    #[schema(value_type = u64)]
    pub to: MemoryId,
}

/// A rejected line of an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CompactRequest {
    /// Keep the content of only this many newest versions of each memory; default: all versions.
    #[schema(minimum = 1)]
    pub versions: Option<u32>,
}

impl Check for CompactRequest {
    fn check(&self, faults: &mut Faults) {
        if self.versions == Some(0) {
            faults.add("versions", "must be at least 1; the newest version is always kept");
        }
    }
}

/// Response of `POST /api/memory/compact`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactResult {
    /// Size of the log before, in bytes.
    pub bytes_before: u64,
    /// Size of the log after, in bytes.
    pub bytes_after: u64,
    /// Versions whose content was permanently removed.
    pub purged_versions: u64,
}
