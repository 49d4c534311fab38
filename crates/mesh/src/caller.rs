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
    /// It has the private key of the certificate with this name: a paired machine. Whether its own
    /// link shows that or a router says so is in [`Caller::router`].
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
    /// The router that handed it on, if one did: then the machine is its word, given as the list of
    /// paired machines lets it.
    pub router: Option<String>,
    /// What it calls itself. For people to read, never to decide by.
    pub says: String,
}

/// Where a link leads, and so what is proved about who is at its other end.
#[derive(Debug, Clone)]
pub(crate) struct Side {
    pub(crate) is_near: bool,
    /// The router that it leads to, if it leads to one.
    pub(crate) router: Option<String>,
}

impl Side {
    /// Whether what comes over the link may end with that: the link shows who may end a key with
    /// what, and whoever claims more is not believed.
    pub(crate) fn may_be(&self, origin: &str) -> bool {
        self.is_near == (origin == LOCAL)
    }

    /// Who that is.
    pub(crate) fn caller(&self, origin: &str, says: String) -> Caller {
        let router = self.router.clone().filter(|it| it != origin);
        Caller { origin: Origin::of(origin), router, says }
    }
}
