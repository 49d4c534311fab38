//! Ids of memories.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::limits::ID_MAX;

/// Identifies a memory: positive, never reused, below 2^53.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "u64", try_from = "u64")]
pub struct MemoryId(u64);

impl MemoryId {
    /// The lowest id.
    pub const FIRST: Self = Self(1);
    /// The highest id.
    pub const LAST: Self = Self(ID_MAX);

    /// The id with this number, unless it is 0 or above 2^53 − 1.
    pub fn new(number: u64) -> Option<Self> {
        (1..=ID_MAX).contains(&number).then_some(Self(number))
    }

    /// The number.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl From<MemoryId> for u64 {
    fn from(id: MemoryId) -> Self {
        id.0
    }
}

impl TryFrom<u64> for MemoryId {
    type Error = String;

    fn try_from(number: u64) -> Result<Self, String> {
        Self::new(number).ok_or_else(|| format!("{number} is not an id: 1 to {ID_MAX} (2^53 - 1)"))
    }
}

impl fmt::Display for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
