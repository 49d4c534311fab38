//! Typed links between memories.

use std::fmt;

use crate::{MemoryId, Timestamp};

/// The kind of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkKind {
    /// `from` replaces what `to` says.
    Updates = 1,
    /// `from` and `to` cannot both be true.
    Contradicts = 2,
    /// `from` and `to` are about the same thing.
    RelatedTo = 3,
    /// `to` is why `from` happened.
    CausedBy = 4,
    /// `from` belongs to `to`.
    PartOf = 5,
}

impl LinkKind {
    /// Every kind.
    pub const ALL: [Self; 5] =
        [Self::Updates, Self::Contradicts, Self::RelatedTo, Self::CausedBy, Self::PartOf];

    /// Its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Updates => "updates",
            Self::Contradicts => "contradicts",
            Self::RelatedTo => "related_to",
            Self::CausedBy => "caused_by",
            Self::PartOf => "part_of",
        }
    }

    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    pub(crate) fn of_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.code() == code)
    }

    /// The kind of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == name)
    }
}

impl fmt::Display for LinkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A typed edge from one memory to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// Where it starts.
    pub from: MemoryId,
    /// Where it ends.
    pub to: MemoryId,
    /// Its kind.
    pub kind: LinkKind,
    /// When it was created.
    pub created_at: Timestamp,
}

/// The result of [`Store::link`](crate::Store::link).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linked {
    /// The link was created.
    New(Link),
    /// It already exists.
    Existing(Link),
}

impl Linked {
    /// The link, new or not.
    pub fn link(self) -> Link {
        match self {
            Self::New(link) | Self::Existing(link) => link,
        }
    }
}
