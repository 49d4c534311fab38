//! The marker of a repair in progress: it contains what the repair found, because the repaired bus
//! no longer shows it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use waypost_log::{Damage, Marked, Marker, RepairedDamage};

use crate::doctor::describe;
use crate::{Error, Result};

const MARKER: Marker = Marker { name: "events-repair", version: 1 };
/// Why a bus with a marker does not open.
pub(crate) const INTERRUPTED: &str = "events/repairing: a repair was interrupted; repair again";

/// What is known about a repair in progress.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Repairing {
    /// The last event that is known.
    pub(crate) reached: u64,
    /// What was damaged.
    pub(crate) set_aside: Vec<RepairedDamage>,
}

impl Repairing {
    /// The marker of an interrupted repair.
    pub(crate) fn read(dir: &Path) -> Result<Option<Self>> {
        let marked = MARKER.read(&path(dir)).map_err(|it| Error::of_log(&it, dir))?;
        let parsed = match marked {
            Marked::Absent => return Ok(None),
            Marked::Newer(version) => return Err(Error::newer(&path(dir), version, MARKER)),
            Marked::Text { text, .. } => parse(&text),
            Marked::Damaged(_) => None,
        };
        Ok(Some(parsed.unwrap_or_else(|| {
            let what = "events/repairing is damaged: what an interrupted repair found is unknown";
            let what = RepairedDamage { what: what.to_owned(), is_loss: true, is_kept: false };
            Self { reached: 0, set_aside: vec![what] }
        })))
    }

    /// Rejects a bus whose repair was interrupted.
    pub(crate) fn refuse(dir: &Path) -> Result<()> {
        match Self::read(dir)? {
            None => Ok(()),
            Some(_) => Err(Error::Damaged(INTERRUPTED.to_owned())),
        }
    }

    /// Adds damage of the log.
    pub(crate) fn found(&mut self, damage: &[Damage]) {
        for damage in damage {
            self.mended(damage.mended(describe(damage)));
        }
    }

    /// Adds a damaged item.
    pub(crate) fn mended(&mut self, mended: RepairedDamage) {
        if !self.set_aside.contains(&mended) {
            self.set_aside.push(mended);
        }
    }

    /// Writes the marker, if there is anything to record.
    pub(crate) fn write(&self, dir: &Path) -> Result<()> {
        if self.set_aside.is_empty() {
            return Ok(());
        }
        let mut text = String::new();
        writeln!(text, "reached {}", self.reached)
            .map_err(|it| Error::io(dir, std::io::Error::other(it)))?;
        text.extend(self.set_aside.iter().map(RepairedDamage::line));
        MARKER.write(&path(dir), &text).map_err(|it| Error::of_log(&it, dir))
    }

    /// Removes the marker: the repair has ended.
    pub(crate) fn remove(dir: &Path) -> Result<()> {
        Marker::remove(&path(dir)).map_err(|it| Error::of_log(&it, dir))
    }
}

fn parse(text: &str) -> Option<Repairing> {
    let (first, rest) = text.split_once('\n')?;
    let reached = first.strip_prefix("reached ")?.parse().ok()?;
    let set_aside = rest.lines().map(RepairedDamage::of_line).collect::<Option<_>>()?;
    Some(Repairing { reached, set_aside })
}

fn path(dir: &Path) -> PathBuf {
    dir.join("repairing")
}
