//! What can be wrong with a project folder or its settings.

use std::fmt;
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
    /// The project's file gives values to settings that it may not decide by itself, and nobody has
    /// approved it.
    #[error("{0}")]
    Pending(PendingFile),
    /// The data folder came from elsewhere: with a clone, an archive, a copy or a project that was
    /// moved.
    #[error(
        "the data folder {} is not registered for this project, so it may be someone else's: it came with the files, was copied or moved, or an earlier release made it; if it is yours, register it with `ctl allow --data`, else remove it",
        path.display()
    )]
    Unregistered {
        /// The folder.
        path: PathBuf,
    },
    /// Git tracks files that are this machine's own.
    #[error(
        "git tracks {}: files of the store and tokens came with the repository or would be given away with it, so none of them is used; take them out of it (`git rm -r --cached`), remove what came with the repository, then register what is yours with `ctl allow --data`",
        listed(files)
    )]
    Tracked {
        /// Which, relative to the project's folder.
        files: Vec<String>,
    },
    /// There is no folder for what was approved.
    #[error(
        "there is no folder to keep approvals in: set HOME or XDG_STATE_HOME, or start with --trust-project (WAYPOST_TRUST_PROJECT=1) where nobody can be asked, as in containers"
    )]
    NoState,
    /// Another user could have written a file.
    #[error("{message}")]
    Untrusted {
        /// Which one, why, and what to do.
        message: String,
    },
    /// A file has more than is read of it.
    #[error("{} is larger than {bytes_max} bytes, the most that is read of it", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// What is read at most.
        bytes_max: u64,
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

/// The first of some names, which may be anything, and how many more there are.
fn listed(files: &[String]) -> String {
    const NAMED_MAX: usize = 5;

    let named: Vec<_> =
        files.iter().take(NAMED_MAX).map(|it| it.escape_debug().to_string()).collect();
    match files.len().saturating_sub(NAMED_MAX) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// A setting of the project's file that waits for approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingSetting {
    /// The line that sets it, from 1.
    pub line: usize,
    /// Its name.
    pub key: &'static str,
    /// The value that the file gives it.
    pub value: String,
}

/// A project's file that waits for approval, because of what it sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingFile {
    /// The file.
    pub path: PathBuf,
    /// What it sets that has to be approved.
    pub settings: Vec<PendingSetting>,
    /// The user's own file, which may set it as well.
    pub user_file: Option<PathBuf>,
}

impl fmt::Display for PendingFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const VALUE_CHARS_MAX: usize = 200;

        write!(f, "{} waits for approval (", self.path.display())?;
        for (idx, it) in self.settings.iter().enumerate() {
            let separator = if idx == 0 { "" } else { "; " };
            let value: String = it.value.chars().take(VALUE_CHARS_MAX).collect();
            write!(f, "{separator}line {}: {}: {}", it.line, it.key, value.escape_debug())?;
        }
        f.write_str("): a project's file does not decide this by itself; look at it and approve it with `ctl allow`")?;
        match &self.user_file {
            Some(file) => write!(f, ", or give the values in your own file, {}", file.display()),
            None => Ok(()),
        }
    }
}
