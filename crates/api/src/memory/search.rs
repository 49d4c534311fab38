//! Searches, and how their hits were ranked.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use super::filter::{MetadataTest, filters};
use super::id::MemoryId;
use super::{Link, Memory};
use crate::Vocabulary;
use crate::limits::{Check, Faults, LIMIT_MAX};
use crate::wire;
use waypost_time::Timestamp;

/// Body of `POST /api/memory/search`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SearchRequest {
    /// The query: 1 to 8192 characters.
    pub query: String,
    /// Maximum number of hits: 1 to 1000; default: 10.
    #[serde(default, deserialize_with = "wire::optional_whole")]
    pub limit: Option<u64>,
    /// Only memories of one of these types; one type may be given without an array.
    #[serde(
        rename = "type",
        default,
        deserialize_with = "wire::one_or_many",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schema(schema_with = crate::openapi::one_or_many)]
    pub kinds: Vec<String>,
    /// Only memories with all of these tags.
    #[serde(default, deserialize_with = "wire::list", skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Only memories with at least one of these tags.
    #[serde(default, deserialize_with = "wire::list", skip_serializing_if = "Vec::is_empty")]
    pub tags_any: Vec<String>,
    /// Only memories whose metadata has each of these keys, at most 16, with this value, one of these
    /// values, or a value within `{"gte": …, "lte": …}`.
    #[serde(default, deserialize_with = "wire::map", skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, MetadataTest>,
    /// Only memories of this space; default: all spaces that the token can read.
    pub space: Option<String>,
    /// Only memories created at or after this time.
    pub since: Option<Timestamp>,
    /// Only memories created before this time.
    pub until: Option<Timestamp>,
    /// Only pinned memories (`true`), or only others (`false`).
    pub pinned: Option<bool>,
    /// How to rank; default: `hybrid`.
    pub mode: Option<SearchMode>,
    /// Whether each hit carries its `scores` and `links`.
    pub explain: Option<bool>,
    /// Only hits with at least this score, 0 to 1.
    pub min_score: Option<f64>,
    /// Whether superseded memories are not ranked lower.
    pub include_superseded: Option<bool>,
    /// Whether newer memories are preferred; default: if the query asks for the latest ("now",
    /// "current").
    pub recency: Option<bool>,
    /// Only memories that were in force at this time: from `validFrom`, before `validUntil`, and not
    /// replaced by another one that `updates` them.
    pub valid_at: Option<Timestamp>,
    /// Search what was known at this time: each memory with the words that it had then, also if it
    /// was deleted since. Such a search is lexical, and slower.
    pub as_of: Option<Timestamp>,
    /// When the question is asked: relative times in it ("last week") are resolved against this
    /// time's day in UTC; default: now.
    pub now: Option<Timestamp>,
}

filters!(SearchRequest);

impl Check for SearchRequest {
    fn check(&self, faults: &mut Faults) {
        faults.query(&self.query);
        faults.range("limit", self.limit, LIMIT_MAX);
        self.filter().check(faults);
        if self.as_of.is_some() && self.mode == Some(SearchMode::Semantic) {
            faults.add(
                "mode",
                "must be `lexical` or `hybrid` with `asOf`: earlier versions have no vectors",
            );
        }
        faults.min_score(self.min_score);
    }
}

/// How a search ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "`describe` says what each means")]
pub enum SearchMode {
    #[default]
    Hybrid,
    Lexical,
    Semantic,
}

impl Vocabulary for SearchMode {
    const ALL: &'static [Self] = &[Self::Hybrid, Self::Lexical, Self::Semantic];

    fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::Hybrid => ("hybrid", "Lexical and semantic search combined"),
            Self::Lexical => ("lexical", "Lexical search only"),
            Self::Semantic => ("semantic", "Semantic search only"),
        }
    }
}

/// A hit of a search: a memory with its score.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hit {
    /// The memory, with its fields at the same level as the others.
    #[serde(flatten)]
    pub memory: Memory,
    /// The score, 0 to 1.
    pub score: f64,
    /// Ids of memories that contradict it or that it contradicts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<u64>)]
    pub contradicts: Vec<MemoryId>,
    /// With `explain`: how the score was computed.
    pub scores: Option<Scores>,
    /// With `explain`: the links from and to the memory.
    pub links: Option<Vec<Link>>,
}

/// How a hit's score was computed.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scores {
    /// The signals that contributed.
    pub signals: Vec<SignalScore>,
    /// The terms of the query that the memory contains, after analysis.
    pub terms: Vec<String>,
    /// The computation, as a tree.
    pub explanation: Option<Explanation>,
}

/// One signal of a score.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignalScore {
    /// The signal: `bm25`, `semantic`, `cues`, `dates`, `recency`, `neighbours`, `links`, `updates`,
    /// `superseded` or `rerank`.
    pub name: String,
    /// Its raw value.
    pub value: f64,
    /// The memory's rank for this signal, from 1; absent if the signal does not rank.
    pub rank: Option<u64>,
    /// The weight of the signal.
    pub weight: f64,
}

/// A step of a score's computation, with its substeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The value of this step.
    pub value: f64,
    /// What it is.
    pub description: String,
    /// The substeps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(no_recursion)]
    pub children: Vec<Explanation>,
}
