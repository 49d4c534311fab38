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
        "{} is damaged ({reason}); `ctl doctor --repair` moves it away and says how to get tokens again",
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
    /// Several machines share the tokens of the file, and this store has no way to them
    /// ([`crate::TokenStore::with_shared`]). Nothing was changed.
    #[error(
        "other machines share the tokens in {}, so only a running service can change them: start the service, or use it on another machine",
        path.display()
    )]
    Shared {
        /// The file.
        path: PathBuf,
    },
    /// The file lacks the tokens that the machines share: it is new, or was lost. Nothing was
    /// changed. [`crate::TokenStore::adopt`] brings them.
    #[error("{} lacks the tokens of the other machines; they must be adopted first", path.display())]
    NotAdopted {
        /// The file.
        path: PathBuf,
    },
    /// The other machines cannot be told. Nothing was changed.
    #[error("{reason}; nothing was changed, try again later")]
    Unavailable {
        /// The cause.
        reason: String,
    },
    /// The other machines may have been told or not.
    #[error("{reason}; the tokens may have been changed or not: list them, then try again")]
    Unknown {
        /// The cause.
        reason: String,
    },
    /// The other machines were told, and this machine could not store the change. What it ends is
    /// rejected here, too. [`crate::TokenStore::apply`] it again.
    #[error("the other machines have the change, and this machine failed to store it: {reason}")]
    Unstored {
        /// The cause.
        reason: String,
    },
    /// What was kept of the tokens is damaged, or a newer release wrote it.
    #[error(transparent)]
    InvalidChange(#[from] InvalidChange),
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
    /// Wait for the connection to the other machines, or use another one of them, then try again.
    Unavailable,
    /// List the tokens, then decide whether to try again.
    Unknown,
    /// Let this machine write its token file again; the others have the change.
    Unstored,
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
            | Self::NotAFile { .. }
            | Self::InvalidChange(_) => ErrorKind::Damaged,
            Self::Io { source, .. }
                if matches!(
                    source.kind(),
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
                ) =>
            {
                ErrorKind::Full
            }
            Self::Shared { .. } | Self::NotAdopted { .. } | Self::Unavailable { .. } => {
                ErrorKind::Unavailable
            }
            Self::Unknown { .. } => ErrorKind::Unknown,
            Self::Unstored { .. } => ErrorKind::Unstored,
            Self::Io { .. } | Self::Randomness { .. } => ErrorKind::System,
        }
    }
}

/// Why a change of tokens was not appended to the journal that several machines share: see
/// [`crate::Append`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// Other machines have appended, and this machine has applied what they appended; nothing was
    /// written. The store decides again.
    #[error("other machines have appended")]
    Moved,
    /// Nothing was written, and a later attempt may succeed.
    #[error("{0}")]
    Unavailable(String),
    /// The change may have been written or not. If it was, this machine applies it like a change of
    /// another machine.
    #[error("{0}; the change may have been written or not")]
    Unknown(String),
    /// The change was written, and this machine failed to apply it.
    #[error("{0}; the change was written")]
    Unstored(String),
}

/// Why bytes are not a [`crate::TokenChange`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidChange {
    /// A newer release wrote it.
    #[error(
        "the change of tokens has format {found}; this release supports formats up to {known}: use a newer release"
    )]
    Newer {
        /// The format of the change.
        found: u32,
        /// The newest known format.
        known: u32,
    },
    /// It is damaged, or was never one.
    #[error("the change of tokens is damaged: {reason}")]
    Damaged {
        /// What is wrong with it.
        reason: String,
    },
}
