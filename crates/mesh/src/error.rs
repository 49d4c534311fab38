//! Errors.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The result of opening, serving, broadcasting and listening.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a peer could not join, serve, broadcast, listen or pair. Calls have a separate type:
/// [`CallError`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name, a pattern or an event is invalid.
    #[error("{0}")]
    Invalid(String),
    /// Other users could read a secret of the mesh.
    #[error("{}: {reason}; restrict it to yourself: chmod {wanted:o} {}", path.display(), path.display())]
    Exposed {
        /// The file or folder.
        path: PathBuf,
        /// Its mode or owner.
        reason: String,
        /// The required mode.
        wanted: u32,
    },
    /// The path of a socket is longer than the system supports.
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
    /// Another peer serves this target.
    #[error("{target} is already served by {by}")]
    Taken {
        /// The target.
        target: String,
        /// The peer that serves it, as far as is known.
        by: String,
    },
    /// A file of the pairing is damaged.
    #[error("{}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and what would be valid.
        reason: String,
    },
    /// A newer release wrote a file of the pairing.
    #[error(
        "{} was written by a newer release: it has format {found}, and this release reads formats up to {known}",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format that this release reads.
        known: u32,
    },
    /// The system returned an error.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// The failed action.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A certificate could not be created.
    #[error("cannot make a certificate: {0}")]
    Certificate(String),
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &std::path::Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }
}

/// Why a call has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The target or the command is not a valid name. Nothing was sent.
    #[error("{0}")]
    BadName(String),
    /// The argument is too large. Nothing was sent.
    #[error("the argument has {bytes} bytes of JSON; the limit is {bytes_max}")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// The target exists, and this caller may not call that command. Nothing was executed.
    #[error("denied: {0}")]
    Denied(String),
    /// Nothing serves the target; if it left during the call, it may have executed the request.
    #[error("offline: {0}")]
    Offline(String),
    /// The target exists and did not respond in time; it may still execute the request.
    #[error("timeout: {0}")]
    Timeout(String),
    /// The target returned a problem.
    #[error("{0}")]
    Failed(Problem),
}

/// Why a target did not execute a request. All of it is text of the other side: display it with
/// care.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{detail}")]
pub struct Problem {
    /// An HTTP status: 4xx for an error of the caller, 5xx for one of the target.
    pub status: u16,
    /// A machine-readable word, such as `not_found`.
    pub code: String,
    /// A sentence for people.
    pub detail: String,
}

impl Problem {
    /// A problem with these fields.
    pub fn new(status: u16, code: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { status, code: code.into(), detail: detail.into() }
    }

    /// The caller is not permitted to do that; it gets [`CallError::Denied`].
    pub fn denied(detail: impl Into<String>) -> Self {
        Self::new(403, DENIED, detail)
    }
}

/// The code that becomes [`CallError::Denied`].
pub(crate) const DENIED: &str = "denied";
/// The code that becomes [`CallError::Timeout`].
pub(crate) const EXPIRED: &str = "expired";
