//! Errors of a project folder or its settings.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a project or its settings cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// `config.yaml` is invalid.
    #[error("{}, line {line}, column {column}: {message}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1.
        column: usize,
        /// What is wrong and what would be valid.
        message: String,
    },
    /// A flag or a variable has an invalid value.
    #[error("{place}: {message}")]
    Value {
        /// The flag or variable.
        place: String,
        /// What is wrong and what would be valid.
        message: String,
    },
    /// Two settings contradict each other.
    #[error("{message}")]
    Conflict {
        /// Which ones, and what would be valid.
        message: String,
    },
    /// The project's file sets values that require approval, and has not been approved.
    #[error("{0}")]
    Pending(PendingFile),
    /// The data folder came from elsewhere: with a clone, an archive, a copy or a project that was
    /// moved.
    #[error(
        "the data folder {} is not registered for this project and may be someone else's: {}; register it if it is yours, else remove it",
        path.display(),
        if *is_changed {
            "the project is registered with another id than the one in project-id, which was changed or damaged, or the folder was replaced"
        } else {
            "it came with the files, was copied or moved, or was created by an earlier release"
        }
    )]
    Unregistered {
        /// The folder.
        path: PathBuf,
        /// Whether another data folder, or this one with another id, is registered for the project.
        is_changed: bool,
    },
    /// The data folder is one that is registered for another path: a mount shows it at both.
    #[error(
        "{} is the data folder of the project in {}: both paths lead to the same folder, and a data folder belongs to one path",
        path.display(),
        project.display()
    )]
    SameData {
        /// The data folder.
        path: PathBuf,
        /// The folder of the project for which it is registered.
        project: PathBuf,
    },
    /// Git tracks files that belong to this machine only.
    #[error(
        "git tracks {}: files of the store and tokens came with the repository or would be published with it, so none of them is used; remove them from the index (`git rm -r --cached`), delete those that came with the repository, then register your data",
        listed(files)
    )]
    Tracked {
        /// Their paths, relative to the project's folder.
        files: Vec<String>,
    },
    /// The browser would take commands from other machines.
    #[error(
        "{address} is reachable from other machines, and the browser requires no token: anyone could use its sessions; listen on 127.0.0.1, and let other machines call it over the mesh"
    )]
    ExposedBrowser {
        /// Where it would listen.
        address: SocketAddr,
    },
    /// There is no folder for what was approved.
    #[error(
        "no folder for approvals: set HOME or XDG_STATE_HOME, or use --trust-project (WAYPOST_TRUST_PROJECT=1) where no one can answer a prompt, as in containers"
    )]
    NoState,
    /// Another user could have written a file.
    #[error("{message}")]
    Untrusted {
        /// Which file, why, and what to do.
        message: String,
    },
    /// The list of this user's projects cannot be parsed. No data folder can be checked.
    #[error(
        "{}, the list of the data folders that are registered, is damaged ({reason}); `ctl doctor --repair` moves it away, then `ctl allow --data` in each of your projects registers its data folder again",
        path.display()
    )]
    DamagedRegistry {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The approvals of a project cannot be parsed. They approve nothing.
    #[error(
        "{}, which has the approvals of the project, is damaged ({reason}) and approves nothing; `ctl allow` shows the project's files again and replaces it",
        path.display()
    )]
    DamagedApprovals {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A newer release wrote a file.
    #[error(
        "{} was written by a newer release: it has version {found}, and this release reads versions up to {known}",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that this release reads.
        known: u32,
    },
    /// A file exceeds its size limit.
    #[error("{} exceeds the limit of {bytes_max} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit.
        bytes_max: u64,
    },
    /// Something is in the place of a file or folder of the store.
    #[error("{0}")]
    InTheWay(InTheWay),
    /// The data folder is not a folder.
    #[error("the data folder {} is not a folder", path.display())]
    NotData {
        /// Its path.
        path: PathBuf,
    },
    /// There is no folder at that path.
    #[error("{} is not a folder", path.display())]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// Another user could have created or changed it.
    #[error("{} {reason}", path.display())]
    Exposed {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong, and what to do.
        reason: String,
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
}

impl Error {
    /// What to do about what is in the place of the data folder, or of something in it.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::InTheWay(it) => Some(it.remedy()),
            Self::NotData { .. } => Some(
                "move it away, then put the data folder back, or run `ctl restore` with a backup; without either, the next start creates an empty store",
            ),
            _ => None,
        }
    }
}

/// Something in the place of a file or folder of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InTheWay {
    /// Its path.
    pub path: PathBuf,
    /// It is a folder, and a file belongs there; otherwise the other way around.
    pub is_folder: bool,
    /// What belongs there can be created again from the rest.
    pub is_derived: bool,
}

impl InTheWay {
    /// What to do about it.
    pub fn remedy(&self) -> &'static str {
        if self.is_derived {
            "`ctl doctor --repair` renames it to *.damaged, and the next start creates again what belongs there; nothing is lost"
        } else {
            "put back what belongs there if you have it; otherwise `ctl doctor --repair` renames this to *.damaged and says what is lost"
        }
    }
}

impl fmt::Display for InTheWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.is_folder {
            "is a folder, and a file belongs there"
        } else {
            "is not a folder, and a folder belongs there"
        };
        write!(f, "{} {what}", self.path.display())
    }
}

/// The first of some names, which may contain any characters, and how many more there are.
fn listed(files: &[String]) -> String {
    const NAMED_MAX: usize = 5;

    let named: Vec<_> =
        files.iter().take(NAMED_MAX).map(|file| file.escape_debug().to_string()).collect();
    match files.len().saturating_sub(NAMED_MAX) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// A setting of the project's file that awaits approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingSetting {
    /// The line that sets it, from 1.
    pub line: usize,
    /// Its name.
    pub key: &'static str,
    /// The value that the file gives it.
    pub value: String,
}

/// A project's file that awaits approval, because of the settings in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingFile {
    /// The file.
    pub path: PathBuf,
    /// The settings that require approval.
    pub settings: Vec<PendingSetting>,
    /// The user's own file, which may set them as well.
    pub user_file: Option<PathBuf>,
    /// Why approvals do not count, if they are damaged or the data folder is not registered.
    pub damage: Option<String>,
}

impl fmt::Display for PendingFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const VALUE_CHARS_MAX: usize = 200;

        write!(f, "{} is pending approval (", self.path.display())?;
        for (idx, it) in self.settings.iter().enumerate() {
            let separator = if idx == 0 { "" } else { "; " };
            let value: String = it.value.chars().take(VALUE_CHARS_MAX).collect();
            write!(f, "{separator}line {}: {}: {}", it.line, it.key, value.escape_debug())?;
        }
        f.write_str("): these settings of a project's file need approval")?;
        if let Some(file) = &self.user_file {
            write!(f, "; your own file, {}, needs no approval", file.display())?;
        }
        match &self.damage {
            Some(damage) => write!(f, "; {damage}"),
            None => Ok(()),
        }
    }
}
