//! The first retained event, once retention has moved it, and where a replica's keys begin.

use std::fs;
use std::path::{Path, PathBuf};

use waypost_log::{Marked, Marker};
use waypost_projection::files::sync_dir;

use crate::{Error, Result};

pub(crate) const NAME: &str = "first";
/// Version 1 was the first retained event in decimal and a newline, without a checksum. Version 3 has
/// a second number, and is written only for a replica.
const FIRST: Marker = Marker { name: "events-first", version: 3 };
/// Without a second number.
const PLAIN: Marker = Marker { name: "events-first", version: 2 };

/// Where what is kept begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Floor {
    /// The first retained event.
    pub(crate) first: u64,
    /// Idempotency keys of events before this one are forgotten; `None` on a machine on its own,
    /// which forgets them by its own clock.
    pub(crate) keys_from: Option<u64>,
}

impl Default for Floor {
    /// Everything is kept.
    fn default() -> Self {
        Self { first: 1, keys_from: None }
    }
}

impl Floor {
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.trim_end_matches('\n').split('\n');
        let mut next =
            || numbers.next().map(|number| number.parse().ok().filter(|value| *value > 0));
        let (first, keys_from) = (next()??, next());
        let keys_from = match keys_from {
            None => None,
            Some(it) => Some(it?),
        };
        numbers.next().is_none().then_some(Self { first, keys_from })
    }

    /// The contents of the file.
    pub(crate) fn bytes(self) -> Vec<u8> {
        let (marker, text) = self.text();
        marker.bytes(&text)
    }

    fn text(self) -> (Marker, String) {
        let first = self.first;
        match self.keys_from {
            None => (PLAIN, format!("{first}\n")),
            Some(keys_from) => (FIRST, format!("{first}\n{keys_from}\n")),
        }
    }
}

/// What is kept: everything if nothing was ever dropped.
///
/// # Errors
/// [`Error::Damaged`] if the file is damaged, [`Error::Newer`] if a newer release wrote it.
pub(crate) fn read(dir: &Path) -> Result<Floor> {
    let path = dir.join(NAME);
    let marked = FIRST.read(&path).map_err(|error| Error::of_log(&error, dir))?;
    let floor = match &marked {
        Marked::Absent => Some(Floor::default()),
        Marked::Text { version, text } => Floor::parse(text)
            .filter(|value| value.keys_from.is_some() == (*version >= FIRST.version)),
        Marked::Damaged(bytes) => {
            let digits = std::str::from_utf8(bytes).ok();
            let digits = digits.filter(|digit| digit.starts_with(|c: char| c.is_ascii_digit()));
            digits.and_then(Floor::parse).filter(|value| value.keys_from.is_none())
        }
        Marked::Newer(version) => return Err(Error::newer(&path, *version, FIRST)),
    };
    floor.ok_or_else(|| {
        Error::Damaged(format!(
            "{} does not contain the id of the first stored event",
            path.display()
        ))
    })
}

/// Writes and syncs it atomically.
pub(crate) fn write(dir: &Path, floor: Floor) -> Result<()> {
    let (marker, text) = floor.text();
    marker.write(&dir.join(NAME), &text).map_err(|error| Error::of_log(&error, dir))
}

/// The path to which [`set_aside`] moves an unreadable file.
pub(crate) fn aside(dir: &Path) -> PathBuf {
    dir.join("first.damaged")
}

/// Sets an unreadable file aside.
pub(crate) fn set_aside(dir: &Path) -> Result<()> {
    let path = dir.join(NAME);
    fs::rename(&path, aside(dir)).map_err(|error| Error::io(&path, error))?;
    Ok(sync_dir(dir)?)
}
