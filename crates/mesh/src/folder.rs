//! The runtime folder: where the peers of one machine find each other, and what protects them from
//! other users.
//!
//! | file | content |
//! |---|---|
//! | `SEAT.sock` | the peer's socket |
//! | `SEAT.new` | the same for a moment, until it listens |
//! | `TARGET.target` | locked as long as a peer serves the target; its pid and name |

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _,
    PermissionsExt as _,
};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use crate::envelope::random_id;
use crate::error::{Error, Result};

/// The maximum length of a Unix socket address, without its terminating zero.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// A folder that only this user can access.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    path: PathBuf,
}

/// A file that is locked as long as this lives, and names the owner.
#[derive(Debug)]
pub(crate) struct Claim {
    _file: File,
}

/// A socket on which peers find this one. Dropping it removes its file.
#[derive(Debug)]
pub(crate) struct Seat {
    path: PathBuf,
}

impl Folder {
    /// Creates the folder if it does not exist, and rejects one that other users can access.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let failed = |error| Error::io("create", path, error);
        match fs::symlink_metadata(path) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if let Some(parent) = path.parent() {
                    let mut parents = DirBuilder::new();
                    parents.recursive(true).mode(0o700).create(parent).map_err(failed)?;
                }
                match DirBuilder::new().mode(0o700).create(path) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                        return Err(failed(error));
                    }
                    Ok(()) | Err(_) => {}
                }
            }
            Err(error) => return Err(Error::io("access", path, error)),
        }
        // Another user may have created a link in a shared folder first.
        for part in path.ancestors().take(2) {
            if fs::symlink_metadata(part).is_ok_and(|metadata| metadata.is_symlink()) {
                refuse_foreign(part)?;
            }
        }
        let path = path.canonicalize().map_err(|error| Error::io("access", path, error))?;
        let metadata =
            fs::symlink_metadata(&path).map_err(|error| Error::io("access", &path, error))?;
        if !metadata.is_dir() {
            let reason = "it is not a folder; remove it or choose another path".into();
            return Err(Error::Damaged { path, reason });
        }
        refuse_exposed(&path, &metadata, 0o700)?;
        if let Some(parent) = path.parent() {
            refuse_foreign(parent)?;
        }
        let bytes = path.join(seat_name("sock")).as_os_str().len();
        if bytes > SOCKET_PATH_BYTES_MAX {
            return Err(Error::PathTooLong { path, bytes, bytes_max: SOCKET_PATH_BYTES_MAX });
        }
        Ok(Self { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The sockets of the peers, including dead ones.
    pub(crate) fn sockets(&self) -> io::Result<Vec<PathBuf>> {
        let mut sockets = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let path = entry.path();
            let is_one = path.extension().is_some_and(|ending| ending == "sock");
            if is_one && entry.file_type().is_ok_and(|kind| kind.is_socket()) {
                sockets.push(path);
            }
        }
        Ok(sockets)
    }

    /// Listens on a new socket, which is found only once it listens: a peer whose socket refuses
    /// connections is dead.
    pub(crate) fn seat(&self) -> Result<(UnixListener, Seat)> {
        let path = self.path.join(seat_name("sock"));
        let new = path.with_extension("new");
        let bind = || {
            let listener = UnixListener::bind(&new)?;
            fs::set_permissions(&new, fs::Permissions::from_mode(0o600))?;
            listener.set_nonblocking(true)?;
            fs::rename(&new, &path)?;
            Ok(listener)
        };
        let listener = bind().map_err(|error| {
            drop(fs::remove_file(&new));
            Error::io("listen on", &path, error)
        })?;
        Ok((listener, Seat { path }))
    }

    /// Whether a peer of this folder has served a target, and may still do so.
    pub(crate) fn is_claimed(&self, target: &str) -> bool {
        self.path.join(format!("{target}.target")).exists()
    }

    /// Claims a target for this peer, or returns who has it.
    pub(crate) fn claim(&self, target: &str, name: &str) -> Result<Result<Claim, String>> {
        let path = self.path.join(format!("{target}.target"));
        Claim::take(open_private(&path)?, &path, name)
    }
}

impl Claim {
    fn take(mut file: File, path: &Path, name: &str) -> Result<Result<Self, String>> {
        let failed = |error| Error::io("lock", path, error);
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut by = String::new();
                (&mut file).take(256).read_to_string(&mut by).map_err(failed)?;
                let by = by.trim();
                return Ok(Err(if by.is_empty() { "another peer" } else { by }.to_owned()));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut tell = || {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            writeln!(file, "{name}, process {}", std::process::id())
        };
        tell().map_err(failed)?;
        Ok(Ok(Self { _file: file }))
    }
}

impl Seat {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether other peers can still find this one.
    pub(crate) fn is_there(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        clear(&self.path);
    }
}

/// Removes the socket of a peer, with what an earlier release kept beside it.
pub(crate) fn clear(socket: &Path) {
    for ending in ["sock", "sock.lock", "peer"] {
        drop(fs::remove_file(socket.with_extension(ending)));
    }
}

fn seat_name(ending: &str) -> String {
    format!("{}.{ending}", &random_id()[..12])
}

/// Rejects a folder in which another user could replace entries. In a sticky folder nobody can, and a
/// group with the owner's own number contains only the owner. If root works in another user's folder,
/// as in a container, that user may own it.
fn refuse_foreign(path: &Path) -> Result<()> {
    let failed = |error| Error::io("access", path, error);
    let exposed = |reason| Error::Exposed { path: path.to_owned(), reason, wanted: 0o700 };
    let metadata = fs::symlink_metadata(path).map_err(failed)?;
    let (user, owner) = (rustix::process::geteuid().as_raw(), metadata.uid());
    let above = path.parent().map(fs::symlink_metadata).transpose().map_err(failed)?;
    let is_of_above = user == 0 && above.is_some_and(|above| above.uid() == owner);
    if ![user, 0].contains(&owner) && !is_of_above {
        return Err(exposed(format!("it belongs to user {owner}, not to {user}")));
    }
    let mode = metadata.mode() & 0o7777;
    let others = if metadata.gid() == owner { 0o002 } else { 0o022 };
    if mode & others != 0 && mode & 0o1000 == 0 && !metadata.is_symlink() {
        return Err(exposed(format!("its mode is {mode:o}: other users can write to it")));
    }
    Ok(())
}

/// Refuses what others may read or what is another user's, and anything but a file in place of one:
/// opening a pipe would wait for its writer.
pub(crate) fn refuse_exposed(path: &Path, metadata: &fs::Metadata, wanted: u32) -> Result<()> {
    if wanted == 0o600 {
        refuse_special(path, metadata)?;
    }
    let exposed = |reason| Error::Exposed { path: path.to_owned(), reason, wanted };
    let user = rustix::process::geteuid().as_raw();
    if metadata.uid() != user {
        return Err(exposed(format!("it belongs to user {}, not to {user}", metadata.uid())));
    }
    let mode = metadata.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(exposed(format!("its mode is {mode:o}: other users can access it")));
    }
    Ok(())
}

/// Refuses anything but a file or a link to one.
pub(crate) fn refuse_special(path: &Path, metadata: &fs::Metadata) -> Result<()> {
    if metadata.is_file() || metadata.is_symlink() && path.is_file() {
        return Ok(());
    }
    let reason = "it is not a regular file; remove it, and pair or start again".to_owned();
    Err(Error::Damaged { path: path.to_owned(), reason })
}

fn open_private(path: &Path) -> Result<File> {
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| Error::io("open", path, error))
}

/// Writes a new file that only this user can access, completely or not at all.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = |error| Error::io("write", path, error);
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}", random_id()));
    let temporary = PathBuf::from(temporary);
    let write = || {
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    write().map_err(|error| {
        drop(fs::remove_file(&temporary));
        failed(error)
    })
}
