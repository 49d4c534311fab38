//! Errors of recall.

/// The result of every operation on the recall log.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation on the recall log failed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The log on disk failed.
    #[error("the recall log failed")]
    Log(#[from] waypost_log::Error),
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
    /// Open the log again, or see its cause.
    Failed,
}

impl Error {
    /// What a caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Log(error) if error.kind() == waypost_log::ErrorKind::Full => ErrorKind::Full,
            Self::Log(_) => ErrorKind::Failed,
            Self::TooLong { .. } => ErrorKind::Invalid,
        }
    }
}
