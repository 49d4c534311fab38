//! Errors, and what a caller can do about them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use waypost_log::{Damage, Marker, SharedError};

use crate::doctor::LOG;

/// The result of every operation on the bus.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation on the bus failed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A given value is outside its limits.
    #[error("{field} {reason}")]
    Invalid {
        /// The name of the invalid field on the wire.
        field: &'static str,
        /// What is wrong and what would be valid.
        reason: String,
    },
    /// The idempotency key was used for another event.
    #[error(
        "the idempotency key was used for event {id} with another type or other data; use a new key"
    )]
    KeyReused {
        /// The event that has the key.
        id: u64,
    },
    /// The cursor is older than the retained events.
    #[error("events before {first} have been dropped; continue after {}", first - 1)]
    Gone {
        /// The first retained event.
        first: u64,
    },
    /// The disk is full; nothing was written, and publishing works again when there is space.
    #[error("the disk is full: nothing was written to the event bus")]
    Full,
    /// Nothing can be published until the bus is reopened; reads continue to work.
    #[error("the event bus is read-only until it is reopened: {0}")]
    Unavailable(String),
    /// The [shared journal](waypost_log::SharedJournal) does not take or give events at the moment,
    /// or differs from this bus; then [`Bus::fault`](crate::Bus::fault) says so, too. The message says
    /// whether the events may have been published.
    #[error("the shared journal is unavailable: {0}")]
    SharedJournal(SharedError),
    /// This bus is a replica, and the cursor is beyond the events that it has applied.
    #[error(
        "this machine has the events up to {last} and the cursor is {after}: try again when it has \
         applied the others; if that does not help, the cursor belongs to another event bus"
    )]
    Behind {
        /// The cursor.
        after: u64,
        /// The last event on this machine.
        last: u64,
    },
    /// Another process has the bus open.
    #[error("the event bus in {path} is in use by process {pid}")]
    Locked {
        /// The bus's folder.
        path: PathBuf,
        /// The other process, or `unknown`.
        pid: String,
    },
    /// A newer release wrote it.
    #[error("{0}")]
    Newer(String),
    /// Data on disk is damaged and cannot be rebuilt from the rest.
    #[error("{0}")]
    Damaged(String),
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: Arc<io::Error>,
    },
}

/// What a caller can do about an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Change the request.
    Invalid,
    /// Use another key.
    Conflict,
    /// Continue from the first retained event.
    Gone,
    /// Free disk space, then try again.
    Full,
    /// Reopen the bus; for [`Error::SharedJournal`] and [`Error::Behind`], try again.
    Unavailable,
    /// Stop the other process that has the bus open.
    Locked,
    /// Use a newer release, run a repair, or restore a copy.
    Damaged,
    /// See the error of the operating system.
    Io,
}

impl Error {
    /// What a caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Invalid { .. } => ErrorKind::Invalid,
            Self::KeyReused { .. } => ErrorKind::Conflict,
            Self::Gone { .. } => ErrorKind::Gone,
            Self::Full => ErrorKind::Full,
            Self::Unavailable(_) | Self::SharedJournal(_) | Self::Behind { .. } => {
                ErrorKind::Unavailable
            }
            Self::Locked { .. } => ErrorKind::Locked,
            Self::Newer(_) | Self::Damaged(_) => ErrorKind::Damaged,
            Self::Io { .. } => ErrorKind::Io,
        }
    }

    pub(crate) fn invalid(field: &'static str, reason: impl Into<String>) -> Self {
        Self::Invalid { field, reason: reason.into() }
    }

    pub(crate) fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full,
            _ => Self::Io { path: path.into(), source: Arc::new(source) },
        }
    }

    /// A newer release wrote a small file.
    pub(crate) fn newer(path: &Path, version: u32, known: Marker) -> Self {
        Self::Newer(format!(
            "a newer release wrote {}: it has version {version}, and this release supports versions up to {}",
            path.display(),
            known.version
        ))
    }

    /// Converts an error of the log in `dir`.
    pub(crate) fn of_log(error: &waypost_log::Error, dir: &Path) -> Self {
        if let waypost_log::Error::Locked { path, pid } = error {
            return Self::Locked { path: path.clone(), pid: pid.clone() };
        }
        if let waypost_log::Error::Damaged(damage) = error {
            return Self::Damaged(format!(
                "the events in {} are damaged: {}",
                dir.display(),
                Damage::describe_all(damage, LOG.0, LOG.1)
            ));
        }
        let cause = std::error::Error::source(error).map(|source| format!(": {source}"));
        let cause = cause.unwrap_or_default();
        let within = || format!("the event log in {}: {error}{cause}", dir.display());
        match error.kind() {
            waypost_log::ErrorKind::Full => Self::Full,
            waypost_log::ErrorKind::Newer => Self::Newer(within()),
            waypost_log::ErrorKind::Damaged => Self::Damaged(within()),
            _ => Self::Unavailable(within()),
        }
    }
}

impl From<waypost_projection::Error> for Error {
    fn from(error: waypost_projection::Error) -> Self {
        match error {
            waypost_projection::Error::Io { path, source } => Self::io(path, source),
            waypost_projection::Error::InUse(path) => {
                Self::Locked { path, pid: "unknown".to_owned() }
            }
            other => Self::Damaged(format!("the event index: {other}")),
        }
    }
}

/// Why one draft of a batch was not published, while others were.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// As [`Error::Invalid`].
    #[error("{field} {reason}")]
    Invalid {
        /// The name of the invalid field on the wire.
        field: &'static str,
        /// What is wrong and what would be valid.
        reason: String,
    },
    /// As [`Error::KeyReused`].
    #[error("the idempotency key was used for event {id} with another type or other data")]
    KeyReused {
        /// The event that has the key.
        id: u64,
    },
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Invalid { field, reason } => Self::Invalid { field, reason },
            Refused::KeyReused { id } => Self::KeyReused { id },
        }
    }
}
