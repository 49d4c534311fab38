//! What can be wrong with a project folder or its settings.

use std::io;
use std::path::PathBuf;

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a project or its settings cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// `config.yaml` says something that cannot be meant.
    #[error("{}, line {line}, column {column}: {message}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1.
        column: usize,
        /// What is wrong and what would be right.
        message: String,
    },
    /// A flag or a variable has a value that it cannot have.
    #[error("{place}: {message}")]
    Value {
        /// The flag or variable.
        place: String,
        /// What is wrong and what would be right.
        message: String,
    },
    /// Two settings do not go together.
    #[error("{message}")]
    Conflict {
        /// Which, and what would be right.
        message: String,
    },
    /// There is no folder at that path.
    #[error("{} is not a folder", path.display())]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// Another user could have put it there or changed it.
    #[error("{} {reason}", path.display())]
    Exposed {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong, and what to do.
        reason: String,
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
}
