//! Files that the command line names.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::exit;
use crate::failure::{Failure, Result};

/// The file system of pipes without a name, as in `linux/magic.h`.
const PIPE_FS: u64 = 0x5049_5045;

/// Opens a file for reading, with its length. A folder is an error, and so is a FIFO, which could have no writer;
/// `/dev/stdin` and the shell's `<(…)` may be pipes.
pub fn open(path: &Path) -> Result<(File, u64)> {
    let (file, found) = open_at_once(path)?;
    if found.file_type().is_fifo() && !is_unnamed_pipe(&file) {
        return Err(not_regular(path));
    }
    rustix::fs::fcntl_setfl(&file, OFlags::empty())
        .map_err(|error| cannot_read(path, &error.into()))?;
    Ok((file, found.len()))
}

/// Opens what is not a folder, without waiting for a writer.
fn open_at_once(path: &Path) -> Result<(File, Metadata)> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from);
    let opened =
        opened.map(File::from).and_then(|opened| opened.metadata().map(|found| (opened, found)));
    match opened {
        Ok((_, found)) if found.is_dir() => Err(cannot_read(path, &ErrorKind::IsADirectory.into())),
        // That of a socket.
        Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => {
            Err(not_regular(path))
        }
        opened => opened.map_err(|error| cannot_read(path, &error)),
    }
}

/// Whether it is a pipe without a place on a disk, which another program has given to this one.
fn is_unnamed_pipe(file: &File) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|status| u64::try_from(status.f_type) == Ok(PIPE_FS))
}

fn not_regular(path: &Path) -> Failure {
    Failure::new(format!("could not read {}: it is not a regular file", path.display()))
        .with_hint("`-` reads standard input")
}

/// The content of a file.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let (mut file, _) = open(path)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| cannot_read(path, &error))?;
    Ok(bytes)
}

/// The content of a regular file with at most that many bytes. A FIFO or a device is an error, and nothing waits for it.
pub fn read_regular(path: &Path, bytes_max: usize) -> Result<Vec<u8>> {
    Ok(read_regular_found(path, bytes_max)?.0)
}

/// As [`read_regular`], with what the system says about the file that was read.
pub fn read_regular_found(path: &Path, bytes_max: usize) -> Result<(Vec<u8>, Metadata)> {
    let (file, found) = open_at_once(path)?;
    if !found.is_file() {
        return Err(not_regular(path));
    }
    Ok((read_up_to(path, file, bytes_max)?, found))
}

/// The whole input, which must have at most that many bytes.
pub fn read_up_to(path: &Path, input: impl Read, bytes_max: usize) -> Result<Vec<u8>> {
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
pub fn cannot_read(path: &Path, error: &io::Error) -> Failure {
    let code = match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => exit::NOT_FOUND,
        _ => exit::FAILED,
    };
    Failure::of(error).while_doing(format!("could not read {}", path.display())).with_code(code)
}
