//! Who is on the other side.

use std::fmt;

use crate::name::LOCAL;

/// What the transport proved about the other side.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Origin {
    /// It has the credentials of the runtime folder: a process of this user on this machine. Which
    /// one, nothing proves.
    Local,
    /// It has the private key of the certificate with this name: a paired machine.
    Machine(String),
}

impl Origin {
    /// Reads the last segment of a key. The link has shown already that it may be there.
    pub(crate) fn of(segment: &str) -> Self {
        if segment == LOCAL { Self::Local } else { Self::Machine(segment.to_owned()) }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str(LOCAL),
            Self::Machine(name) => f.write_str(name),
        }
    }
}

/// Who called, or who broadcast.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// What is proved. Decide by this.
    pub origin: Origin,
    /// What it calls itself. For people to read, never to decide by.
    pub says: String,
}
