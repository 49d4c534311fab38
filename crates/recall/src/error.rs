//! Errors of recall.

use waypost_log::Damage;

/// The log's folder within the data folder.
pub(crate) const FOLDER: &str = "recall/log";

/// The result of every operation on the recall log.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation on the recall log failed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The log on disk failed.
    #[error("the recall log failed")]
    Log(#[source] waypost_log::Error),
    /// Records of the log have changed or are missing.
    #[error("the recall log is damaged: {0}")]
    Damaged(String),
    /// A session's name, a harness or a space is too long, or an entry names too many memories.
    #[error("{what} has {len} {unit}; the limit is {limit}")]
    TooLong {
        /// Which part of the entry.
        what: &'static str,
        /// Its length.
        len: usize,
        /// What its length counts.
        unit: &'static str,
        /// The limit.
        limit: usize,
    },
}

/// What a caller can do about an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Change the request: it is invalid.
    Invalid,
    /// Free space and try again.
    Full,
    /// Repair the log, or restore a copy.
    Damaged,
    /// Open the log again, or see its cause.
    Failed,
}

impl Error {
    /// What a caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Log(error) if error.kind() == waypost_log::ErrorKind::Full => ErrorKind::Full,
            Self::Log(_) => ErrorKind::Failed,
            Self::Damaged(_) => ErrorKind::Damaged,
            Self::TooLong { .. } => ErrorKind::Invalid,
        }
    }
}

impl From<waypost_log::Error> for Error {
    fn from(error: waypost_log::Error) -> Self {
        match error {
            waypost_log::Error::Damaged(damage) => {
                Self::Damaged(Damage::describe_all(&damage, FOLDER, "sequence"))
            }
            error => Self::Log(error),
        }
    }
}
