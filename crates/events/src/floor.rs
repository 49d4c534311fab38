//! The first event that is kept, where retention has moved it.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use crate::{Error, Result};

const NAME: &str = "first";

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
    let write = || {
        let mut file = File::create(&unfinished)?;
        writeln!(file, "{first}")?;
        file.sync_all()?;
        fs::rename(&unfinished, &path)?;
        File::open(dir)?.sync_all()
    };
    write().map_err(|it| Error::io(&path, it))
}
