//! What can go wrong.

use std::io;
use std::path::PathBuf;

use crate::Kind;

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder could not be read or written.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A repository that is not read: the rest of the project is.
    #[error("{path}: {why}", path = path.display())]
    Repository {
        /// What of it.
        path: PathBuf,
        /// What is the matter with it.
        why: String,
    },
    /// The caller asked to end.
    #[error("cancelled")]
    Cancelled,
    /// A glob is none.
    #[error("{glob:?} is no glob: {why}")]
    Glob {
        /// Which.
        glob: String,
        /// Why.
        why: String,
    },
    /// A glob of files was given a kind that no file as a whole has.
    #[error("{glob:?} cannot be of type {kind}: no file as a whole is one")]
    Kind {
        /// Which glob.
        glob: String,
        /// Which kind.
        kind: Kind,
    },
    /// A value of a query cannot be.
    #[error("{what}: {reason}")]
    Invalid {
        /// Which value.
        what: &'static str,
        /// Why, and what would be right.
        reason: String,
    },
    /// Another process has the folder of the index open.
    #[error("{path} is held by another process: one at a time may have it open", path = path.display())]
    InUse {
        /// The file that is locked.
        path: PathBuf,
    },
    /// The model failed.
    #[error("the embedding model failed: {0}")]
    Embedding(String),
}

impl Error {
    /// An error of a path.
    pub(crate) fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }
}

/// What a call gives.
pub type Result<T, E = Error> = std::result::Result<T, E>;
