//! The identity of the other side.

use std::fmt;

use crate::name::LOCAL;

/// What the connection proved about the other side.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Origin {
    /// A process of this user on this machine. Which process it is, is not proved.
    Local,
    /// It has the private key of the certificate with this name: a paired machine.
    Machine(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str(LOCAL),
            Self::Machine(name) => f.write_str(name),
        }
    }
}

/// The sender of a call or a broadcast.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The proved identity. Base decisions on this.
    pub origin: Origin,
    /// The name that it gives itself. For people to read, never to base decisions on.
    pub says: String,
}
