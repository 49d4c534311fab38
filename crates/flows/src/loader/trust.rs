//! Reads files that no other user can have written.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use waypost_quote::{Lines, shell_word, visible};

use super::Problem;

/// The content of a file in `top`, both without links. The file and the folders above it, up to `top`,
/// must belong to this user (or the system), and nobody else may have write access to them.
pub(super) fn read(
    top: &Path,
    path: &Path,
    name: &str,
    bytes_max: usize,
) -> Result<Vec<u8>, Problem> {
    let failed = |error: io::Error| unreadable(name, &error);
    check_folders(top, path, name)?;
    regular(fs::symlink_metadata(path).map_err(failed)?.file_type(), name)?;
    // Another file may have replaced it meanwhile. Opening a FIFO blocks until there is a writer
    // unless non-blocking, and a link could lead anywhere.
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let file = file.map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    regular(metadata.file_type(), name)?;
    check(&metadata, path, name)?;
    let mut bytes = Vec::new();
    file.take(bytes_max as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > bytes_max {
        return Err(Problem::Unreadable(format!("{name} exceeds {bytes_max} bytes")));
    }
    Ok(bytes)
}

/// Checks the folders above a file, up to `top`.
pub(super) fn check_folders(top: &Path, path: &Path, name: &str) -> Result<(), Problem> {
    for folder in path.ancestors().skip(1).take_while(|folder| folder.starts_with(top)) {
        let metadata = fs::metadata(folder).map_err(|error| unreadable(name, &error))?;
        check(&metadata, folder, &format!("a folder above {name}"))?;
    }
    Ok(())
}

pub(super) fn unreadable(name: &str, error: &io::Error) -> Problem {
    Problem::Unreadable(format!("{name}: {error}"))
}

/// Rejects anything but a regular file: reading it could block forever, or act on a device.
fn regular(kind: fs::FileType, name: &str) -> Result<(), Problem> {
    if kind.is_file() {
        return Ok(());
    }
    let what = if kind.is_dir() {
        "a folder"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device or a link"
    };
    Err(Problem::Unreadable(format!(
        "{name} is {what}, not a regular file; remove it, or replace it with a file"
    )))
}

/// Rejects a file or folder that others than this user and the system could have written.
fn check(metadata: &fs::Metadata, path: &Path, what: &str) -> Result<(), Problem> {
    const WRITABLE_BY_ALL: u32 = 0o002;
    const WRITABLE_BY_GROUP: u32 = 0o020;
    const STICKY: u32 = 0o1000;

    let own = rustix::process::geteuid().as_raw();
    if metadata.uid() != own && metadata.uid() != 0 {
        let why = format!("{what} belongs to user {}, not to this user", metadata.uid());
        return Err(Problem::Untrusted(why));
    }
    // In a sticky folder such as /tmp, others cannot replace files that are not theirs. A group
    // with the user's own number belongs to the user alone: systems with such groups create files
    // that the group can write.
    let is_private = metadata.gid() == metadata.uid();
    let others = if is_private { WRITABLE_BY_ALL } else { WRITABLE_BY_ALL | WRITABLE_BY_GROUP };
    let is_open = metadata.mode() & others != 0;
    if is_open && !(metadata.is_dir() && metadata.mode() & STICKY != 0) {
        let path = path.to_string_lossy();
        let word = shell_word(&visible(&path, Lines::Fold)).into_owned();
        let why = format!("{what} is writable by others; fix it with: chmod go-w {word}");
        return Err(Problem::Untrusted(why));
    }
    Ok(())
}
