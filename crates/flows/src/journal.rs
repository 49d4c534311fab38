//! The engine's folder: its lock, the mark that a journal exists, and that of a repair in progress.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use waypost_log::{Damage, FolderLock, Marked, Marker, Repair, RepairNotes, create_folder};

use crate::machine::Gap;
use crate::{Error, RunId};

/// Exists once the journal was created: a folder with it but without a log has lost the log.
const BEGUN: Marker = Marker { name: "flows-journal", version: 1 };
/// What a repair in progress has found, but for the damage.
#[derive(Debug, Default)]
pub(crate) struct Consequences {
    pub(crate) gaps: Vec<Gap>,
    pub(crate) dead: BTreeSet<RunId>,
    pub(crate) undecided: BTreeSet<(u64, u64)>,
}

pub(crate) type Repairing = Repair<Consequences>;

/// A line holds the first and the last record of a gap, and since version 3 that a run is dead or that
/// events are undecided.
impl RepairNotes for Consequences {
    const MARKER: Marker = Marker { name: "flows-repair", version: 3 };
    const STORE: &str = "flows";

    fn read_line(&mut self, line: &str) -> Option<()> {
        let pair = |text: &str| {
            let (from, to) = text.split_once(' ')?;
            Some((from.parse().ok()?, to.parse().ok()?))
        };
        if let Some(run) = line.strip_prefix("dead ") {
            self.dead.insert(run.parse().ok()?);
        } else if let Some(events) = line.strip_prefix("undecided ") {
            self.undecided.insert(pair(events)?);
        } else {
            let (from, to) = pair(line)?;
            self.gaps.push(Gap { from, to });
        }
        Some(())
    }

    fn lines(&self) -> String {
        let gaps = self.gaps.iter().map(|gap| format!("{} {}\n", gap.from, gap.to));
        let dead = self.dead.iter().map(|dead| format!("dead {dead}\n"));
        let undecided = self.undecided.iter().map(|(from, to)| format!("undecided {from} {to}\n"));
        gaps.chain(dead).chain(undecided).collect()
    }

    /// Everything is one gap.
    fn unknown() -> Self {
        Self { gaps: vec![Gap { from: 1, to: u64::MAX }], ..Self::default() }
    }
}

/// The log, and what its records are, in descriptions of damage.
pub(crate) const LOG: (&str, &str) = ("flows/log", "record");

/// The folder and the file names in it.
#[derive(Debug)]
pub(crate) struct JournalDir {
    dir: PathBuf,
}

impl JournalDir {
    pub(crate) fn new(dir: &Path) -> Self {
        Self { dir: dir.to_path_buf() }
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.dir.join("log")
    }

    /// Locks the folder for this process, creating it if needed.
    pub(crate) fn lock(&self) -> Result<FolderLock, Error> {
        create_folder(&self.dir)?;
        Ok(FolderLock::take(&self.dir)?)
    }

    /// Rejects a folder whose journal is missing, or whose repair was not completed.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if let Some(message) = self.missing()? {
            return Err(self.damaged(message));
        }
        match self.interrupted()? {
            Some(message) => Err(self.damaged(message)),
            None => Ok(()),
        }
    }

    /// Returns a message if a repair was not completed.
    pub(crate) fn interrupted(&self) -> Result<Option<String>, Error> {
        Repairing::interrupted(&self.dir).map_err(|error| self.error(error))
    }

    /// Returns a message if there was a journal and its files are missing.
    pub(crate) fn missing(&self) -> Result<Option<String>, Error> {
        match BEGUN.read(&self.begun())? {
            Marked::Newer(version) => Err(newer("flows/begun", version)),
            Marked::Absent => Ok(None),
            Marked::Text { .. } | Marked::Damaged(_) => {
                Ok((!self.has_log())
                    .then(|| "flows/log is missing: past runs are unknown".to_owned()))
            }
        }
    }

    /// Damage to the folder's other files, which are created again.
    pub(crate) fn derived_damage(&self) -> Result<Option<String>, Error> {
        let is_damaged = matches!(BEGUN.read(&self.begun())?, Marked::Damaged(_));
        Ok(is_damaged.then(|| "flows/begun is damaged".to_owned()))
    }

    /// Marks that a journal exists.
    pub(crate) fn mark(&self) -> Result<(), Error> {
        match BEGUN.read(&self.begun())? {
            Marked::Text { .. } => Ok(()),
            Marked::Newer(version) => Err(newer("flows/begun", version)),
            Marked::Absent | Marked::Damaged(_) => Ok(BEGUN.write(&self.begun(), "")?),
        }
    }

    fn begun(&self) -> PathBuf {
        self.dir.join("begun")
    }

    /// Whether the log has a file with records.
    pub(crate) fn has_log(&self) -> bool {
        let Ok(files) = std::fs::read_dir(self.log()) else { return false };
        files
            .flatten()
            .any(|file| file.path().extension().is_some_and(|extension| extension == "log"))
    }

    /// What an incomplete repair had found.
    pub(crate) fn repairing(&self) -> Result<Option<Repairing>, Error> {
        Repairing::read(&self.dir).map_err(|error| self.error(error))
    }

    pub(crate) fn set_repairing(&self, found: &Repairing) -> Result<(), Error> {
        Ok(found.write(&self.dir)?)
    }

    pub(crate) fn repaired(&self) -> Result<(), Error> {
        Ok(Repairing::remove(&self.dir)?)
    }

    /// Converts an error of the log to one of flows.
    pub(crate) fn error(&self, error: waypost_log::Error) -> Error {
        match error {
            waypost_log::Error::Damaged(damage) => {
                self.damaged(Damage::describe_all(&damage, LOG.0, LOG.1))
            }
            other if other.kind() == waypost_log::ErrorKind::Newer => {
                Error::Newer { what: "the journal of flows".to_owned(), message: other.to_string() }
            }
            other => Error::Log(other),
        }
    }

    fn damaged(&self, message: String) -> Error {
        Error::Damaged { path: self.dir.clone(), message }
    }
}

fn newer(what: &str, version: u32) -> Error {
    Error::Newer { what: what.to_owned(), message: format!("it has version {version}") }
}
