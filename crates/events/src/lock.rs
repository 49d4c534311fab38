//! One process at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use crate::{Error, Result};

/// The lock on a bus's folder; dropping it gives the folder up.
#[derive(Debug)]
pub(crate) struct LockFile {
    _file: File,
}

impl LockFile {
    /// Takes the folder, or tells whose it is.
    pub(crate) fn take(dir: &Path) -> Result<Self> {
        let path = dir.join("lock");
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(|it| Error::io(&path, it))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                let known =
                    file.read_to_string(&mut pid).is_ok() && pid.trim().parse::<u32>().is_ok();
                let pid = if known { pid.trim().to_owned() } else { "unknown".to_owned() };
                return Err(Error::Locked { path: dir.to_path_buf(), pid });
            }
            Err(TryLockError::Error(error)) => return Err(Error::io(&path, error)),
        }
        let mut tell = || {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            writeln!(file, "{}", std::process::id())
        };
        tell().map_err(|it| Error::io(&path, it))?;
        Ok(Self { _file: file })
    }
}
