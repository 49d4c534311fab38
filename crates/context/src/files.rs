//! Files and folders that must survive a power cut.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::Path;

use crate::{Error, Result};

/// Replaces a file atomically and syncs: either the old or the new file exists, whatever happens.
pub(crate) fn replace(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<()> {
    let unfinished = path.with_extension("new");
    let write = || {
        let mut out = BufWriter::new(File::create(&unfinished)?);
        write(&mut out)?;
        out.into_inner()?.sync_all()?;
        fs::rename(&unfinished, path)
    };
    write().map_err(|error| Error::io(path, error))?;
    path.parent().map_or(Ok(()), sync_dir)
}

/// Syncs a folder, so that files created or renamed in it are on disk.
pub(crate) fn sync_dir(dir: &Path) -> Result<()> {
    File::open(dir).and_then(|file| file.sync_all()).map_err(|error| Error::io(dir, error))
}

/// The total size of the files in a folder, as far as they are readable.
pub(crate) fn dir_bytes(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => dir_bytes(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}
