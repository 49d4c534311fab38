//! An incomplete backup: an unnamed file if the file system supports these, so that nothing remains
//! if the process is killed.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use waypost_cli::failure::{Failure, Result};

use super::{already_exists, cannot, parent, sync_folder};

const PART: &str = "part";

/// An incomplete file that only this user can read.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) file: File,
    /// Its name, if it has one.
    part: Option<PathBuf>,
}

impl Draft {
    /// Creates a draft in the folder of the target. Removes named drafts of dead processes: those
    /// for the same target, or, if a folder was named, those of every backup in it.
    pub(super) fn beside(target: &Path, in_folder: bool) -> Result<Self> {
        let leftovers = if in_folder { parent(target).join("waypost-") } else { target.to_owned() };
        remove_leftovers(&leftovers);
        if let Some(file) = unnamed(parent(target)) {
            return Ok(Self { file, part: None });
        }
        let part = name_beside(target, PART)?;
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(&part);
        let file = file.map_err(|error| cannot("create", &part, &error))?;
        Ok(Self { file, part: Some(part) })
    }

    /// Gives the complete backup its name, unless the name exists by now.
    pub(super) fn publish(&self, target: &Path) -> Result<()> {
        let linked = match &self.part {
            None => link_unnamed(&self.file, target),
            Some(part) => fs::hard_link(part, target),
        };
        match (linked, &self.part) {
            (Ok(()), _) => {}
            (Err(error), _) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(already_exists(target));
            }
            // Not every file system has hard links.
            (Err(_), Some(_)) if fs::symlink_metadata(target).is_ok() => {
                return Err(already_exists(target));
            }
            (Err(_), Some(part)) => {
                fs::rename(part, target).map_err(|error| cannot("create", target, &error))?;
            }
            (Err(error), None) => return Err(cannot("create", target, &error)),
        }
        sync_folder(parent(target)).map_err(|error| cannot("sync", target, &error))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            // A renamed file no longer exists under this name.
            drop(fs::remove_file(part));
        }
    }
}

/// An unnamed file; `None` if the file system does not support these, or could not name one later.
fn unnamed(folder: &Path) -> Option<File> {
    if !Path::new("/proc/self/fd").is_dir() {
        return None;
    }
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, folder, flags, Mode::RUSR | Mode::WUSR).ok().map(File::from)
}

fn link_unnamed(file: &File, target: &Path) -> io::Result<()> {
    let opened = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(rustix::fs::linkat(CWD, opened, CWD, target, AtFlags::SYMLINK_FOLLOW)?)
}

/// A name next to the target that contains this process's id.
pub(super) fn name_beside(target: &Path, kind: &str) -> Result<PathBuf> {
    let mut name = target
        .file_name()
        .ok_or_else(|| Failure::usage(format!("{} has no file name", target.display())))?
        .to_owned();
    name.push(format!(".{}.{kind}", std::process::id()));
    Ok(target.with_file_name(name))
}

/// Removes drafts that killed processes have left under names of [`name_beside`], for targets with
/// this prefix.
fn remove_leftovers(target: &Path) {
    let begin = target.file_name().unwrap_or_default();
    for entry in fs::read_dir(parent(target)).into_iter().flatten().flatten() {
        if left_by(&entry.file_name(), begin).is_some_and(is_gone) {
            // A file that cannot be removed does no harm.
            drop(fs::remove_file(entry.path()));
        }
    }
}

/// The process in a name from [`name_beside`].
fn left_by(name: &OsStr, begin: &OsStr) -> Option<Pid> {
    let rest = name.to_str()?.strip_prefix(begin.to_str()?)?;
    let (middle, pid) = rest.strip_suffix(PART)?.strip_suffix('.')?.rsplit_once('.')?;
    let is_whole = middle.is_empty() || begin == "waypost-" && middle.ends_with(".backup");
    Pid::from_raw(pid.parse().ok().filter(|value| is_whole && *value > 0)?)
}

/// The process with this id has ended. This process may have its id.
fn is_gone(pid: Pid) -> bool {
    pid == rustix::process::getpid() || test_kill_process(pid) == Err(Errno::SRCH)
}
