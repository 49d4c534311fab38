//! The marker of a repair in progress: it contains what the repair found, because the repaired log
//! no longer shows it.

use std::fmt::Write as _;
use std::path::PathBuf;

use waypost_log::{Damage, Marked, Marker, RepairedDamage};

use crate::doctor::Repaired;
use crate::layout::Folders;
use crate::log_error::{LOG, log_error};
use crate::{Error, MemoryId, Reached, Result, StoreOptions};

const MARKER: Marker = Marker { name: "memory-repair", version: 1 };
/// Why a store with a marker does not open.
pub(crate) const INTERRUPTED: &str = "memory/repairing: a repair was interrupted; repair again";

/// What is known about a repair in progress.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Repairing {
    /// How far the store had reached.
    pub(crate) known: Reached,
    /// The last record applied to an intact state before the first change.
    pub(crate) applied: Option<u64>,
    /// What was damaged.
    pub(crate) set_aside: Vec<RepairedDamage>,
    /// The first and the last record of each damaged range of the log, lost or not.
    pub(crate) gaps: Vec<(u64, u64)>,
    /// Where the log ended after the salvage; a completion follows.
    pub(crate) salvaged: Option<u64>,
    /// The number of kept records, once the log is completed; the state is no longer needed then.
    pub(crate) completed: Option<u64>,
    /// Whether the state could not tell what the lost records were about.
    pub(crate) is_loss_unnamed: bool,
    /// As in the report.
    pub(crate) lost: Vec<MemoryId>,
    /// As in the report.
    pub(crate) lost_history: Vec<MemoryId>,
}

impl Repairing {
    /// The marker of an interrupted repair.
    pub(crate) fn read(folders: &Folders) -> Result<Option<Self>> {
        let marked = MARKER.read(&path(folders)).map_err(|it| log_error(&it, &folders.memory))?;
        let parsed = match marked {
            Marked::Absent => return Ok(None),
            Marked::Newer(version) => {
                let found = format!("memory/repairing with version {version}");
                return Err(Error::Newer { found, known: MARKER.version });
            }
            Marked::Text { text, .. } => {
                let mut mark = Self::default();
                text.lines().try_for_each(|it| mark.parse(it)).map(|()| mark)
            }
            Marked::Damaged(_) => None,
        };
        Ok(Some(parsed.unwrap_or_else(|| {
            let what = "memory/repairing is damaged: what an interrupted repair found is unknown";
            let what = RepairedDamage { what: what.to_owned(), is_loss: true, is_kept: false };
            Self { set_aside: vec![what], gaps: vec![(1, u64::MAX)], ..Self::default() }
        })))
    }

    /// Rejects a store whose repair was interrupted.
    pub(crate) fn refuse(folders: &Folders) -> Result<()> {
        match Self::read(folders)? {
            None => Ok(()),
            Some(_) => Err(Error::Damaged(INTERRUPTED.to_owned())),
        }
    }

    fn parse(&mut self, line: &str) -> Option<()> {
        let (name, rest) = line.split_once(' ')?;
        let pair = || {
            let (first, second) = rest.split_once(' ')?;
            Some((first.parse::<u64>().ok()?, second.parse::<u64>().ok()?))
        };
        let number = || rest.parse::<u64>().ok();
        match name {
            "known" => self.known = pair().map(|(sequence, id)| Reached { sequence, id })?,
            "applied" => self.applied = Some(number()?),
            "mended" => self.set_aside.push(RepairedDamage::of_line(line)?),
            "gap" => self.gaps.push(pair()?),
            "salvaged" => self.salvaged = Some(number()?),
            "completed" => {
                let (kept, unnamed) = pair()?;
                self.completed = Some(kept);
                self.is_loss_unnamed = unnamed > 0;
            }
            "lost" => self.lost.push(MemoryId::new(number()?)?),
            "history" => self.lost_history.push(MemoryId::new(number()?)?),
            _ => return None,
        }
        Some(())
    }

    fn text(&self) -> std::result::Result<String, std::fmt::Error> {
        let mut text = String::new();
        writeln!(text, "known {} {}", self.known.sequence, self.known.id)?;
        if let Some(applied) = self.applied {
            writeln!(text, "applied {applied}")?;
        }
        text.extend(self.set_aside.iter().map(RepairedDamage::line));
        for (from, to) in &self.gaps {
            writeln!(text, "gap {from} {to}")?;
        }
        if let Some(salvaged) = self.salvaged {
            writeln!(text, "salvaged {salvaged}")?;
        }
        if let Some(kept) = self.completed {
            writeln!(text, "completed {kept} {}", u8::from(self.is_loss_unnamed))?;
        }
        for id in &self.lost {
            writeln!(text, "lost {}", id.get())?;
        }
        for id in &self.lost_history {
            writeln!(text, "history {}", id.get())?;
        }
        Ok(text)
    }

    /// Raises how far the store is known to have reached.
    pub(crate) fn raise(&mut self, known: Reached) {
        self.known.sequence = self.known.sequence.max(known.sequence);
        self.known.id = self.known.id.max(known.id);
    }

    /// Adds damage of the `format` file and of the log.
    pub(crate) fn found(&mut self, format: Option<String>, damage: &[Damage]) {
        let format = format.map(|what| RepairedDamage { what, is_loss: false, is_kept: false });
        let of_log = damage.iter().map(|it| it.mended(it.describe(LOG)));
        for mended in format.into_iter().chain(of_log) {
            if !self.set_aside.contains(&mended) {
                self.set_aside.push(mended);
            }
        }
        for gap in damage.iter().map(|it| (it.from, it.to)) {
            if !self.gaps.contains(&gap) {
                self.gaps.push(gap);
                // The log has been damaged since, perhaps its completion.
                self.salvaged = None;
                self.completed = None;
            }
        }
    }

    /// Takes in that the log has been completed, and what is to be reported.
    pub(crate) fn complete(&mut self, repaired: &Repaired, is_loss_unnamed: bool) {
        self.known.id = self.known.id.max(repaired.reached.id);
        self.completed = Some(repaired.kept_records);
        self.is_loss_unnamed = is_loss_unnamed;
        self.lost.clone_from(&repaired.lost);
        self.lost_history.clone_from(&repaired.lost_history);
    }

    /// Writes the marker, if there is anything to record.
    pub(crate) fn write(&self, folders: &Folders, options: &StoreOptions) -> Result<()> {
        if self.set_aside.is_empty() {
            return Ok(());
        }
        options.changing();
        let memory = &folders.memory;
        std::fs::create_dir_all(memory).map_err(|it| Error::io(memory, it))?;
        let text = self.text().map_err(|it| Error::io(memory, std::io::Error::other(it)))?;
        MARKER.write(&path(folders), &text).map_err(|it| log_error(&it, memory))
    }

    /// Removes the marker: the repair has ended.
    pub(crate) fn remove(&self, folders: &Folders, options: &StoreOptions) -> Result<()> {
        if self.set_aside.is_empty() {
            return Ok(());
        }
        options.changing();
        Marker::remove(&path(folders)).map_err(|it| log_error(&it, &folders.memory))
    }
}

fn path(folders: &Folders) -> PathBuf {
    folders.memory.join("repairing")
}
