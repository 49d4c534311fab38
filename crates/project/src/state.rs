//! The user's state folder: private, outside of every project.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use crate::cache::hex;
use crate::error::{Error, Result};
use crate::project::io_error;
use crate::{private, trusted};

const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
const FILE_BYTES_MAX: u64 = 64 << 20;
const LOCK: &str = "lock";
/// The version of the documents. Version 1 has no checksum; it is still read.
pub(crate) const VERSION: u32 = 2;

/// A document of the state folder: JSON with its version and a checksum of its contents.
pub(crate) trait Document: Serialize + DeserializeOwned {
    type Contents: Serialize;

    fn new(version: u32, checksum: Option<String>, contents: Self::Contents) -> Self;

    /// The checksum and the contents.
    fn into_parts(self) -> (Option<String>, Self::Contents);
}

/// Creates a folder of the state folder, with mode 0700 whatever the umask, and checks it.
///
/// # Errors
/// [`Error::Untrusted`] if another user owns it, or owns or can write to its parent folder.
pub(crate) fn prepare(folder: &Path) -> Result<()> {
    let failed = |error| io_error("create", folder, error);
    if let Some(parent) = folder.parent()
        && !parent.is_dir()
    {
        DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(parent).map_err(failed)?;
    }
    match DirBuilder::new().mode(FOLDER_MODE).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    check(folder)?;
    let metadata = fs::metadata(folder).map_err(failed)?;
    if metadata.permissions().mode() & 0o777 != FOLDER_MODE {
        fs::set_permissions(folder, fs::Permissions::from_mode(FOLDER_MODE)).map_err(failed)?;
    }
    Ok(())
}

/// Rejects a folder that other users can change, or whose parent they can change. A missing folder
/// is accepted.
fn check(folder: &Path) -> Result<()> {
    for it in folder.ancestors().take(2) {
        match fs::metadata(it) {
            Ok(metadata) => trusted::check(&metadata, it)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(io_error("read", it, error)),
        }
    }
    Ok(())
}

/// Reads a file of the state folder; `None` if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    if let Some(folder) = path.parent() {
        check(folder)?;
    }
    trusted::read_of_user(path, FILE_BYTES_MAX)
}

/// Reads the contents of a document; `damaged` makes the error for one that is damaged.
pub(crate) fn read_document<T: Document>(
    path: &Path,
    damaged: impl Fn(PathBuf, String) -> Error,
) -> Result<Option<T::Contents>> {
    #[derive(serde::Deserialize)]
    struct Head {
        version: u32,
    }
    let Some(bytes) = read(path)? else { return Ok(None) };
    let damaged = |reason| damaged(path.to_owned(), reason);
    let invalid = |error: serde_json::Error| damaged(error.to_string());
    let Head { version } = serde_json::from_slice(&bytes).map_err(invalid)?;
    if version > VERSION {
        return Err(Error::Newer { path: path.to_owned(), found: version, known: VERSION });
    }
    let document: T = serde_json::from_slice(&bytes).map_err(invalid)?;
    let (found, contents) = document.into_parts();
    match (version, found) {
        (1, None) => Ok(Some(contents)),
        (VERSION, Some(found)) if found == checksum(path, &contents)? => Ok(Some(contents)),
        (1 | VERSION, _) => Err(damaged("its checksum is missing or wrong".to_owned())),
        _ => Err(damaged(format!("unknown version {version}"))),
    }
}

/// Computed over the contents' serialized form, so that whitespace does not matter.
fn checksum(path: &Path, contents: &impl Serialize) -> Result<String> {
    let bytes =
        serde_json::to_vec(contents).map_err(|error| io_error("write", path, error.into()))?;
    Ok(hex(&Sha256::digest(&bytes)))
}

/// Moves a damaged file to `FILE.damaged`, and returns that path.
pub(crate) fn set_aside(path: &Path) -> Result<PathBuf> {
    let aside = PathBuf::from(format!("{}.damaged", path.display()));
    fs::rename(path, &aside).map_err(|error| io_error("move away", path, error))?;
    Ok(aside)
}

/// Writes a document such that it exists completely or not at all, also after a power cut.
pub(crate) fn write_document<T: Document>(path: &Path, contents: T::Contents) -> Result<()> {
    let checksum = checksum(path, &contents)?;
    let document = T::new(VERSION, Some(checksum), contents);
    let bytes = serde_json::to_vec_pretty(&document)
        .map_err(|error| io_error("write", path, error.into()))?;
    write(path, &bytes)
}

/// Writes a file with mode 0600 such that it exists completely or not at all, also after a power
/// cut. The caller holds the [`lock`] of the state folder, so any other unfinished file is from a
/// process that ended.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    remove_unfinished(path.parent().unwrap_or(path), path);
    private::replace(path, bytes, FILE_MODE, "new").map_err(|error| io_error("write", path, error))
}

/// Removes the files that processes left when they were killed while they wrote the file at `path`.
fn remove_unfinished(folder: &Path, path: &Path) {
    let Some(name) = path.file_name().and_then(OsStr::to_str) else { return };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let found = entry.file_name();
        let rest = found.to_str().and_then(|text| text.strip_prefix(name)?.strip_prefix('.'));
        let process = rest.and_then(|it| it.strip_suffix(".new"));
        if process.is_some_and(|process| process.parse::<u32>().is_ok()) {
            // Ignored: the file is not read, and the next write tries again.
            drop(fs::remove_file(entry.path()));
        }
    }
}

/// Rejects anything but a file in place of the file that [`lock`] locks.
pub(crate) fn check_lock(state: &Path) -> Result<()> {
    let path = state.join(LOCK);
    if path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Err(trusted::not_regular(&path));
    }
    Ok(())
}

/// Held while documents of the state folder are read and rewritten.
pub(crate) fn lock(state: &Path) -> Result<File> {
    prepare(state)?;
    check_lock(state)?;
    let path = state.join(LOCK);
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let locked = || {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(FILE_MODE)
            .custom_flags(flags.bits().cast_signed())
            .open(&path)?;
        file.lock()?;
        Ok(file)
    };
    locked().map_err(|error| io_error("lock", &path, error))
}
