//! The first event that is kept, where retention has moved it.

use std::fs;
use std::path::Path;

use waypost_derived::files::{sync_dir, write_synced};

use crate::{Error, Result};

pub(crate) const NAME: &str = "first";

/// The first event that is kept, 1 if none was ever dropped.
pub(crate) fn read(dir: &Path) -> Result<u64> {
    let path = dir.join(NAME);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(1),
        Err(error) => return Err(Error::io(path, error)),
    };
    text.trim().parse().ok().filter(|it| *it > 0).ok_or_else(|| {
        Error::Damaged(format!(
            "{} does not hold the number of the first event that is kept; remove it, and every event that the log still has is there again",
            path.display()
        ))
    })
}

/// Remembers it, synced, as a whole or not at all.
pub(crate) fn write(dir: &Path, first: u64) -> Result<()> {
    let path = dir.join(NAME);
    let unfinished = dir.join("first.new");
    write_synced(&unfinished, &text(first))?;
    fs::rename(&unfinished, &path).map_err(|it| Error::io(&path, it))?;
    Ok(sync_dir(dir)?)
}

/// What is in the file.
pub(crate) fn text(first: u64) -> Vec<u8> {
    format!("{first}\n").into_bytes()
}
