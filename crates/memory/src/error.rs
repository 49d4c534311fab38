//! What can go wrong, and what a caller can do about it.

use std::io;
use std::path::PathBuf;

use crate::MemoryId;

/// The result of a store operation.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A given value is outside its limits.
    #[error("{field} {reason}")]
    Invalid {
        /// The field at fault, as it is called on the wire (`content`, `tags/3`).
        field: String,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// There is no memory with this id.
    #[error("no memory {0}")]
    NotFound(MemoryId),
    /// The memory was changed meanwhile.
    #[error("the memory has version {found}, not {expected}")]
    Conflict {
        /// The version that the caller expected.
        expected: u32,
        /// The version that it has.
        found: u32,
    },
    /// Semantic search was asked for, but there is no embedding model.
    #[error(
        "semantic search needs an embedding model, and there is none; mode `lexical` needs none"
    )]
    NoModel,
    /// The embedding model failed.
    #[error("the embedding model failed: {0}")]
    Embedding(String),
    /// A reindex is running already.
    #[error("a reindex is already running")]
    Busy,
    /// The disk has no room; nothing was written, and writing works again when there is.
    #[error("the disk is full: {0}")]
    Full(String),
    /// The store cannot write any more until it is opened anew; reads go on.
    #[error("the store is read-only until it is reopened: {0}")]
    Unavailable(String),
    /// Another process has the store open.
    #[error("the store {path} is in use by process {pid}")]
    Locked {
        /// The data folder.
        path: PathBuf,
        /// The other process, or `unknown`.
        pid: String,
    },
    /// A newer release wrote the store, or what was to be imported. Nothing was changed.
    #[error("{found} was written by a newer release; this one supports versions up to {known}")]
    Newer {
        /// What is newer.
        found: String,
        /// The newest version of it that this release knows.
        known: u32,
    },
    /// Something on disk is damaged and cannot be rebuilt from the rest.
    #[error("{0}")]
    Damaged(String),
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// What a caller can do about an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Send something else.
    Invalid,
    /// It is not there.
    NotFound,
    /// It was changed meanwhile; look again.
    Conflict,
    /// Something like it is running; try later.
    Busy,
    /// Make room on the disk, then try again.
    Full,
    /// Not possible now; the message says what would make it possible.
    Unavailable,
    /// Another process has the store.
    Locked,
    /// The store's files need a repair, or attention of whoever runs this.
    Damaged,
    /// Use a newer release.
    Newer,
    /// The operating system refused.
    Io,
}

impl Error {
    /// What a caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Invalid { .. } => ErrorKind::Invalid,
            Self::NotFound(_) => ErrorKind::NotFound,
            Self::Conflict { .. } => ErrorKind::Conflict,
            Self::Busy => ErrorKind::Busy,
            Self::Full(_) => ErrorKind::Full,
            Self::NoModel | Self::Embedding(_) | Self::Unavailable(_) => ErrorKind::Unavailable,
            Self::Locked { .. } => ErrorKind::Locked,
            Self::Newer { .. } => ErrorKind::Newer,
            Self::Damaged(_) => ErrorKind::Damaged,
            Self::Io { .. } => ErrorKind::Io,
        }
    }

    pub(crate) fn invalid(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Invalid { field: field.into(), reason: reason.into() }
    }

    pub(crate) fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::Full(format!("failed to write {}", path.display()))
            }
            _ => Self::Io { path, source },
        }
    }
}

impl From<waypost_projection::Error> for Error {
    fn from(error: waypost_projection::Error) -> Self {
        match error {
            waypost_projection::Error::Io { path, source } => Self::io(path, source),
            waypost_projection::Error::Reopening => Self::Unavailable(error.to_string()),
            other => Self::Damaged(other.to_string()),
        }
    }
}
