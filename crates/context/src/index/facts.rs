//! What the index stores about a file or a chunk besides its text.

use std::sync::Arc;

use waypost_ranking::Slot;
use waypost_time::Timestamp;

use crate::texts::{Hash, TextAt};
use crate::{Extract, Kind, Parser, Prior, Standing, Stat};

/// A file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FileFact {
    pub(crate) path: Arc<str>,
    /// The state that the file system reported when it was read.
    pub(crate) stat: Stat,
    /// When this state was last confirmed.
    pub(crate) seen_at: Timestamp,
    pub(crate) hash: Hash,
    pub(crate) kind: Kind,
    pub(crate) flags: Flags,
    pub(crate) holds: Holds,
    /// Its own date.
    pub(crate) date: Option<Timestamp>,
    /// When a commit last changed it.
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

/// Flags of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    pub(crate) prior: Prior,
    /// Whether its definitions were found line by line.
    pub(crate) by_lines: bool,
}

impl Flags {
    pub(crate) fn new(prior: Prior, extract: &Extract) -> Self {
        let generated = prior.generated || extract.generated;
        Self { prior: Prior { generated, ..prior }, by_lines: extract.parser == Parser::Lines }
    }

    pub(crate) fn to_bits(self) -> u64 {
        let Prior { test, archived, generated, settings } = self.prior;
        [test, archived, generated, settings, self.by_lines]
            .into_iter()
            .rev()
            .fold(0, |bits, it| bits << 1 | u64::from(it))
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        let is = |at: u32| bits >> at & 1 == 1;
        let prior = Prior { test: is(0), archived: is(1), generated: is(2), settings: is(3) };
        Self { prior, by_lines: is(4) }
    }
}

/// Whether a document is in force.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Holds {
    #[default]
    Yes,
    /// It states so itself.
    Accepted,
    Draft,
    /// Superseded, deprecated or rejected.
    No,
}

impl Holds {
    pub(crate) const ALL: [Self; 4] = [Self::Yes, Self::Accepted, Self::Draft, Self::No];
}

impl From<&Standing> for Holds {
    fn from(standing: &Standing) -> Self {
        match standing {
            Standing::Current => Self::Yes,
            Standing::Accepted => Self::Accepted,
            Standing::Draft => Self::Draft,
            Standing::Superseded(_) | Standing::Deprecated | Standing::Rejected => Self::No,
        }
    }
}

/// A chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ChunkFact {
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
    pub(crate) date: Option<Timestamp>,
    /// Whether it is a heading without a text, or the part of a change log that has no entry.
    pub(crate) is_bare: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_back() {
        for bits in 0..32 {
            assert_eq!(Flags::from_bits(bits).to_bits(), bits);
        }
    }
}
