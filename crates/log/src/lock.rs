//! One process at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

use crate::{Error, Result};

/// The lock on a folder between processes. Dropping it releases the folder. A [`Log`](crate::Log)
/// does not take the lock: its owner may have more in the folder than the log.
///
/// Both the folder itself and a file `lock` in it are locked. The file contains the owner's pid,
/// and keeps out earlier releases, which lock nothing else. The folder stays locked if the file is
/// removed while its owner runs.
#[derive(Debug)]
pub struct FolderLock {
    _folder: File,
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
        let folder = File::open(dir).map_err(|error| Error::io("lock", dir, error))?;
        let mut file = open(&path).map_err(|error| Error::io("lock", &path, error))?;
        for (locked, path) in [(&folder, dir), (&file, &path)] {
            match locked.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::Locked { path: dir.to_path_buf(), pid: owner(&file) });
                }
                Err(TryLockError::Error(error)) => return Err(Error::io("lock", path, error)),
            }
        }
        let mut tell = || {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            writeln!(file, "{}", std::process::id())
        };
        tell().map_err(|error| Error::io("lock", &path, error))?;
        Ok(Self { _folder: folder, _file: file })
    }
}

/// The pid in the file, or `unknown`.
fn owner(mut file: &File) -> String {
    let mut pid = String::new();
    let is_known = file.read_to_string(&mut pid).is_ok() && pid.trim().parse::<u32>().is_ok();
    if is_known { pid.trim().to_owned() } else { "unknown".to_owned() }
}

/// Opens or creates the file. Anything but a plain file without other hard links is left as it is:
/// a link could lead to a file of the user, which would be overwritten.
fn open(path: &Path) -> io::Result<File> {
    let refused = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, why);
    let is_link = path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
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
