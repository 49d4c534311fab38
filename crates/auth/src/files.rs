//! Small private files: read with a stamp that shows whether they changed, and replaced as a whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::error::{Error, Result};

/// A token file of this size contains tens of thousands of tokens; a larger file is not ours.
const READ_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Ends the name of the file that reserves space. Its content means nothing.
const RESERVE: &str = ".reserve";
const RESERVE_UNIT_BYTES: usize = 64 * 1024;

/// The state of a file; equal stamps mean that it has not changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stamp {
    Missing,
    Unreadable(io::ErrorKind),
    Present(Present),
}

/// Device, inode, length, change time and mode: the change time cannot be set.
type Present = (u64, u64, u64, i64, i64, u32);

impl Stamp {
    /// Takes a stamp with one `stat`.
    pub(crate) fn of(path: &Path) -> Self {
        match fs::metadata(path) {
            Ok(metadata) => Self::Present(present(&metadata)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::Missing,
            Err(error) => Self::Unreadable(error.kind()),
        }
    }
}

fn present(it: &fs::Metadata) -> Present {
    (it.dev(), it.ino(), it.len(), it.ctime(), it.ctime_nsec(), it.mode())
}

/// The content of a file. The file stays open: meanwhile no other file gets its inode, so a
/// replacement can never have the same stamp.
pub(crate) struct Contents {
    pub(crate) bytes: Vec<u8>,
    pub(crate) stamp: Stamp,
    pub(crate) file: File,
}

/// Reads a whole file; `None` if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<Contents>> {
    let failed = |source| io_error("read", path, source);
    let mut file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        // A socket cannot be opened.
        Err(_) if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) => {
            return Err(Error::NotAFile { path: path.to_owned() });
        }
        Err(error) => return Err(failed(error)),
    };
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(Error::NotAFile { path: path.to_owned() });
    }
    let mut bytes = Vec::new();
    (&mut file).take(READ_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > READ_BYTES_MAX {
        let reason = format!("it is larger than {READ_BYTES_MAX} bytes");
        return Err(Error::Corrupt { path: path.to_owned(), reason });
    }
    Ok(Some(Contents { bytes, stamp: Stamp::Present(present(&metadata)), file }))
}

/// Replaces a file as a whole, readable by its owner only: after a crash, either the old or the new
/// one exists. The caller holds the lock, so no one else uses the temporary name.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let temporary = sibling(path, ".tmp");
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(io_error("remove", &temporary, error));
        }
        Ok(()) | Err(_) => {}
    }
    let written = write(private().create_new(true), &temporary, bytes)
        .and_then(|()| fs::rename(&temporary, path))
        .and_then(|()| sync_folder(folder_of(path)));
    if written.is_err() {
        // A leftover is harmless, and the first error is the relevant one.
        drop(fs::remove_file(&temporary));
    }
    written.map_err(|error| io_error("write", path, error))
}

/// The same on a full disk, by means of what [`reserve`] has reserved: in its blocks or, where a file
/// system writes to others, in those that its removal frees.
pub(crate) fn replace_with_reserve(path: &Path, bytes: &[u8]) -> Result<()> {
    let reserve = sibling(path, RESERVE);
    let written = write(&private(), &reserve, bytes)
        .and_then(|()| fs::rename(&reserve, path))
        .and_then(|()| sync_folder(folder_of(path)));
    written.or_else(|_| {
        // Ignored: without it, the next step fails.
        drop(fs::remove_file(&reserve));
        replace(path, bytes)
    })
}

/// Reserves space for a later version of a file on a disk that is full by then, unless it is reserved. The
/// caller holds the lock. With too little space, it reserves what there is: call it again later.
pub(crate) fn reserve(path: &Path) {
    let missing_bytes = missing_bytes(path);
    if missing_bytes == 0 {
        return;
    }
    // Noise, so that a file system that compresses does not reserve less.
    let mut bytes = vec![0; missing_bytes];
    getrandom::fill(&mut bytes).unwrap_or_default();
    let file = private().append(true).create(true).open(sibling(path, RESERVE));
    let reserved = file.and_then(|mut file| {
        file.write_all(&bytes)?;
        file.sync_all()
    });
    // Ignored: the next call tries again.
    drop(reserved);
}

/// How much of the space for a later version of a file is not reserved. Costs two `stat`.
pub(crate) fn missing_bytes(path: &Path) -> usize {
    let bytes = |path: &Path| fs::metadata(path).map_or(0, |found| found.len() as usize);
    let wanted = (2 * bytes(path)).next_multiple_of(RESERVE_UNIT_BYTES);
    wanted.saturating_sub(bytes(&sibling(path, RESERVE)))
}

/// Replaces the content of a file that was opened with these options.
fn write(options: &OpenOptions, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()
}

/// Creates the folder of a private file, with mode 0700, and its parents.
pub(crate) fn create_private_folder(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let failed = |error| io_error("create", folder, error);
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    let mut builder = fs::DirBuilder::new();
    builder.mode(0o700);
    match builder.create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        Ok(()) | Err(_) => {}
    }
    folder.parent().map_or(Ok(()), |parent| sync_folder(parent).map_err(failed))
}

/// Waits until no other process or thread changes the file, and holds the lock until it is dropped.
pub(crate) struct Lock(#[expect(dead_code, reason = "closing it unlocks")] File);

impl Lock {
    pub(crate) fn acquire(path: &Path) -> Result<Self> {
        let lock = sibling(path, ".lock");
        let file = private().create(true).truncate(false).open(&lock);
        let file = file.map_err(|error| io_error("open", &lock, error))?;
        file.lock().map_err(|error| io_error("lock", &lock, error))?;
        Ok(Self(file))
    }
}

/// Rejects a file that other users may change or that another user created, and removes other
/// users' permission to read it.
pub(crate) fn keep_private(path: &Path) -> Result<()> {
    let Some(metadata) = metadata(path)? else { return Ok(()) };
    let exposed = |reason| Error::Exposed { path: path.to_owned(), reason, wanted: 0o600 };
    let user = rustix::process::geteuid().as_raw();
    // Root may serve a folder of another user, and then trusts that user.
    let folders =
        self::metadata(folder_of(path))?.filter(|_| user == 0).map(|metadata| metadata.uid());
    if ![0, user, folders.unwrap_or(user)].contains(&metadata.uid()) {
        return Err(exposed(format!("it belongs to user {}", metadata.uid())));
    }
    let mode = metadata.mode() & 0o777;
    if mode & 0o022 != 0 {
        return Err(exposed(format!("its mode is {mode:o}")));
    }
    if mode & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o700))
            .map_err(|error| io_error("change the mode of", path, error))?;
    }
    Ok(())
}

/// Rejects a folder in which all users may create files. A group-writable one is common (a umask of
/// 002) and safe enough: a file that another user creates there is rejected because of its owner.
pub(crate) fn refuse_public_folder(folder: &Path) -> Result<()> {
    let mode = metadata(folder)?.map_or(0, |metadata| metadata.mode() & 0o777);
    if mode & 0o002 == 0 {
        return Ok(());
    }
    let reason = format!("its mode is {mode:o}");
    Err(Error::Exposed { path: folder.to_owned(), reason, wanted: 0o700 })
}

fn metadata(path: &Path) -> Result<Option<fs::Metadata>> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("read", path, error)),
    }
}

/// Opens a file for reading. Opening a pipe does not wait for a writer.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Opens a file for writing, for its owner only. It is never reached through a link, and opening a pipe
/// does not wait for a reader.
fn private() -> OpenOptions {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600).custom_flags(flags.bits().cast_signed());
    options
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// The folder of a file, `.` if its path names none.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

pub(crate) fn sibling(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

pub(crate) fn io_error(action: &'static str, path: &Path, source: io::Error) -> Error {
    Error::Io { action, path: path.to_owned(), source }
}
