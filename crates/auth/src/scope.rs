//! What a token permits.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A permission of a token. [`Scope::Admin`] implies all others; no other scope implies another, so
/// `memory:write` alone cannot read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// `memory:read`: search, get, list and export memories.
    MemoryRead,
    /// `memory:write`: add, change, delete and link memories, reindex, import.
    MemoryWrite,
    /// `context:read`: query project context.
    ContextRead,
    /// `events:read`: list and stream events.
    EventsRead,
    /// `events:publish`: publish events.
    EventsPublish,
    /// `flows:read`: read flows and their runs.
    FlowsRead,
    /// `flows:run`: start and replay flows.
    FlowsRun,
    /// `browser:use`: read and change the pages of a browser on the mesh.
    BrowserUse,
    /// `admin`: everything, including tokens.
    Admin,
}

impl Scope {
    /// All scopes, in the order of the documentation.
    pub const ALL: [Self; 9] = [
        Self::MemoryRead,
        Self::MemoryWrite,
        Self::ContextRead,
        Self::EventsRead,
        Self::EventsPublish,
        Self::FlowsRead,
        Self::FlowsRun,
        Self::BrowserUse,
        Self::Admin,
    ];

    /// The name on the wire, on the command line and on disk.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MemoryRead => "memory:read",
            Self::MemoryWrite => "memory:write",
            Self::ContextRead => "context:read",
            Self::EventsRead => "events:read",
            Self::EventsPublish => "events:publish",
            Self::FlowsRead => "flows:read",
            Self::FlowsRun => "flows:run",
            Self::BrowserUse => "browser:use",
            Self::Admin => "admin",
        }
    }

    fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is not the name of a scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{}\" is not a scope; the scopes are {}", name.escape_debug(), Scopes::all())]
#[non_exhaustive]
pub struct UnknownScope {
    /// The given text.
    pub name: String,
}

impl FromStr for Scope {
    type Err = UnknownScope;

    fn from_str(name: &str) -> Result<Self, UnknownScope> {
        Self::ALL
            .into_iter()
            .find(|scope| scope.as_str() == name)
            .ok_or_else(|| UnknownScope { name: name.to_owned() })
    }
}

/// A set of scopes. Its serialised form is a list of names.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Scopes(u16);

impl Scopes {
    /// All scopes.
    pub fn all() -> Self {
        Scope::ALL.into_iter().collect()
    }

    /// Whether the set contains that scope or [`Scope::Admin`].
    pub fn allows(self, scope: Scope) -> bool {
        self.0 & (scope.bit() | Scope::Admin.bit()) != 0
    }

    /// The given scopes, in the order of the documentation, without those that `admin` implies.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.0 & scope.bit() != 0)
    }

    /// Whether it is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |bits, scope| bits | scope.bit()))
    }
}

impl Serialize for Scopes {
    fn serialize<S: Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        output.collect_seq(self.iter().map(Scope::as_str))
    }
}

impl<'de> Deserialize<'de> for Scopes {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let names = Vec::<String>::deserialize(input)?;
        names.iter().map(|name| name.parse().map_err(D::Error::custom)).collect()
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (idx, scope) in self.iter().enumerate() {
            let comma = if idx == 0 { "" } else { ", " };
            write!(f, "{comma}{scope}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
