//! The runtime folder: where the peers of one machine find each other, and what protects them from
//! other users.
//!
//! | file | content |
//! |---|---|
//! | `turn` | locked while a peer joins, so that two that join at once see each other |
//! | `credentials` | `peer:PASSWORD`, created by the first that joins |
//! | `SEAT.peer` | locked as long as the peer lives; its pid and name |
//! | `SEAT.sock` | the peer's socket |
//! | `TARGET.target` | locked as long as a peer serves the target; its pid and name |

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;

use crate::clock::Until;
use crate::envelope::random_id;
use crate::error::{Error, Result};
use crate::limits::TURN_MAX;

/// The maximum length of a Unix socket address, without its terminating zero.
const SOCKET_PATH_BYTES_MAX: usize = 107;
const USER: &str = "peer";

/// A folder that only this user can access.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    path: PathBuf,
}

/// What a peer presents to be accepted.
#[derive(Debug)]
pub(crate) struct Credentials {
    pub(crate) user: &'static str,
    pub(crate) password: String,
    /// The file, for the side that verifies.
    pub(crate) file: PathBuf,
}

/// A file that is locked as long as this lives, and names the owner.
#[derive(Debug)]
pub(crate) struct Claim {
    _file: File,
}

/// A peer's seat in the folder. Dropping it removes its files.
#[derive(Debug)]
pub(crate) struct Seat {
    socket: PathBuf,
    peer: PathBuf,
    _claim: Claim,
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
        let path = path.canonicalize().map_err(|error| Error::io("access", path, error))?;
        let metadata = fs::symlink_metadata(&path).map_err(|it| Error::io("access", &path, it))?;
        if !metadata.is_dir() {
            let reason = "it is not a folder; remove it or choose another path".into();
            return Err(Error::Damaged { path, reason });
        }
        refuse_exposed(&path, &metadata, 0o700)?;
        if let Some(parent) = path.parent() {
            refuse_foreign(parent)?;
        }
        // The transport's addresses are text, in which these begin something else.
        if path.to_str().is_none_or(|it| it.contains(['?', '#'])) {
            let reason = "its path is not UTF-8, or has ? or # in it; choose another folder".into();
            return Err(Error::Damaged { path, reason });
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

    /// Waits until no other peer is joining.
    pub(crate) fn turn(&self) -> Result<File> {
        let path = self.path.join("turn");
        let file = open_private(&path)?;
        let until = Until::after(TURN_MAX);
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if !until.is_over() => {
                    thread::park_timeout(Duration::from_millis(5));
                }
                Err(TryLockError::WouldBlock) => {
                    let error = io::Error::new(
                        io::ErrorKind::TimedOut,
                        "another process has been joining for too long; stop it",
                    );
                    return Err(Error::io("lock", &path, error));
                }
                Err(TryLockError::Error(error)) => return Err(Error::io("lock", &path, error)),
            }
        }
    }

    /// Reads the credentials, or creates them. The caller has the turn.
    pub(crate) fn credentials(&self) -> Result<Credentials> {
        let file = self.path.join("credentials");
        let failed = |error| Error::io("read", &file, error);
        let text = match fs::symlink_metadata(&file) {
            Ok(metadata) => {
                refuse_exposed(&file, &metadata, 0o600)?;
                fs::read_to_string(&file).map_err(failed)?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let text = format!("{USER}:{}{}\n", random_id(), random_id());
                write_private(&file, text.as_bytes())?;
                text
            }
            Err(error) => return Err(failed(error)),
        };
        let password = text.trim().strip_prefix(USER).and_then(|it| it.strip_prefix(':'));
        match password {
            Some(password) if password.len() == 64 => {
                Ok(Credentials { user: USER, password: password.to_owned(), file })
            }
            _ => Err(Error::Damaged {
                path: file,
                reason: "not valid mesh credentials; remove the file and restart the peers".into(),
            }),
        }
    }

    /// The sockets of the living peers; files of dead ones are removed. The caller has the turn.
    pub(crate) fn sockets(&self) -> Result<Vec<PathBuf>> {
        let failed = |error| Error::io("list", &self.path, error);
        let mut sockets = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(failed)? {
            let peer = entry.map_err(failed)?.path();
            if peer.extension().is_none_or(|it| it != "peer") {
                continue;
            }
            let Ok(file) = open_at_once(&peer) else { continue };
            let socket = peer.with_extension("sock");
            match file.try_lock() {
                Err(TryLockError::WouldBlock) if socket.exists() => sockets.push(socket),
                Err(_) => {}
                Ok(()) => clear(&peer, &socket),
            }
        }
        Ok(sockets)
    }

    /// Creates a seat for a peer. The caller has the turn.
    pub(crate) fn seat(&self, name: &str) -> Result<Seat> {
        let peer = self.path.join(seat_name("peer"));
        let file = open_private(&peer)?;
        let claim = Claim::take(file, &peer, name)?.map_err(|by| Error::Damaged {
            path: peer.clone(),
            reason: format!("a newly created file is already locked by {by}"),
        })?;
        Ok(Seat { socket: peer.with_extension("sock"), peer, _claim: claim })
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
    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Whether other peers can still find this one by its socket.
    pub(crate) fn is_there(&self) -> bool {
        fs::symlink_metadata(&self.socket).is_ok() && fs::symlink_metadata(&self.peer).is_ok()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        clear(&self.peer, &self.socket);
    }
}

/// Removes the files of a peer. Files that remain are removed by the next peer that joins.
fn clear(peer: &Path, socket: &Path) {
    let mut lock = socket.as_os_str().to_owned();
    lock.push(".lock");
    drop(fs::remove_file(socket));
    drop(fs::remove_file(lock));
    drop(fs::remove_file(peer));
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
    let is_of_above = user == 0 && above.is_some_and(|it| it.uid() == owner);
    if ![user, 0].contains(&owner) && !is_of_above {
        return Err(exposed(format!("it belongs to user {owner}, not to {user}")));
    }
    let mode = metadata.mode() & 0o7777;
    let others = if metadata.gid() == owner { 0o002 } else { 0o022 };
    if mode & others != 0 && mode & 0o1000 == 0 {
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

/// Opens a file for reading. Opening a pipe does not wait for a writer.
fn open_at_once(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
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
