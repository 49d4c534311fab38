//! Small files and folders that must survive a power cut.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::{Error, Result};

/// Writes a small file and syncs it. A crash may leave it empty or half written.
pub fn write_synced(path: &Path, bytes: &[u8]) -> Result<()> {
    let write = || {
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|error| Error::io(path, error))
}

/// Syncs a folder, so that files created or renamed in it survive a power cut.
pub fn sync_dir(dir: &Path) -> Result<()> {
    File::open(dir).and_then(|file| file.sync_all()).map_err(|error| Error::io(dir, error))
}

/// Removes a folder if it exists.
pub fn remove_dir(dir: &Path) -> Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io(dir, error)),
        _ => Ok(()),
    }
}

/// Copies the files of a folder to a new one, which a crash may leave incomplete.
pub fn copy_dir(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir(to).map_err(|error| Error::io(to, error))?;
    for entry in fs::read_dir(from).map_err(|error| Error::io(from, error))? {
        let entry = entry.map_err(|error| Error::io(from, error))?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            copy_dir(&path, &target)?;
        } else {
            fs::copy(&path, &target).map_err(|error| Error::io(path, error))?;
        }
    }
    Ok(())
}

/// Bytes of all files in a folder, as far as they can be seen.
pub fn dir_bytes(dir: &Path) -> u64 {
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
