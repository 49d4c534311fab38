//! What the index stores about a file or a chunk besides its text.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use waypost_ranking::Slot;
use waypost_time::{Timestamp, millis};

use crate::texts::{Hash, TextAt};
use crate::{Kind, Prior, Standing, Stat};

/// A file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct FileFact {
    /// Stored apart.
    #[serde(skip)]
    pub(crate) path: Arc<str>,
    /// The state that the file system reported when it was read.
    pub(crate) stat: Stat,
    /// When this state was last confirmed.
    #[serde(with = "millis")]
    pub(crate) seen_at: Timestamp,
    pub(crate) hash: Hash,
    pub(crate) kind: Kind,
    pub(crate) prior: Prior,
    /// Whether its definitions were found line by line.
    pub(crate) by_lines: bool,
    pub(crate) standing: Standing,
    /// Its own date.
    #[serde(with = "millis::optional")]
    pub(crate) date: Option<Timestamp>,
    /// When a commit last changed it.
    #[serde(with = "millis::optional")]
    pub(crate) changed_at: Option<Timestamp>,
    pub(crate) frecency: f32,
    /// The keys by which links find it.
    pub(crate) keys: Box<[u64]>,
    /// The keys of what it links to, and of what it states to replace.
    pub(crate) links: Box<[u64]>,
    pub(crate) replaces: Box<[u64]>,
    pub(crate) redactions: Box<[(Box<str>, u32)]>,
    pub(crate) chunks: Vec<Slot>,
}

/// A chunk.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct ChunkFact {
    #[serde(skip)]
    pub(crate) file: Slot,
    /// The position of its text.
    pub(crate) text: TextAt,
    pub(crate) kind: Kind,
    pub(crate) line: u32,
    /// The key of the last part of its name.
    pub(crate) name: u64,
    /// The hash of the text of its vector.
    pub(crate) meaning: Hash,
    /// The date of an entry.
    #[serde(with = "millis::optional")]
    pub(crate) date: Option<Timestamp>,
    /// Whether it is a heading without a text, or the part of a change log that has no entry.
    pub(crate) is_bare: bool,
}
