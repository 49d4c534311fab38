//! Errors.

use std::io;
use std::path::PathBuf;

use crate::Kind;

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder could not be read or written.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A repository could not be read; the rest of the project is.
    #[error("{path}: {why}", path = path.display())]
    Repository {
        /// The path in the repository.
        path: PathBuf,
        /// The problem.
        why: String,
    },
    /// The caller cancelled.
    #[error("cancelled")]
    Cancelled,
    /// A glob is invalid.
    #[error("invalid glob {glob:?}: {why}")]
    Glob {
        /// The glob.
        glob: String,
        /// The reason.
        why: String,
    },
    /// A glob of files was assigned a kind that a whole file cannot have.
    #[error("{glob:?} cannot have type {kind}, which does not apply to whole files")]
    Kind {
        /// The glob.
        glob: String,
        /// The kind.
        kind: Kind,
    },
    /// A value of a query is invalid.
    #[error("{what}: {reason}")]
    Invalid {
        /// The name of the value.
        what: &'static str,
        /// Why it is invalid, and what would be valid.
        reason: String,
    },
    /// Another process has the folder of the index open.
    #[error("{path} is in use by another process", path = path.display())]
    InUse {
        /// The folder or the file that is locked.
        path: PathBuf,
    },
    /// The model failed.
    #[error("the embedding model failed: {0}")]
    Embedding(String),
}

impl Error {
    /// An error with the path that it concerns.
    pub(crate) fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }
}

/// The result of a call.
pub type Result<T, E = Error> = std::result::Result<T, E>;
