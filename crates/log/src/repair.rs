//! The marker of a repair in progress, beside a log: the repaired log does not show any more what the
//! repair has found.

use std::path::{Path, PathBuf};

use crate::{Damage, Error, Marked, Marker, Result};

/// The name of the marker in the folder of a store.
const FILE: &str = "repairing";

/// What a store notes about its repair beside the damage.
pub trait RepairNotes: Default {
    /// The kind of the marker.
    const MARKER: Marker;
    /// The folder of the store in a data folder.
    const STORE: &str;

    /// Takes in a line, without its line break; `None` if it is no note.
    fn read_line(&mut self, line: &str) -> Option<()>;

    /// The notes as lines, each with its line break.
    fn lines(&self) -> String;

    /// What holds if the marker is damaged.
    fn unknown() -> Self {
        Self::default()
    }
}

/// A repair in progress.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repair<N> {
    /// What was damaged, and whether records were lost.
    pub set_aside: Vec<RepairedDamage>,
    /// What else the store notes.
    pub notes: N,
}

impl<N: RepairNotes> Repair<N> {
    /// The interrupted repair of the store in `dir`. If its marker is damaged, that counts as a loss.
    ///
    /// # Errors
    /// [`Error::Newer`] if a newer release began it; otherwise if the marker cannot be read.
    pub fn read(dir: &Path) -> Result<Option<Self>> {
        let text = match N::MARKER.read(&path(dir))? {
            Marked::Absent => return Ok(None),
            Marked::Newer(version) => {
                let segment = format!("{}/{FILE}", N::STORE);
                return Err(Error::Newer { segment, version, supported: N::MARKER.version });
            }
            Marked::Text { text, .. } => Some(text),
            Marked::Damaged(_) => None,
        };
        Ok(Some(text.and_then(|text| Self::parse(&text)).unwrap_or_else(|| {
            let store = N::STORE;
            let what =
                format!("{store}/{FILE} is damaged: what an interrupted repair found is unknown");
            let what = RepairedDamage { what, is_loss: true, is_kept: false };
            Self { set_aside: vec![what], notes: N::unknown() }
        })))
    }

    /// Why the store in `dir` does not open, if its repair was interrupted.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn interrupted(dir: &Path) -> Result<Option<String>> {
        let why = format!("{}/{FILE}: a repair was interrupted; repair again", N::STORE);
        Ok(Self::read(dir)?.map(|_| why))
    }

    /// Adds a damaged item, unless it is known.
    pub fn add(&mut self, damaged: RepairedDamage) {
        if !self.set_aside.contains(&damaged) {
            self.set_aside.push(damaged);
        }
    }

    /// Adds damage of the log, which calls its records `record`.
    pub fn add_all(&mut self, damage: &[Damage], record: &str) {
        let folder = format!("{}/log", N::STORE);
        for damaged in damage {
            self.add(damaged.repaired(&folder, record));
        }
    }

    /// Writes the marker. It is on disk when this returns.
    ///
    /// # Errors
    /// If a file system operation fails.
    pub fn write(&self, dir: &Path) -> Result<()> {
        let mut text = self.notes.lines();
        text.extend(self.set_aside.iter().map(RepairedDamage::line));
        N::MARKER.write(&path(dir), &text)
    }

    /// Removes the marker: the repair has ended.
    ///
    /// # Errors
    /// If a file system operation fails.
    pub fn remove(dir: &Path) -> Result<()> {
        Marker::remove(&path(dir))
    }

    fn parse(text: &str) -> Option<Self> {
        let mut repair = Self::default();
        for line in text.lines() {
            match RepairedDamage::of_line(line) {
                Some(damaged) => repair.set_aside.push(damaged),
                None => repair.notes.read_line(line)?,
            }
        }
        Some(repair)
    }
}

fn path(dir: &Path) -> PathBuf {
    dir.join(FILE)
}

/// What a repair did about one damaged place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairedDamage {
    /// A description of the damage.
    pub what: String,
    /// Whether records may be lost.
    pub is_loss: bool,
    /// Whether the damaged bytes, or what was in the place of a file, are in `*.damaged` next to the
    /// log.
    pub is_kept: bool,
}

impl RepairedDamage {
    /// Encodes this as a line of the [`Marker`](crate::Marker) of a repair in progress.
    fn line(&self) -> String {
        let Self { what, is_loss, is_kept } = self;
        let what = what.replace(char::is_control, " ");
        format!("mended {} {} {what}\n", u8::from(*is_loss), u8::from(*is_kept))
    }

    /// Decodes a line that [`Self::line`] wrote, without its line break.
    fn of_line(line: &str) -> Option<Self> {
        let flag = |text: &str| ["0", "1"].iter().position(|flag| *flag == text).map(|at| at == 1);
        let (is_loss, rest) = line.strip_prefix("mended ")?.split_once(' ')?;
        let (is_kept, what) = rest.split_once(' ')?;
        Some(Self { what: what.to_owned(), is_loss: flag(is_loss)?, is_kept: flag(is_kept)? })
    }
}
