//! Errors, and what a caller can do about them.

use std::io;
use std::path::PathBuf;

use waypost_log::SharedError;

use crate::MemoryId;

/// The result of a store operation.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation on the store failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A given value is outside its limits.
    #[error("{field} {reason}")]
    Invalid {
        /// The name of the invalid field on the wire (`content`, `tags/3`).
        field: String,
        /// What is wrong and what would be valid.
        reason: String,
    },
    /// There is no memory with this id.
    #[error("no memory {0}")]
    NotFound(MemoryId),
    /// The memory is in another space than the one asked for.
    #[error("memory {id} is not in the space `{}`", space.escape_debug())]
    NotInSpace {
        /// The memory.
        id: MemoryId,
        /// The space that the caller asked for.
        space: String,
    },
    /// The memory never had this version.
    #[error("memory {id} has no version {version}; it has versions 1 to {newest}")]
    NoVersion {
        /// The memory.
        id: MemoryId,
        /// The version that the caller asked for.
        version: u32,
        /// The newest version.
        newest: u32,
    },
    /// The text of this version no longer exists.
    #[error("the text of version {version} of memory {id} is gone: {reason}")]
    Gone {
        /// The memory.
        id: MemoryId,
        /// The version.
        version: u32,
        /// What became of it.
        reason: &'static str,
    },
    /// The memory is not deleted.
    #[error("memory {0} is not deleted")]
    NotDeleted(MemoryId),
    /// The [key](crate::RequestKey) belongs to another request.
    #[error("the idempotency key was used for another request")]
    KeyReused,
    /// Semantic search was requested, but there is no embedding model.
    #[error(
        "semantic search needs an embedding model, and there is none; mode `lexical` needs none"
    )]
    NoModel,
    /// The embedding model failed.
    #[error("the embedding model failed: {0}")]
    Embedding(String),
    /// A reindex is already running.
    #[error("a reindex is already running")]
    Busy,
    /// The disk is full; nothing was written, and writing works again when there is space.
    #[error("the disk is full: {0}")]
    Full(String),
    /// Nothing can be written until the store is reopened; reads continue to work.
    #[error("the store is read-only until it is reopened: {0}")]
    Unavailable(String),
    /// The [shared journal](waypost_log::SharedJournal) does not take or give records at the moment;
    /// reads continue to work. The message says whether the change may have been written.
    #[error("the shared journal is unavailable: {0}")]
    SharedJournal(SharedError),
    /// Another process has the store open.
    #[error("the store {path} is in use by process {pid}")]
    Locked {
        /// The data folder.
        path: PathBuf,
        /// The other process, or `unknown`.
        pid: String,
    },
    /// A newer release wrote the store or the import. Nothing was changed.
    #[error("{found} was written by a newer release; this one supports versions up to {known}")]
    Newer {
        /// What is newer.
        found: String,
        /// The newest version of it that this release supports.
        known: u32,
    },
    /// Data on disk is damaged and cannot be rebuilt from the rest.
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
    /// Change the request.
    Invalid,
    /// The memory does not exist.
    NotFound,
    /// Nothing can bring back what is asked for.
    Gone,
    /// There is nothing to restore: the memory is not deleted.
    NotDeleted,
    /// Use another key for another request.
    KeyReused,
    /// Try again later: a similar operation is running.
    Busy,
    /// Free disk space, then try again.
    Full,
    /// Not possible at the moment; the message says what would make it possible.
    Unavailable,
    /// Stop the other process that has the store open.
    Locked,
    /// Run a repair, or restore a copy.
    Damaged,
    /// Use a newer release.
    Newer,
    /// See the error of the operating system.
    Io,
}

impl Error {
    /// What a caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Invalid { .. } => ErrorKind::Invalid,
            Self::NotFound(_) | Self::NotInSpace { .. } | Self::NoVersion { .. } => {
                ErrorKind::NotFound
            }
            Self::Gone { .. } => ErrorKind::Gone,
            Self::NotDeleted(_) => ErrorKind::NotDeleted,
            Self::KeyReused => ErrorKind::KeyReused,
            Self::Busy => ErrorKind::Busy,
            Self::Full(_) => ErrorKind::Full,
            Self::NoModel | Self::Embedding(_) | Self::Unavailable(_) | Self::SharedJournal(_) => {
                ErrorKind::Unavailable
            }
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
            waypost_projection::Error::InUse(path) => {
                Self::Locked { path, pid: "unknown".to_owned() }
            }
            waypost_projection::Error::Reopening => Self::Unavailable(error.to_string()),
            other => Self::Damaged(other.to_string()),
        }
    }
}
