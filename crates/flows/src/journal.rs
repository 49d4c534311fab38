//! The engine's folder: its lock, the mark that a journal exists, and the mark of a repair in
//! progress.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use waypost_log::{Damage, DamageKind, FolderLock, Marked, Marker};

use crate::Error;
use crate::machine::Gap;

/// Exists once the journal was created: a folder with it but without a log has lost the log.
const BEGUN: Marker = Marker { name: "flows-journal", version: 1 };
/// Exists while a repair is in progress, with the gaps found. A line holds the first and the last
/// record of a gap.
const REPAIRING: Marker = Marker { name: "flows-repair", version: 1 };

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
        std::fs::create_dir_all(&self.dir).map_err(|source| waypost_log::Error::Io {
            operation: "create",
            path: self.dir.clone(),
            source: Arc::new(source),
        })?;
        Ok(FolderLock::take(&self.dir)?)
    }

    /// Rejects a folder whose journal is missing, or whose repair was not completed.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if let Some(message) = self.missing()? {
            return Err(self.damaged(message));
        }
        match REPAIRING.read(&self.dir.join("repairing"))? {
            Marked::Absent => Ok(()),
            Marked::Newer(version) => Err(newer("flows/repairing", version)),
            Marked::Text { .. } | Marked::Damaged(_) => {
                Err(self.damaged("a repair of it was interrupted; repair again".to_owned()))
            }
        }
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
        files.flatten().any(|it| it.path().extension().is_some_and(|it| it == "log"))
    }

    /// The gaps of an incomplete repair. If they cannot be read, everything is one gap.
    pub(crate) fn repairing(&self) -> Result<Option<Vec<Gap>>, Error> {
        let all = || Some(vec![Gap { from: 1, to: u64::MAX }]);
        Ok(match REPAIRING.read(&self.dir.join("repairing"))? {
            Marked::Absent => None,
            Marked::Newer(version) => return Err(newer("flows/repairing", version)),
            Marked::Damaged(_) => all(),
            Marked::Text { text, .. } => {
                let gap = |line: &str| {
                    let (from, to) = line.split_once(' ')?;
                    Some(Gap { from: from.parse().ok()?, to: to.parse().ok()? })
                };
                text.lines().map(gap).collect::<Option<Vec<_>>>().or_else(all)
            }
        })
    }

    pub(crate) fn set_repairing(&self, gaps: &[Gap]) -> Result<(), Error> {
        let mut lines: Vec<String> =
            gaps.iter().map(|it| format!("{} {}", it.from, it.to)).collect();
        lines.push(String::new());
        Ok(REPAIRING.write(&self.dir.join("repairing"), &lines.join("\n"))?)
    }

    pub(crate) fn repaired(&self) -> Result<(), Error> {
        Ok(Marker::remove(&self.dir.join("repairing"))?)
    }

    /// Converts an error of the log to one of flows.
    pub(crate) fn error(&self, error: waypost_log::Error) -> Error {
        match error {
            waypost_log::Error::Damaged(damage) => {
                const SHOWN: usize = 4;
                let shown: Vec<String> = damage.iter().take(SHOWN).map(describe).collect();
                let more = damage.len().saturating_sub(SHOWN);
                let more = if more > 0 { format!("; and {more} more") } else { String::new() };
                self.damaged(shown.join("; ") + &more)
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

/// Describes damage of the log in terms of flows.
pub(crate) fn describe(damage: &Damage) -> String {
    let Damage { segment, offset, from, to, what, .. } = damage;
    let records = if to < from {
        "no record lost".to_owned()
    } else if *to == u64::MAX {
        format!("records from {from}")
    } else if from == to {
        format!("record {from}")
    } else {
        format!("records {from} to {to}")
    };
    let what = match what {
        DamageKind::Header => "damaged header",
        DamageKind::Record => "damaged record",
        DamageKind::End => "missing end marker",
        DamageKind::Missing => return format!("flows/log/{segment} is missing: {records}"),
        _ => "the journal ends before a record that was written",
    };
    format!("flows/log/{segment}, offset {offset}: {what}: {records}")
}
