use std::path::PathBuf;

use waypost_log::SharedError;

/// The result of the operations of a [`Hub`](crate::Hub).
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// This machine takes no part any more: see [`Hub::exclude`](crate::Hub::exclude).
    #[error("{0}")]
    Excluded(SharedError),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] waypost_journal::Error),
    /// The member file cannot be read or written.
    #[error(transparent)]
    File(#[from] waypost_log::Error),
    /// The member file is damaged.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A newer release wrote the member file.
    #[error("{} has version {version}, which a newer release wrote; install that release", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
}
