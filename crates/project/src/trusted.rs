//! Reads files that no other user can have written.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

use crate::error::{Error, Result};
use crate::project::io_error;

/// Reads a file of the project, by its path relative to the project's folder; `None` if it does not
/// exist. The file and the folders from it up to the project's belong to this user or to root, no
/// other user can write to them, and no symbolic link leads out of the project.
///
/// # Errors
/// [`Error::Untrusted`] if another user could have written it, [`Error::Io`] if it cannot be read.
pub fn read_of_project(root: &Path, file: &str, bytes_max: u64) -> Result<Option<Vec<u8>>> {
    let named = root.join(file);
    let path = match named.canonicalize() {
        Ok(path) => path,
        Err(error) if is_absent(&error) && named.symlink_metadata().is_err() => return Ok(None),
        Err(error) => return Err(io_error("read", &named, error)),
    };
    if !path.starts_with(root) {
        return Err(untrusted(format!(
            "{} is a symbolic link that leads out of the project; replace it with the file",
            named.display()
        )));
    }
    let above = path.ancestors().skip(1);
    for folder in above.take_while(|above| above.starts_with(root)) {
        let metadata = fs::metadata(folder).map_err(|error| io_error("read", folder, error))?;
        check(&metadata, folder)?;
    }
    read_checked(&path, bytes_max).map(Some)
}

/// Reads one of the user's own files, outside of projects; `None` if it does not exist.
pub(crate) fn read_of_user(path: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>> {
    let real = match path.canonicalize() {
        Ok(path) => path,
        Err(error) if is_absent(&error) && path.symlink_metadata().is_err() => return Ok(None),
        Err(error) => return Err(io_error("read", path, error)),
    };
    if let Some(folder) = real.parent() {
        let metadata = fs::metadata(folder).map_err(|error| io_error("read", folder, error))?;
        check(&metadata, folder)?;
    }
    read_checked(&real, bytes_max).map(Some)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Reads a regular file at a path without links. The checks apply to the opened file.
fn read_checked(path: &Path, bytes_max: u64) -> Result<Vec<u8>> {
    let failed = |error| io_error("read", path, error);
    let Some((file, metadata)) = open_regular(path).map_err(failed)? else {
        return Err(not_regular(path));
    };
    check(&metadata, path)?;
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > bytes_max {
        return Err(Error::TooLarge { path: path.to_owned(), bytes_max });
    }
    Ok(bytes)
}

/// Opens a file for reading; `None` for anything else, such as a link, a pipe or a socket.
pub(crate) fn open_regular(path: &Path) -> io::Result<Option<(File, Metadata)>> {
    // Opening a pipe without a writer would block.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let file = match opened {
        Err(_) if path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) => {
            return Ok(None);
        }
        opened => opened?,
    };
    let metadata = file.metadata()?;
    Ok(metadata.is_file().then_some((file, metadata)))
}

/// Rejects entries that belong to another user, and those that another user can write to.
pub(crate) fn check(metadata: &Metadata, path: &Path) -> Result<()> {
    const WRITABLE_BY_ALL: u32 = 0o002;
    const WRITABLE_BY_GROUP: u32 = 0o020;
    const STICKY: u32 = 0o1000;

    let own = rustix::process::geteuid().as_raw();
    let path = path.display();
    if metadata.uid() != own && metadata.uid() != 0 {
        let owner = metadata.uid();
        return Err(untrusted(format!(
            "{path} belongs to user {owner}, not to this user ({own}), and is not used"
        )));
    }
    // A group with the user's own number contains only that user: such systems create files
    // group-writable.
    let is_private = metadata.gid() == metadata.uid();
    let others = if is_private { WRITABLE_BY_ALL } else { WRITABLE_BY_ALL | WRITABLE_BY_GROUP };
    let is_open = metadata.mode() & others != 0;
    // In a sticky folder such as /tmp, users cannot replace each other's entries.
    if is_open && !(metadata.is_dir() && metadata.mode() & STICKY != 0) {
        return Err(untrusted(format!(
            "{path} is writable by other users; fix it with: chmod go-w {path}"
        )));
    }
    Ok(())
}

/// The error for anything but a file in place of one.
pub(crate) fn not_regular(path: &Path) -> Error {
    let path = path.display();
    untrusted(format!("{path} is not a regular file; replace it with one, or remove it"))
}

fn untrusted(message: String) -> Error {
    Error::Untrusted { message }
}
