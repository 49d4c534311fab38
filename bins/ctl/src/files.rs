//! Files that the command line names.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use crate::exit;
use crate::failure::{Failure, Result};

/// Opens a file to read, with its length. A folder is none.
pub(crate) fn open(path: &Path) -> Result<(File, u64)> {
    let opened = File::open(path).and_then(|it| it.metadata().map(|found| (it, found)));
    let (file, found) = opened.map_err(|error| cannot_read(path, &error))?;
    if found.is_dir() {
        return Err(cannot_read(path, &ErrorKind::IsADirectory.into()));
    }
    Ok((file, found.len()))
}

/// All of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    let (mut file, _) = open(path)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| cannot_read(path, &error))?;
    Ok(bytes)
}

/// That a file cannot be read, and why: the same status for every command if it is not there.
pub(crate) fn cannot_read(path: &Path, error: &io::Error) -> Failure {
    let code = match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => exit::NOT_FOUND,
        _ => exit::FAILED,
    };
    Failure::of(error).while_doing(format!("could not read {}", path.display())).with_code(code)
}
