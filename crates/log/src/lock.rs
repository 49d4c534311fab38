//! One process at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

use crate::{Error, Result};

/// The lock on a folder between processes: a file `lock` in it that contains the owner's pid.
/// Dropping it releases the folder. A [`Log`](crate::Log) does not take the lock: its owner may
/// have more in the folder than the log.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Locks the folder, which must exist.
    ///
    /// # Errors
    /// [`Error::Locked`] if this or another process has locked it, [`Error::Io`] if `lock` is a
    /// link or not a file.
    pub fn take(dir: &Path) -> Result<Self> {
        let path = dir.join("lock");
        let mut file = open(&path).map_err(|it| Error::io("lock", &path, it))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                let known =
                    file.read_to_string(&mut pid).is_ok() && pid.trim().parse::<u32>().is_ok();
                let pid = if known { pid.trim().to_owned() } else { "unknown".to_owned() };
                return Err(Error::Locked { path: dir.to_path_buf(), pid });
            }
            Err(TryLockError::Error(error)) => return Err(Error::io("lock", &path, error)),
        }
        let mut tell = || {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            writeln!(file, "{}", std::process::id())
        };
        tell().map_err(|it| Error::io("lock", &path, it))?;
        Ok(Self { _file: file })
    }
}

/// Opens or creates the file. Anything but a plain file without other hard links is left as it is:
/// a link could lead to a file of the user, which would be overwritten.
fn open(path: &Path) -> io::Result<File> {
    let refused = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, why);
    let is_link = path.symlink_metadata().is_ok_and(|it| it.is_symlink());
    if is_link {
        return Err(refused("it is a symbolic link; remove it"));
    }
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o600)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(refused("it is not a regular file; move it away"));
    }
    if metadata.nlink() > 1 {
        return Err(refused("the file has another hard link; remove this one"));
    }
    Ok(file)
}
