//! One process at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use crate::{Error, Result};

/// The lock on a folder, between processes: a file `lock` in it that has the owner's pid. Dropping
/// it gives the folder up. A [`Log`](crate::Log) does not take one by itself: its owner may have
/// more in the folder than the log.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Takes the folder, which must be there.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process, or another lock of this one, has it.
    pub fn take(dir: &Path) -> Result<Self> {
        let path = dir.join("lock");
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(|it| Error::io("lock", &path, it))?;
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
