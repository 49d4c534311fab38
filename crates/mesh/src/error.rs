//! What can go wrong.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The result of opening, serving, broadcasting and listening.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a peer could not join, serve, broadcast, listen or pair. A call has its own: [`CallError`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name, a pattern or an event is not one.
    #[error("{0}")]
    Invalid(String),
    /// Others could read what keeps the mesh closed.
    #[error("{}: {reason}; make it yours alone: chmod {wanted:o} {}", path.display(), path.display())]
    Exposed {
        /// The file or folder.
        path: PathBuf,
        /// Its mode or owner.
        reason: String,
        /// The mode that it should have.
        wanted: u32,
    },
    /// The path of a socket is longer than the system's addresses.
    #[error(
        "{} is too long for a socket: {bytes} bytes with its name, {bytes_max} at most; choose a shorter folder",
        path.display()
    )]
    PathTooLong {
        /// The folder.
        path: PathBuf,
        /// The length of the socket's path.
        bytes: usize,
        /// The longest that works.
        bytes_max: usize,
    },
    /// Peers are there, and none of them let this one in.
    #[error("{peers} peers are in {} and none lets this one in: they hang, or have other credentials; end them and try again", path.display())]
    Refused {
        /// The folder.
        path: PathBuf,
        /// How many peers are there.
        peers: usize,
    },
    /// Another peer serves that target.
    #[error("{target} is served already, by {by}")]
    Taken {
        /// The target.
        target: String,
        /// Who serves it, as far as is known.
        by: String,
    },
    /// A file of the pairing is not what it should be.
    #[error("{}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and what would be right.
        reason: String,
    },
    /// A paired router does not let this machine in, or is not there.
    #[error("the router {router} is not reached at {address}: {reason}")]
    Unreached {
        /// Its name.
        router: String,
        /// Where it should be.
        address: String,
        /// What is wrong there, as far as is known.
        reason: String,
    },
    /// The system refused.
    #[error("could not {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The transport refused.
    #[error("the mesh's transport could not {action}: {reason}")]
    Transport {
        /// What was tried.
        action: &'static str,
        /// What it says.
        reason: String,
    },
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &std::path::Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }

    pub(crate) fn transport(action: &'static str) -> impl FnOnce(zenoh::Error) -> Self {
        move |error| Self::Transport { action, reason: error.to_string() }
    }
}

/// What came of a call that was not answered with a result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The target or the command is not a name. Nothing was sent.
    #[error("{0}")]
    BadName(String),
    /// The argument is too large. Nothing was sent.
    #[error("the argument has {bytes} bytes of JSON, {bytes_max} are allowed")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// The target is there, and this caller may not call that command. It did nothing.
    #[error("denied: {0}")]
    Denied(String),
    /// Nobody serves the target; if it left while it was called, it may have done what was asked.
    #[error("offline: {0}")]
    Offline(String),
    /// The target is there and did not answer in time; it may still do what was asked.
    #[error("timeout: {0}")]
    Timeout(String),
    /// The target answered that it could not.
    #[error("{0}")]
    Failed(Problem),
}

/// Why a target did not do what it was asked. All of it is the other side's text: show it with
/// care.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{detail}")]
pub struct Problem {
    /// As HTTP would say it: 4xx the caller's fault, 5xx the target's.
    pub status: u16,
    /// One word for programs, such as `not_found`.
    pub code: String,
    /// A sentence for people.
    pub detail: String,
}

impl Problem {
    /// A problem of these three.
    pub fn new(status: u16, code: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { status, code: code.into(), detail: detail.into() }
    }

    /// The caller may not do that; it hears [`CallError::Denied`].
    pub fn denied(detail: impl Into<String>) -> Self {
        Self::new(403, DENIED, detail)
    }
}

/// What was tried when no session could be opened.
pub(crate) const OPEN: &str = "open";
/// The code that becomes [`CallError::Denied`].
pub(crate) const DENIED: &str = "denied";
/// The code of a request that was sent again and has come to another peer.
pub(crate) const LEFT: &str = "left";
/// The code that becomes [`CallError::Timeout`].
pub(crate) const EXPIRED: &str = "expired";
