//! The engine's folder: its lock, the mark that a journal exists, and the mark of a repair in
//! progress.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use waypost_log::{Damage, DamageKind, FolderLock, Marked, Marker, RepairedDamage};

use crate::machine::Gap;
use crate::{Error, RunId};

/// Exists once the journal was created: a folder with it but without a log has lost the log.
const BEGUN: Marker = Marker { name: "flows-journal", version: 1 };
/// Exists while a repair is in progress, with what it found. A line holds the first and the last
/// record of a gap, or what is to be reported: since version 2 of a damage, since version 3 that a run
/// is dead or that events are undecided.
const REPAIRING: Marker = Marker { name: "flows-repair", version: 3 };

/// Why a journal with this mark does not open.
pub(crate) const INTERRUPTED: &str = "flows/repairing: a repair was interrupted; repair again";

/// What a repair in progress has found.
#[derive(Debug, Default)]
pub(crate) struct Repairing {
    pub(crate) gaps: Vec<Gap>,
    pub(crate) set_aside: Vec<RepairedDamage>,
    pub(crate) dead: BTreeSet<RunId>,
    pub(crate) undecided: BTreeSet<(u64, u64)>,
}

impl Repairing {
    /// Adds a damage, unless an interrupted repair had found it.
    pub(crate) fn mended(&mut self, mended: RepairedDamage) {
        if !self.set_aside.contains(&mended) {
            self.set_aside.push(mended);
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut found = Self::default();
        for line in text.lines() {
            let pair = |text: &str| {
                let (from, to) = text.split_once(' ')?;
                Some((from.parse().ok()?, to.parse().ok()?))
            };
            if let Some(mended) = RepairedDamage::of_line(line) {
                found.set_aside.push(mended);
            } else if let Some(run) = line.strip_prefix("dead ") {
                found.dead.insert(run.parse().ok()?);
            } else if let Some(events) = line.strip_prefix("undecided ") {
                found.undecided.insert(pair(events)?);
            } else {
                let (from, to) = pair(line)?;
                found.gaps.push(Gap { from, to });
            }
        }
        Some(found)
    }

    /// If the mark cannot be read, everything is one gap.
    fn unknown() -> Self {
        let what = "flows/repairing is damaged: what an interrupted repair found is unknown";
        let what = RepairedDamage { what: what.to_owned(), is_loss: true, is_kept: false };
        Self { gaps: vec![Gap { from: 1, to: u64::MAX }], set_aside: vec![what], ..Self::default() }
    }
}

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
            Marked::Text { .. } | Marked::Damaged(_) => Err(self.damaged(INTERRUPTED.to_owned())),
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

    /// What an incomplete repair had found.
    pub(crate) fn repairing(&self) -> Result<Option<Repairing>, Error> {
        Ok(match REPAIRING.read(&self.dir.join("repairing"))? {
            Marked::Absent => None,
            Marked::Newer(version) => return Err(newer("flows/repairing", version)),
            Marked::Damaged(_) => Some(Repairing::unknown()),
            Marked::Text { text, .. } => {
                Some(Repairing::parse(&text).unwrap_or_else(Repairing::unknown))
            }
        })
    }

    pub(crate) fn set_repairing(&self, found: &Repairing) -> Result<(), Error> {
        let gaps = found.gaps.iter().map(|it| format!("{} {}\n", it.from, it.to));
        let dead = found.dead.iter().map(|it| format!("dead {it}\n"));
        let undecided = found.undecided.iter().map(|(from, to)| format!("undecided {from} {to}\n"));
        let damage = found.set_aside.iter().map(RepairedDamage::line);
        let text: String = gaps.chain(damage).chain(dead).chain(undecided).collect();
        Ok(REPAIRING.write(&self.dir.join("repairing"), &text)?)
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
        DamageKind::NotAFile => return format!("flows/log/{segment} is not a regular file"),
        _ => "the journal ends before a record that was written",
    };
    format!("flows/log/{segment}, offset {offset}: {what}: {records}")
}
