//! Files that the command line names.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::exit;
use crate::failure::{Failure, Result};

/// Opens a file for reading, with its length. A folder is an error.
pub(crate) fn open(path: &Path) -> Result<(File, u64)> {
    let opened = File::open(path).and_then(|it| it.metadata().map(|found| (it, found)));
    let (file, found) = opened.map_err(|error| cannot_read(path, &error))?;
    if found.is_dir() {
        return Err(cannot_read(path, &ErrorKind::IsADirectory.into()));
    }
    Ok((file, found.len()))
}

/// The content of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    let (mut file, _) = open(path)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| cannot_read(path, &error))?;
    Ok(bytes)
}

/// The content of a regular file with at most that many bytes. A FIFO or a device is an error, and nothing waits for it.
pub(crate) fn read_regular(path: &Path, bytes_max: usize) -> Result<Vec<u8>> {
    let check = |found: io::Result<Metadata>| match found {
        Err(error) => Err(cannot_read(path, &error)),
        Ok(found) if found.is_dir() => Err(cannot_read(path, &ErrorKind::IsADirectory.into())),
        Ok(found) if found.is_file() => Ok(()),
        Ok(_) => {
            let why = format!("could not read {}: it is not a regular file", path.display());
            Err(Failure::new(why).with_hint("`-` reads standard input"))
        }
    };
    check(path.metadata())?;
    // Another file may have replaced it meanwhile.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty());
    let file = File::from(opened.map_err(|error| cannot_read(path, &error.into()))?);
    check(file.metadata())?;
    read_up_to(path, file, bytes_max)
}

/// The whole input, which must have at most that many bytes.
pub(crate) fn read_up_to(path: &Path, input: impl Read, bytes_max: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = input.take(bytes_max as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| cannot_read(path, &error))?;
    if bytes.len() > bytes_max {
        let why = format!("could not read {}: it exceeds {bytes_max} bytes", path.display());
        return Err(Failure::new(why));
    }
    Ok(bytes)
}

/// A file cannot be read: if it does not exist, the status is the same for every command.
pub(crate) fn cannot_read(path: &Path, error: &io::Error) -> Failure {
    let code = match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => exit::NOT_FOUND,
        _ => exit::FAILED,
    };
    Failure::of(error).while_doing(format!("could not read {}", path.display())).with_code(code)
}
