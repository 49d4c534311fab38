use std::io;
use std::path::PathBuf;

/// The result of an operation on a tree.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a tree did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A value is not what was written, or sled found damage. It is built anew at the next opening.
    #[error("{0}")]
    Damaged(String),
    /// It is being opened again after a failed write.
    #[error("the state is being opened again")]
    Reopening,
}

impl Error {
    pub(crate) fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }
}

/// Why a tree on disk cannot be used. Set it aside and build it anew: nothing is lost by that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable(pub String);
