//! Links between memories.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use super::id::MemoryId;
use crate::Vocabulary;
use crate::limits::{Check, DEPTH_MAX, Faults};
use crate::wire;
use waypost_time::Timestamp;

/// Query of `GET /api/memory/{id}/links`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LinksRequest {
    /// How many steps from the memory: 1 to 16, by default 1.
    #[serde(default, deserialize_with = "wire::optional_whole")]
    pub depth: Option<u64>,
}

impl Check for LinksRequest {
    fn check(&self, faults: &mut Faults) {
        faults.range("depth", self.depth, DEPTH_MAX);
    }
}

/// Body of `POST /api/memory/link`; body or query of `DELETE /api/memory/link`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoParams)]
#[into_params(parameter_in = Query)]
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

impl Check for LinkRequest {
    fn check(&self, faults: &mut Faults) {
        faults.id("from", self.from);
        faults.id("to", self.to);
        if self.from == self.to {
            faults.add("to", "must be another memory than `from`");
        }
    }
}

/// The type of a link: what it says about its source.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "`describe` says what each means")]
pub enum LinkKind {
    Updates,
    Contradicts,
    RelatedTo,
    CausedBy,
    PartOf,
}

impl Vocabulary for LinkKind {
    const ALL: &'static [Self] =
        &[Self::Updates, Self::Contradicts, Self::RelatedTo, Self::CausedBy, Self::PartOf];

    fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::Updates => ("updates", "The source is newer and supersedes the target"),
            Self::Contradicts => ("contradicts", "The two contradict each other"),
            Self::RelatedTo => ("related_to", "The two are related"),
            Self::CausedBy => ("caused_by", "The target caused the source"),
            Self::PartOf => ("part_of", "The source is part of the target"),
        }
    }
}

/// A typed link between two memories.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// The id of the source memory.
    #[schema(value_type = u64)]
    pub from: MemoryId,
    /// The id of the target memory.
    #[schema(value_type = u64)]
    pub to: MemoryId,
    /// The type of the link.
    #[serde(rename = "type")]
    pub kind: LinkKind,
    /// When it was made.
    pub created_at: Timestamp,
    /// In `GET /api/memory/{id}/links`: its distance from the memory, from 1.
    pub depth: Option<u64>,
}
