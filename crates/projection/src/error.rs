use std::io;
use std::path::PathBuf;

/// The result of an operation on a tree.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation on a tree failed.
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
    /// A value differs from what was written, or sled found damage. The next opening rebuilds the
    /// tree.
    #[error("{0}")]
    Damaged(String),
    /// A process has the tree in this folder open. It is not damaged.
    #[error("{} is in use by another process", .0.display())]
    InUse(PathBuf),
    /// The tree is being reopened after a failed write.
    #[error("the state is being opened again")]
    Reopening,
}

impl Error {
    pub(crate) fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }
}

/// Why a tree on disk cannot be used. Set it aside and rebuild it: nothing is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable(pub String);
