//! The marker of a repair in progress.

use std::fmt::Write as _;

use waypost_log::{Damage, Marker, Repair, RepairNotes, RepairedDamage};

use crate::doctor::Repaired;
use crate::layout::Folders;
use crate::log_error::log_error;
use crate::{Error, MemoryId, Reached, Result, StoreOptions};

/// A repair in progress.
pub(crate) type Repairing = Repair<Progress>;

/// What is known about a repair in progress, but for the damage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// How far the store had reached.
    pub(crate) known: Reached,
    /// The last record applied to an intact state before the first change.
    pub(crate) applied: Option<u64>,
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

impl RepairNotes for Progress {
    const MARKER: Marker = Marker { name: "memory-repair", version: 1 };
    const STORE: &str = "memory";

    fn read_line(&mut self, line: &str) -> Option<()> {
        let (name, rest) = line.split_once(' ')?;
        let pair = || {
            let (first, second) = rest.split_once(' ')?;
            Some((first.parse::<u64>().ok()?, second.parse::<u64>().ok()?))
        };
        let number = || rest.parse::<u64>().ok();
        match name {
            "known" => self.known = pair().map(|(sequence, id)| Reached { sequence, id })?,
            "applied" => self.applied = Some(number()?),
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

    fn lines(&self) -> String {
        let mut text = format!("known {} {}\n", self.known.sequence, self.known.id);
        let mut add = |line: std::fmt::Arguments<'_>| {
            writeln!(text, "{line}").expect("a string takes any text");
        };
        if let Some(applied) = self.applied {
            add(format_args!("applied {applied}"));
        }
        for (from, to) in &self.gaps {
            add(format_args!("gap {from} {to}"));
        }
        if let Some(salvaged) = self.salvaged {
            add(format_args!("salvaged {salvaged}"));
        }
        if let Some(kept) = self.completed {
            add(format_args!("completed {kept} {}", u8::from(self.is_loss_unnamed)));
        }
        for id in &self.lost {
            add(format_args!("lost {}", id.get()));
        }
        for id in &self.lost_history {
            add(format_args!("history {}", id.get()));
        }
        text
    }

    fn unknown() -> Self {
        Self { gaps: vec![(1, u64::MAX)], ..Self::default() }
    }
}

/// The marker of an interrupted repair.
pub(crate) fn read(folders: &Folders) -> Result<Option<Repairing>> {
    Repairing::read(&folders.memory).map_err(|error| log_error(&error, &folders.memory))
}

/// Why a store with a marker does not open, if there is one.
pub(crate) fn interrupted(folders: &Folders) -> Result<Option<String>> {
    Repairing::interrupted(&folders.memory).map_err(|error| log_error(&error, &folders.memory))
}

/// Rejects a store whose repair was interrupted.
pub(crate) fn refuse_interrupted(folders: &Folders) -> Result<()> {
    interrupted(folders)?.map_or(Ok(()), |why| Err(Error::Damaged(why)))
}

/// Writes the marker, if there is anything to record.
pub(crate) fn write(mark: &Repairing, folders: &Folders, options: &StoreOptions) -> Result<()> {
    if mark.set_aside.is_empty() {
        return Ok(());
    }
    options.changing();
    let memory = &folders.memory;
    std::fs::create_dir_all(memory).map_err(|error| Error::io(memory, error))?;
    mark.write(memory).map_err(|error| log_error(&error, memory))
}

/// Removes the marker: the repair has ended.
pub(crate) fn remove(mark: &Repairing, folders: &Folders, options: &StoreOptions) -> Result<()> {
    if mark.set_aside.is_empty() {
        return Ok(());
    }
    options.changing();
    Repairing::remove(&folders.memory).map_err(|error| log_error(&error, &folders.memory))
}

/// Adds damage of the `format` file and of the log.
pub(crate) fn found(mark: &mut Repairing, format: Option<String>, damage: &[Damage]) {
    if let Some(what) = format {
        mark.add(RepairedDamage { what, is_loss: false, is_kept: false });
    }
    mark.add_all(damage, "sequence");
    let progress = &mut mark.notes;
    for gap in damage.iter().map(|damage| (damage.from, damage.to)) {
        if !progress.gaps.contains(&gap) {
            progress.gaps.push(gap);
            // The log has been damaged since, perhaps its completion.
            progress.salvaged = None;
            progress.completed = None;
        }
    }
}

impl Progress {
    /// Raises how far the store is known to have reached.
    pub(crate) fn raise(&mut self, known: Reached) {
        self.known.sequence = self.known.sequence.max(known.sequence);
        self.known.id = self.known.id.max(known.id);
    }

    /// Takes in that the log has been completed, and what is to be reported.
    pub(crate) fn complete(&mut self, repaired: &Repaired, is_loss_unnamed: bool) {
        self.known.id = self.known.id.max(repaired.reached.id);
        self.completed = Some(repaired.kept_records);
        self.is_loss_unnamed = is_loss_unnamed;
        self.lost.clone_from(&repaired.lost);
        self.lost_history.clone_from(&repaired.lost_history);
    }
}
