//! Counting memories.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;
use waypost_time::Timestamp;

use super::filter::{MetadataTest, filters};
use crate::limits::{Check, Faults};
use crate::{Vocabulary, wire};

/// Body of `POST /api/memory/count`; it may be empty.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CountRequest {
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
    /// Only memories whose metadata passes these tests, as for a search.
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
    /// What to count them by.
    #[serde(default, deserialize_with = "wire::list", skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<CountBy>,
}

filters!(CountRequest);

impl Check for CountRequest {
    fn check(&self, faults: &mut Faults) {
        self.filter().check(faults);
        faults.count("by", self.by.len(), CountBy::ALL.len());
    }
}

/// What memories are counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "`describe` says what each means")]
pub enum CountBy {
    Type,
    Tag,
    Space,
}

impl Vocabulary for CountBy {
    const ALL: &'static [Self] = &[Self::Type, Self::Tag, Self::Space];

    fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::Type => ("type", "Each type"),
            Self::Tag => ("tag", "Each tag; a memory counts for all of its tags"),
            Self::Space => ("space", "Each space"),
        }
    }
}

/// Response of `POST /api/memory/count`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// The number of memories.
    pub count: u64,
    /// Their number by type, if asked for.
    pub by_type: Option<BTreeMap<String, u64>>,
    /// Their number by tag, if asked for.
    pub by_tag: Option<BTreeMap<String, u64>>,
    /// Their number by space, if asked for.
    pub by_space: Option<BTreeMap<String, u64>>,
    /// Whether a map has only the 1,000 names with the most memories; absent if not.
    #[serde(default, skip_serializing_if = "wire::is_false")]
    pub truncated: bool,
}
