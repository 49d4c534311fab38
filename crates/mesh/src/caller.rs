//! The identity of the other side.

use std::fmt;

use crate::name::LOCAL;

/// What the transport proved about the other side.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Origin {
    /// It has the credentials of the runtime folder: a process of this user on this machine. Which
    /// process it is, is not proved.
    Local,
    /// It has the private key of the certificate with this name: a paired machine.
    /// [`Caller::router`] says whether its own link proves that or a router reports it.
    Machine(String),
}

impl Origin {
    /// Parses the last segment of a key. The link has already proved that it may be used there.
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

/// The sender of a call or a broadcast.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The proved identity. Base decisions on this.
    pub origin: Origin,
    /// The router that forwarded the message, if any: the machine is then the one that the router
    /// reports, within what the list of paired machines permits it.
    pub router: Option<String>,
    /// The name that it gives itself. For people to read, never to base decisions on.
    pub says: String,
}

/// The other end of a link, which determines what is proved about the sender.
#[derive(Debug, Clone)]
pub(crate) struct Side {
    pub(crate) is_near: bool,
    /// The router at the other end, if it is one.
    pub(crate) router: Option<String>,
}

impl Side {
    /// Whether messages over this link may end with that origin: the link determines which origins
    /// are valid, and other claims are rejected.
    pub(crate) fn may_be(&self, origin: &str) -> bool {
        self.is_near == (origin == LOCAL)
    }

    /// The caller with this origin.
    pub(crate) fn caller(&self, origin: &str, says: String) -> Caller {
        let router = self.router.clone().filter(|it| it != origin);
        Caller { origin: Origin::of(origin), router, says }
    }
}
