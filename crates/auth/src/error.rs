//! What can go wrong with the store of tokens.

use std::io;
use std::path::PathBuf;

use crate::token::TokenId;

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a token could not be made, changed or listed. A token that is refused is a
/// [`crate::Rejected`], not an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What was asked for makes no sense.
    #[error("{field}: {reason}")]
    Invalid {
        /// The field at fault.
        field: &'static str,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// No token has that id.
    #[error("there is no token {id}")]
    NotFound {
        /// The id.
        id: TokenId,
    },
    /// The token was revoked or has expired, and cannot be rotated.
    #[error("token {id} has ended; make a new one")]
    Ended {
        /// The id.
        id: TokenId,
    },
    /// The file of tokens cannot be read as one. No token works until it is repaired or removed.
    #[error(
        "{} is damaged ({reason}); a repair moves it away, the next start makes a new admin token, and the others have to be made again",
        path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file was written by a newer version of this program.
    #[error("{} has format {found}; this version knows up to {known}: use a newer version", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format that is known.
        known: u32,
    },
    /// Others could change the file, and with it who may come in.
    #[error(
        "{} can be changed by other users ({reason}); make it yours alone: chmod {wanted:o} {}",
        path.display(), path.display()
    )]
    Exposed {
        /// The file or folder.
        path: PathBuf,
        /// Its mode or owner.
        reason: String,
        /// The mode that it should have.
        wanted: u32,
    },
    /// The path leads to something that is not a plain file.
    #[error("{} is not a plain file; remove it or choose another path", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The system refused.
    #[error("could not {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The system gave no random bytes.
    #[error("the system gave no random bytes: {reason}")]
    Randomness {
        /// The cause.
        reason: String,
    },
}

/// What to do about an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Ask for something else.
    Invalid,
    /// Name another token.
    NotFound,
    /// Repair or remove a file, or change its mode.
    Damaged,
    /// Make room on the disk, then try again.
    Full,
    /// Look at the system.
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
