//! Files and folders that no other user can have created, and can change or read.
//!
//! A checkout, an archive or another user can leave a link, a pipe or a foreign folder where
//! Waypost is about to write. Before anything in the store's folder is opened, [`tighten`] walks it
//! from the top: entries that belong to another user, and those that are neither a file nor a
//! folder, are rejected with an error that names them; other users' permissions to read or write
//! are removed. As a folder is closed before its content is examined, nothing can be exchanged
//! behind the walk.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _,
    PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::error::{Error, Result};
use crate::project::io_error;

const WRITABLE_BY_ALL: u32 = 0o002;
const WRITABLE_BY_GROUP: u32 = 0o020;
const STICKY: u32 = 0o1000;
const OPEN: u32 = 0o077;

/// Folders of the store with contents in foreign formats, which include links: a Chromium's
/// profiles, and the cache of models if there is no home for it. Both are checked where they are
/// used.
const FOREIGN: &[&str] = &["browser", "models"];
/// The folder of the store that contains the sockets of peers.
const PEERS: &str = "mesh";

/// Who may own the files of a project: this user and root. If root serves a folder of another user,
/// as in a container, that user may, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owners {
    own: u32,
    project: u32,
}

/// The changes that [`tighten`] made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tightened {
    /// How many files and folders other users could read or write until now.
    pub changed: u64,
    /// The first of them, and its previous mode.
    pub first: Option<(PathBuf, u32)>,
}

impl Owners {
    /// The owners for the project with that folder.
    pub fn of(root: &Path) -> Result<Self> {
        let own = rustix::process::geteuid().as_raw();
        let project = if own == 0 { look_at(root)?.uid() } else { own };
        Ok(Self { own, project })
    }

    /// This user and root, whoever owns the project.
    pub fn own_only() -> Self {
        let own = rustix::process::geteuid().as_raw();
        Self { own, project: own }
    }

    /// Whether the entry at a path (a link itself, not its target) belongs to one of them.
    pub(crate) fn owns(self, path: &Path) -> bool {
        let owner = path.symlink_metadata().map(|metadata| metadata.uid());
        owner.is_ok_and(|owner| [self.own, 0, self.project].contains(&owner))
    }

    /// Rejects a folder that belongs to another user or that other users can write to. A group with
    /// the user's own number contains only that user, and in a sticky folder such as `/tmp` users
    /// cannot replace each other's entries.
    ///
    /// # Errors
    /// [`Error::Exposed`], also for a link.
    pub fn check_folder(self, path: &Path) -> Result<()> {
        let metadata = look_at(path)?;
        if metadata.is_symlink() {
            return Err(exposed(path, "is a symbolic link; replace it with the folder"));
        }
        if !metadata.is_dir() {
            return Err(Error::NotAFolder { path: path.to_owned() });
        }
        let is_sticky = metadata.mode() & STICKY != 0;
        self.check(path, &metadata, is_sticky)
    }

    fn check(self, path: &Path, metadata: &Metadata, may_be_open: bool) -> Result<()> {
        let uid = metadata.uid();
        if ![self.own, 0, self.project].contains(&uid) {
            let own = self.own;
            let reason = format!(
                "belongs to user {uid}, not to this user ({own}) or root, and is not used; move it away, or work in another folder"
            );
            return Err(exposed(path, reason));
        }
        let is_private = metadata.gid() == uid;
        let others = if is_private { WRITABLE_BY_ALL } else { WRITABLE_BY_ALL | WRITABLE_BY_GROUP };
        if metadata.mode() & others != 0 && !may_be_open {
            let mode = metadata.mode() & 0o7777;
            let reason = format!(
                "is writable by others (mode {mode:o}), and is not used; check its contents, then fix it with: chmod go-w {}",
                path.display()
            );
            return Err(exposed(path, reason));
        }
        Ok(())
    }
}

/// Rejects a file that belongs to another user or that other users can write to, and a link to one.
///
/// # Errors
/// [`Error::Exposed`], [`Error::Io`] if there is no such file.
pub fn check_file(path: &Path, owners: Owners) -> Result<()> {
    let metadata = look_at(path)?;
    if !metadata.is_file() {
        return Err(exposed(path, "is not a regular file; replace it with one"));
    }
    owners.check(path, &metadata, false)
}

/// Creates one folder with at most that mode.
pub(crate) fn create_dir(dir: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().mode(mode).create(dir)
}

/// Closes a folder of ours, with everything in it, to other users: 0700 for folders, 0600 for
/// files. Call it before anything in the folder is opened.
///
/// # Errors
/// [`Error::Exposed`] for an entry of another user, for links, and for anything that is not a file,
/// a folder or a socket of ours. Nothing below such an entry has been changed.
pub fn tighten(dir: &Path, owners: Owners) -> Result<Tightened> {
    let mut done = Tightened::default();
    let metadata = look_at(dir)?;
    if metadata.is_symlink() {
        return Err(linked(dir));
    }
    if !metadata.is_dir() {
        return Err(Error::NotData { path: dir.to_owned() });
    }
    owners.check(dir, &metadata, true)?;
    close(dir, &metadata, 0o700, &mut done)?;
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| io_error("read", &folder, error))?;
        for entry in entries {
            let path = entry.map_err(|error| io_error("read", &folder, error))?.path();
            let metadata = match path.symlink_metadata() {
                Ok(metadata) => metadata,
                // Another process has the store open, and is changing it: its lock is requested
                // next.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(io_error("inspect", &path, error)),
            };
            owners.check(&path, &metadata, true)?;
            let kind = metadata.file_type();
            if kind.is_dir() {
                close(&path, &metadata, 0o700, &mut done)?;
                let is_foreign =
                    folder == *dir && FOREIGN.iter().any(|foreign| path.ends_with(foreign));
                if !is_foreign {
                    folders.push(path);
                }
            } else if kind.is_file() {
                close(&path, &metadata, 0o600, &mut done)?;
            } else if !(kind.is_socket() && may_have_sockets(dir, &folder)) {
                let what = if kind.is_symlink() {
                    "a symbolic link"
                } else {
                    "neither a file nor a folder"
                };
                let reason = format!(
                    "is {what}, which Waypost never creates there; find out where it comes from, then remove it"
                );
                return Err(exposed(&path, reason));
            }
        }
    }
    Ok(done)
}

/// The error for a data folder that is a link.
pub(crate) fn linked(dir: &Path) -> Error {
    exposed(dir, "is a symbolic link; replace it with the folder, or set data_dir to its target")
}

fn may_have_sockets(dir: &Path, folder: &Path) -> bool {
    folder == dir || folder.starts_with(dir.join(PEERS))
}

fn close(path: &Path, metadata: &Metadata, mode: u32, done: &mut Tightened) -> Result<()> {
    let had = metadata.mode() & 0o7777;
    if had & OPEN == 0 {
        return Ok(());
    }
    match set_mode(path, mode) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io_error("change the mode of", path, error)),
    }
    done.changed += 1;
    done.first.get_or_insert_with(|| (path.to_owned(), had));
    Ok(())
}

/// Does not follow links.
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    match options.read(true).custom_flags(flags.bits().cast_signed()).open(path) {
        Ok(file) => file.set_permissions(Permissions::from_mode(mode)),
        // Its owner may not read it, and by now no one else can replace it.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            fs::set_permissions(path, Permissions::from_mode(mode))
        }
        Err(error) => Err(error),
    }
}

/// Writes a file that only this user can access, atomically: no reader sees a part of it, and a
/// link at its path is replaced, not followed.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, bytes, 0o600, "tmp").map_err(|error| io_error("write", path, error))
}

/// Writes a file with that mode, whatever the umask, such that it exists completely or not at all, also after a power
/// cut. Its name ends with this process's id and `end` until then.
pub(crate) fn replace(path: &Path, bytes: &[u8], mode: u32, end: &str) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.{end}", std::process::id()));
    let temporary = PathBuf::from(name);
    let write = || {
        match fs::remove_file(&temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(mode).open(&temporary)?;
        file.set_permissions(Permissions::from_mode(mode))?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
    };
    // A leftover is harmless, and the first error is the relevant one.
    write().inspect_err(|_| drop(fs::remove_file(&temporary)))
}

fn look_at(path: &Path) -> Result<Metadata> {
    path.symlink_metadata().map_err(|error| io_error("inspect", path, error))
}

fn exposed(path: &Path, reason: impl Into<String>) -> Error {
    Error::Exposed { path: path.to_owned(), reason: reason.into() }
}
