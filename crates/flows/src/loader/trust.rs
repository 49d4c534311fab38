//! Reads files that no other user can have written.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use waypost_quote::{Lines, shell_word, visible};

/// Why a file is not read.
pub(super) enum Distrust {
    Untrusted(String),
    Unreadable(String),
}

/// The text of a file in `folder`. The file and the folders above it, up to the project's own, must
/// belong to this user (or the system), nobody else may have write access to them, and the file
/// must be in the folder itself, not behind a link that leads out.
pub(super) fn read_trusted(
    folder: &Path,
    name: &str,
    bytes_max: usize,
) -> Result<String, Distrust> {
    let unreadable = |it: std::io::Error| Distrust::Unreadable(format!("{name}: {it}"));
    let folder = folder.canonicalize().map_err(unreadable)?;
    let path = folder.join(name).canonicalize().map_err(unreadable)?;
    if path.parent() != Some(&folder) {
        let why =
            format!("{name} is a link that leads out of the folder; replace it with the file");
        return Err(Distrust::Untrusted(why));
    }
    // The folder of flows, the project's hidden folder, and the project.
    for above in folder.ancestors().take(3) {
        let metadata = fs::metadata(above).map_err(unreadable)?;
        check(&metadata, above, &format!("a folder above {name}"))?;
    }
    let kind = fs::symlink_metadata(&path).map_err(unreadable)?.file_type();
    regular(kind, name)?;
    // Another file may have replaced it meanwhile. Opening a FIFO blocks until there is a writer
    // unless non-blocking, and a link could lead anywhere.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::open(&path, flags, Mode::empty()).map_err(|it| unreadable(it.into()))?;
    let file = File::from(file);
    let metadata = file.metadata().map_err(unreadable)?;
    regular(metadata.file_type(), name)?;
    check(&metadata, &path, name)?;
    let mut bytes = Vec::new();
    let limit = bytes_max as u64 + 1;
    file.take(limit).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > bytes_max {
        let why = format!("{name} exceeds {bytes_max} bytes");
        return Err(Distrust::Unreadable(why));
    }
    String::from_utf8(bytes).map_err(|_| Distrust::Unreadable(format!("{name} is not valid UTF-8")))
}

/// Rejects anything but a regular file: reading it could block forever, or act on a device.
fn regular(kind: fs::FileType, name: &str) -> Result<(), Distrust> {
    if kind.is_file() {
        return Ok(());
    }
    let what = if kind.is_dir() {
        "a folder"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_symlink() {
        "a symbolic link"
    } else {
        "a device"
    };
    let why = format!("{name} is {what}, not a regular file; remove it, or replace it with a file");
    Err(Distrust::Unreadable(why))
}

/// Rejects a file or folder that others than this user and the system could have written.
pub(super) fn check(metadata: &fs::Metadata, path: &Path, what: &str) -> Result<(), Distrust> {
    const WRITABLE_BY_ALL: u32 = 0o002;
    const WRITABLE_BY_GROUP: u32 = 0o020;
    const STICKY: u32 = 0o1000;

    let own = rustix::process::geteuid().as_raw();
    if metadata.uid() != own && metadata.uid() != 0 {
        let why = format!("{what} belongs to user {}, not to this user", metadata.uid());
        return Err(Distrust::Untrusted(why));
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
        return Err(Distrust::Untrusted(why));
    }
    Ok(())
}
