//! The project folder: nothing is read outside it.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::{Skip, Stat};
use crate::{Error, Result};

/// An open project folder. Everything read through it is below it, and no symbolic link in a path
/// is followed, not even one that is created meanwhile.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    dir: OwnedFd,
}

impl Root {
    /// Opens a folder, following links to it.
    ///
    /// # Errors
    ///
    /// If the folder does not exist, or is `/`: a whole machine is not a project.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let canonical = path.canonicalize().map_err(|source| Error::io(path, source))?;
        if canonical.parent().is_none() {
            let why = "the root of the file system is no project";
            return Err(Error::io(canonical, io::Error::new(io::ErrorKind::InvalidInput, why)));
        }
        let dir = rustix::fs::open(&canonical, FOLDER, Mode::empty())
            .map_err(|errno| Error::io(&canonical, errno.into()))?;
        Ok(Self { path: canonical, dir })
    }

    /// Its path, absolute and without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the folder at a relative path, `""` being the root itself, for listing.
    pub(crate) fn folder(&self, path: &str) -> Result<OwnedFd, Skip> {
        self.open_beneath(path, FOLDER).map_err(skip)
    }

    /// Opens a folder only as the base of lookups, which notifies no watcher: a query does lookups
    /// in many folders, and this program itself watches those of a project.
    pub(super) fn place(&self, path: &str) -> Result<OwnedFd, Skip> {
        self.open_beneath(path, PLACE).map_err(skip)
    }

    /// Opens a folder part by part: no part may be a link.
    fn open_beneath(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let mut dir = rustix::fs::openat(&self.dir, ".", flags, Mode::empty())?;
        for part in path.split_terminator('/') {
            dir = match rustix::fs::openat(&dir, part, flags, Mode::empty()) {
                Err(Errno::NOTDIR) if is_link(&dir, part) => return Err(Errno::LOOP),
                other => other?,
            };
        }
        Ok(dir)
    }

    /// The state of a path, without following links.
    pub(crate) fn stat(&self, path: &str) -> Result<(FileType, Stat), Skip> {
        let (dir, name) = split(path).ok_or(Skip::Ignored)?;
        stat_at(self.place(dir)?, OsStr::new(name))
    }

    /// Opens a regular file for reading, without ever blocking.
    pub(crate) fn file(&self, path: &str) -> Result<OwnedFd, Skip> {
        let (dir, name) = split(path).ok_or(Skip::Ignored)?;
        let dir = self.place(dir)?;
        // Opening a device can have effects, so it is not even opened.
        regular(stat_at(&dir, OsStr::new(name))?.0)?;
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let file = rustix::fs::openat(&dir, name, flags, Mode::empty()).map_err(skip)?;
        let stat = rustix::fs::fstat(&file).map_err(skip)?;
        regular(FileType::from_raw_mode(stat.st_mode))?;
        Ok(file)
    }
}

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

#[cfg(any(target_os = "linux", target_os = "android"))]
const PLACE: OFlags = FOLDER.union(OFlags::PATH);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const PLACE: OFlags = FOLDER;

/// Splits a relative path into its folder, `""` for the root, and its name; `None` if it is absolute,
/// contains `..`, or is not normalized.
pub(super) fn split(path: &str) -> Option<(&str, &str)> {
    let plain =
        |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains('\0');
    if !path.split('/').all(plain) {
        return None;
    }
    Some(path.rsplit_once('/').unwrap_or(("", path)))
}

/// Whether an open folder can also be listed.
pub(super) fn is_listable(dir: &OwnedFd) -> Result<(), Skip> {
    rustix::fs::accessat(dir, ".", Access::READ_OK, AtFlags::EACCESS).map_err(skip)
}

/// The state of a name in an open folder, without following links.
pub(super) fn stat_at(dir: impl AsFd, name: &OsStr) -> Result<(FileType, Stat), Skip> {
    let stat = rustix::fs::statat(dir, name.as_bytes(), AtFlags::SYMLINK_NOFOLLOW).map_err(skip)?;
    Ok((FileType::from_raw_mode(stat.st_mode), state(&stat)))
}

/// The state of an open file.
pub(crate) fn state(stat: &rustix::fs::Stat) -> Stat {
    let seconds: i64 = stat.st_mtime;
    let nanoseconds = i64::try_from(stat.st_mtime_nsec).unwrap_or(0);
    Stat {
        bytes: u64::try_from(stat.st_size).unwrap_or(0),
        modified_ns: seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds),
        inode: stat.st_ino,
    }
}

/// Rejects anything but a regular file.
pub(super) fn regular(kind: FileType) -> Result<(), Skip> {
    match kind {
        FileType::RegularFile => Ok(()),
        FileType::Symlink => Err(Skip::Link),
        // A folder has replaced the file.
        FileType::Directory => Err(Skip::Gone),
        _ => Err(Skip::Special),
    }
}

fn is_link(dir: &OwnedFd, name: &str) -> bool {
    matches!(stat_at(dir, OsStr::new(name)), Ok((FileType::Symlink, _)))
}

/// The reason for skipping a file after a system error.
pub(crate) fn skip(errno: Errno) -> Skip {
    match errno {
        Errno::NOENT | Errno::NOTDIR => Skip::Gone,
        Errno::LOOP => Skip::Link,
        // A device without a driver, or a socket.
        Errno::NXIO | Errno::OPNOTSUPP => Skip::Special,
        Errno::ILSEQ | Errno::NAMETOOLONG => Skip::Name,
        _ => Skip::Unreadable,
    }
}
