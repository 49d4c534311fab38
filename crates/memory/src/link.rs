//! The result of linking two memories.

use crate::Link;

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
