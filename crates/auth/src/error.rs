//! Errors of the token store.

use std::io;
use std::path::PathBuf;

use crate::token::TokenId;

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a token could not be created, changed or listed. A token that is not accepted is a
/// [`crate::Rejected`], not an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request is invalid.
    #[error("{field}: {reason}")]
    Invalid {
        /// The invalid field.
        field: &'static str,
        /// What is wrong and what would be valid.
        reason: String,
    },
    /// No token has that id.
    #[error("no token {id}")]
    NotFound {
        /// The id.
        id: TokenId,
    },
    /// The token was revoked or has expired, and cannot be rotated.
    #[error("token {id} has expired or is revoked; create a new one")]
    Ended {
        /// The id.
        id: TokenId,
    },
    /// The token file cannot be parsed. No token is valid until it is repaired or removed.
    #[error(
        "{} is damaged ({reason}); `ctl doctor --repair` moves it away, the next start creates a new admin token, and you have to create the others again",
        path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file was written by a newer version of this program.
    #[error("{} has format {found}; this release supports formats up to {known}: use a newer release", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The format of the file.
        found: u32,
        /// The newest known format.
        known: u32,
    },
    /// Other users could change the file, and with it who has access.
    #[error(
        "{} is accessible to other users ({reason}); fix it with: chmod {wanted:o} {}",
        path.display(), path.display()
    )]
    Exposed {
        /// The file or folder.
        path: PathBuf,
        /// Its mode or owner.
        reason: String,
        /// The required mode.
        wanted: u32,
    },
    /// The path does not lead to a regular file.
    #[error("{} is not a regular file; remove it or choose another path", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The system returned an error.
    #[error("could not {action} {}", path.display())]
    Io {
        /// The failed action.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The system provided no random bytes.
    #[error("failed to get random bytes: {reason}")]
    Randomness {
        /// The cause.
        reason: String,
    },
}

/// The kind of an [`Error`], by what to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Change the request.
    Invalid,
    /// Use another token id.
    NotFound,
    /// Repair or remove a file, or change its mode.
    Damaged,
    /// Free disk space, then try again.
    Full,
    /// Examine the system.
    System,
}

impl Error {
    /// What to do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Invalid { .. } | Self::Ended { .. } => ErrorKind::Invalid,
            Self::NotFound { .. } => ErrorKind::NotFound,
            Self::Corrupt { .. }
            | Self::Newer { .. }
            | Self::Exposed { .. }
            | Self::NotAFile { .. } => ErrorKind::Damaged,
            Self::Io { source, .. }
                if matches!(
                    source.kind(),
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
                ) =>
            {
                ErrorKind::Full
            }
            Self::Io { .. } | Self::Randomness { .. } => ErrorKind::System,
        }
    }
}
