//! One process at a time, and one layout.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::state::{sync_dir, write_synced};
use crate::{Error, Result};

/// The version of the data folder's layout.
const FORMAT: u32 = 1;
const FORMAT_NAME: &str = "waypost-data";

/// The lock on a data folder; dropping it gives the folder up.
#[derive(Debug)]
pub(crate) struct LockFile {
    _file: File,
}

impl LockFile {
    /// Takes the folder, or tells whose it is.
    pub(crate) fn take(data: &Path) -> Result<Self> {
        let path = data.join("lock");
        let io = |it| Error::io(&path, it);
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                let read = file.read_to_string(&mut pid);
                let pid = pid.trim();
                let known =
                    read.is_ok() && !pid.is_empty() && pid.bytes().all(|it| it.is_ascii_digit());
                let pid = if known { pid } else { "unknown" };
                return Err(Error::Locked { path: data.to_path_buf(), pid: pid.to_owned() });
            }
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        file.set_len(0).map_err(io)?;
        file.seek(SeekFrom::Start(0)).map_err(io)?;
        writeln!(file, "{}", std::process::id()).map_err(io)?;
        Ok(Self { _file: file })
    }
}

/// Checks the layout's version; a new folder gets the present one.
pub(crate) fn check_format(data: &Path) -> Result<()> {
    let path = data.join("format");
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            write_synced(&path, format!("{FORMAT_NAME} {FORMAT}\n").as_bytes())?;
            return sync_dir(data);
        }
        Err(error) => return Err(Error::io(path, error)),
    };
    let found = text.trim();
    let version = found.strip_prefix(FORMAT_NAME).and_then(|it| it.trim().parse::<u32>().ok());
    match version {
        Some(FORMAT) => Ok(()),
        Some(version) if version > FORMAT => {
            Err(Error::Newer { found: found.to_owned(), known: FORMAT })
        }
        // A power cut in the first start can leave an empty file.
        None if found.is_empty() => {
            write_synced(&path, format!("{FORMAT_NAME} {FORMAT}\n").as_bytes())
        }
        _ => Err(Error::Damaged(format!(
            "{} does not name a format of this store; it should say `{FORMAT_NAME} {FORMAT}`",
            path.display()
        ))),
    }
}
