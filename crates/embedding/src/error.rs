//! Errors, and how to resolve them.

use std::fmt;
use std::io;
#[cfg(any(feature = "inference", feature = "fetch"))]
use std::path::Path;
use std::path::PathBuf;

/// A result whose error is this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a model could not be installed, loaded or run. Every message names the file and suggests a
/// solution.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A required file of a model folder is missing.
    #[error(
        "{} has no {file}; a model folder contains config.json, tokenizer.json and model.safetensors",
        folder.display()
    )]
    MissingFile {
        /// The folder.
        folder: PathBuf,
        /// The file's name inside it.
        file: &'static str,
    },
    /// A file is damaged: truncated, of another format, or with impossible values; or the files of
    /// a folder do not belong to one model.
    #[error("{} is damaged: {reason}; fetch or import the model again", path.display())]
    Damaged {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// This crate does not run this kind of model.
    #[error("{} requires an unsupported feature: {reason}", path.display())]
    Unsupported {
        /// The file that requires it.
        path: PathBuf,
        /// What it requires, and what would work.
        reason: String,
    },
    /// A file's digest is not the pinned or recorded one.
    #[error(
        "{} has SHA-256 {actual}, expected {expected}; it was changed or swapped: \
         fetch the model again, or import it under another name",
        path.display()
    )]
    Checksum {
        /// The file.
        path: PathBuf,
        /// The pinned or recorded digest, in hexadecimal.
        expected: String,
        /// The file's digest.
        actual: String,
    },
    /// A model name that is not a valid folder name.
    #[error(
        "\"{name}\" cannot name a model; \
         use up to 100 of A-Z a-z 0-9 . _ - and begin with a letter or a digit"
    )]
    InvalidName {
        /// The name.
        name: String,
    },
    /// A model that is neither in the cache nor has a source known to this crate.
    #[error(
        "no model \"{name}\" in {} and no known source for it (known: {known}); \
         it can be imported from a folder, zip or wheel",
        cache_dir.display()
    )]
    UnknownModel {
        /// The name.
        name: String,
        /// The cache.
        cache_dir: PathBuf,
        /// The names with a known source.
        known: String,
    },
    /// No source provided the model.
    #[error(
        "the model \"{name}\" could not be fetched: {}; \
         it can be imported from a copy (folder, zip or wheel)",
        reasons(attempts)
    )]
    Unavailable {
        /// The name.
        name: String,
        /// The attempted sources, in order.
        attempts: Vec<Attempt>,
    },
    /// An archive that cannot be read, or that contains no model or several.
    #[error("{} contains no usable model: {reason}", path.display())]
    NoModel {
        /// The archive or folder.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file system error.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// The operation: "read", "write", "lock".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The time for scoring passages was over before all were scored.
    #[error(
        "the model {} scored {scored} of {passages} passages in its time; \
         give it more time or fewer passages, or use a smaller model",
        folder.display()
    )]
    OverBudget {
        /// The model's folder.
        folder: PathBuf,
        /// The number of passages that were scored.
        scored: usize,
        /// The number of all passages.
        passages: usize,
    },
    /// A text could not be run through the model.
    #[error("the model {} could not run a text: {reason}", folder.display())]
    Inference {
        /// The model's folder.
        folder: PathBuf,
        /// The engine's error.
        reason: String,
    },
}

/// An attempted source, and why it failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The source's name, such as `model hub`.
    pub source: String,
    /// Why it failed.
    pub reason: String,
}

/// What a caller can do about an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The argument is invalid.
    Invalid,
    /// Something was not found.
    NotFound,
    /// Files are damaged, swapped or of another model: fetch or import again.
    Damaged,
    /// No source could be reached, or the time was over; retry later or elsewhere.
    Unavailable,
    /// A file system error.
    Io,
    /// The engine failed on valid input.
    Internal,
}

impl Error {
    /// What a caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::InvalidName { .. } | Self::Unsupported { .. } | Self::NoModel { .. } => {
                ErrorKind::Invalid
            }
            Self::MissingFile { .. } | Self::UnknownModel { .. } => ErrorKind::NotFound,
            Self::Damaged { .. } | Self::Checksum { .. } => ErrorKind::Damaged,
            Self::Unavailable { .. } | Self::OverBudget { .. } => ErrorKind::Unavailable,
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

/// What each source says.
fn reasons(attempts: &[Attempt]) -> String {
    let reason = |attempt: &Attempt| format!("{}: {}", attempt.source, attempt.reason);
    attempts.iter().map(reason).collect::<Vec<_>>().join("; ")
}
