//! Files that the command line names.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

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

/// A file cannot be read: if it does not exist, the status is the same for every command.
pub(crate) fn cannot_read(path: &Path, error: &io::Error) -> Failure {
    let code = match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => exit::NOT_FOUND,
        _ => exit::FAILED,
    };
    Failure::of(error).while_doing(format!("could not read {}", path.display())).with_code(code)
}
