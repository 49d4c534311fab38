//! The first retained event, once retention has moved it. Local to this machine: each machine trims
//! its own copy of the log by its own settings.

use std::fs;
use std::path::{Path, PathBuf};

use waypost_log::{Marked, Marker};
use waypost_projection::files::sync_dir;

use crate::{Error, Result};

pub(crate) const NAME: &str = "first";
/// Version 1 was the number in decimal and a newline, without a checksum.
const FIRST: Marker = Marker { name: "events-first", version: 2 };

/// The first retained event, 1 if none was ever dropped.
///
/// # Errors
/// [`Error::Damaged`] if the file is damaged, [`Error::Newer`] if a newer release wrote it.
pub(crate) fn read(dir: &Path) -> Result<u64> {
    let path = dir.join(NAME);
    let number = |text: &str| text.trim_end_matches('\n').parse().ok().filter(|it| *it > 0);
    let marked = FIRST.read(&path).map_err(|it| Error::of_log(&it, dir))?;
    let first = match &marked {
        Marked::Absent => Some(1),
        Marked::Text { text, .. } => number(text),
        Marked::Damaged(bytes) => {
            let digits = std::str::from_utf8(bytes).ok();
            digits.filter(|it| it.starts_with(|it: char| it.is_ascii_digit())).and_then(number)
        }
        Marked::Newer(version) => return Err(Error::newer(&path, *version, FIRST)),
    };
    first.ok_or_else(|| {
        Error::Damaged(format!(
            "{} does not contain the id of the first stored event",
            path.display()
        ))
    })
}

/// Writes and syncs it atomically.
pub(crate) fn write(dir: &Path, first: u64) -> Result<()> {
    FIRST.write(&dir.join(NAME), &format!("{first}\n")).map_err(|it| Error::of_log(&it, dir))
}

/// The path to which [`set_aside`] moves an unreadable file.
pub(crate) fn aside(dir: &Path) -> PathBuf {
    dir.join("first.damaged")
}

/// Sets an unreadable file aside.
pub(crate) fn set_aside(dir: &Path) -> Result<()> {
    let path = dir.join(NAME);
    fs::rename(&path, aside(dir)).map_err(|it| Error::io(&path, it))?;
    Ok(sync_dir(dir)?)
}

/// The contents of the file.
pub(crate) fn text(first: u64) -> Vec<u8> {
    FIRST.bytes(&format!("{first}\n"))
}
