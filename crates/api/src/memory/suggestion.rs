//! Suggestions: pairs of memories that say nearly the same, or different things about the same
//! subject.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use super::Memory;
use super::id::MemoryId;
use crate::Vocabulary;
use crate::limits::{Check, Faults, LIMIT_MAX};
use crate::wire;

/// Query of `GET /api/memory/suggestions`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SuggestionsRequest {
    /// Only suggestions about this memory; default: about all.
    #[serde(default, deserialize_with = "wire::optional_whole")]
    pub id: Option<u64>,
    /// Compares only memories with a lower id with those before them: `next` of the previous response.
    /// Not together with `id`.
    #[serde(default, deserialize_with = "wire::optional_whole")]
    pub before: Option<u64>,
    /// Only memories of this space; default: all spaces that the token can read.
    pub space: Option<String>,
    /// Maximum number of suggestions: 1 to 1000; default: 20.
    #[serde(default, deserialize_with = "wire::optional_whole")]
    pub limit: Option<u64>,
}

impl Check for SuggestionsRequest {
    fn check(&self, faults: &mut Faults) {
        if let Some(id) = self.id {
            faults.id("id", id);
        }
        if let Some(before) = self.before {
            faults.id("before", before);
            if self.id.is_some() {
                faults.add("before", "is for suggestions about all memories, without `id`");
            }
        }
        faults.space(self.space.as_deref());
        faults.range("limit", self.limit, LIMIT_MAX);
    }
}

/// The response of `GET /api/memory/suggestions`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Suggestions {
    /// The suggestions, the most similar pair first.
    pub suggestions: Vec<Suggestion>,
    /// Whether there may be more: a limit ended the comparison, or the index is being built.
    pub truncated: bool,
    /// If a limit ended the comparison of all memories: the `before` of the request for the rest.
    #[schema(value_type = Option<u64>)]
    pub next: Option<MemoryId>,
}

/// Two memories of one space about which something may be done. The service does none of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Suggestion {
    /// What may be done.
    #[serde(rename = "type")]
    pub kind: SuggestionKind,
    /// The id of the newer memory, by `createdAt`.
    #[schema(value_type = u64)]
    pub from: MemoryId,
    /// The id of the older memory.
    #[schema(value_type = u64)]
    pub to: MemoryId,
    /// The title of the newer memory.
    pub from_title: String,
    /// The title of the older memory.
    pub to_title: String,
    /// How similar they are, 0 to 1: the share of words that they have in common, or the cosine of
    /// their vectors if that is known to be near and higher.
    pub score: f64,
    /// Why, with words of the two memories.
    pub reason: String,
}

/// The type of a suggestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "`describe` says what each means")]
pub enum SuggestionKind {
    Duplicate,
    Updates,
    Contradicts,
}

impl Vocabulary for SuggestionKind {
    const ALL: &'static [Self] = &[Self::Duplicate, Self::Updates, Self::Contradicts];

    fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::Duplicate => ("duplicate", "The two say nearly the same; one can be deleted"),
            Self::Updates => ("updates", "The newer one has another value for the same subject"),
            Self::Contradicts => ("contradicts", "The two may contradict each other"),
        }
    }
}

/// The response of `POST /api/memory/add`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddedMemory {
    /// The memory, with its fields at the same level as the others.
    #[serde(flatten)]
    pub memory: Memory,
    /// Up to 5 suggestions about a new memory, if the token may read memories; absent if there are
    /// none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<Suggestion>,
}
