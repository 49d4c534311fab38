//! The only module that changes files. Every change that a crash can undo goes through
//! [`Disk::perform`], where a test can record it or make it fail.

use std::fmt;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;

use crate::observe::observed;
use crate::{Error, Result};

/// One change to the folder, by file names within it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Op<'a> {
    Create { file: &'a str },
    Write { file: &'a str, offset: u64, bytes: &'a [u8] },
    SetLen { file: &'a str, len: u64 },
    Sync { file: &'a str },
    Rename { from: &'a str, to: &'a str },
    Remove { file: &'a str },
    SyncFolder,
}

/// Called before every change; its error replaces that of the operating system.
pub(crate) type Gate = Arc<dyn Fn(&Op<'_>) -> io::Result<()> + Send + Sync>;

/// The folder of a log.
pub(crate) struct Disk {
    path: PathBuf,
    folder: File,
    gate: Option<Gate>,
}

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disk").field("path", &self.path).finish_non_exhaustive()
    }
}

/// An open file of the folder.
#[derive(Debug)]
pub(crate) struct DiskFile {
    pub(crate) name: String,
    file: File,
}

static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

impl Disk {
    /// Opens the folder, and creates and syncs the missing folders of its path.
    pub(crate) fn open(path: &Path, gate: Option<Gate>) -> Result<Self> {
        create_folder(path)?;
        let folder = File::open(path).map_err(|error| Error::io("open", path, error))?;
        Ok(Self { path: path.to_path_buf(), folder, gate })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a file, and replaces one that a crash has left.
    pub(crate) fn create(&self, name: &str) -> Result<DiskFile> {
        let path = self.path.join(name);
        self.ask(&Op::Create { file: name })
            .and_then(|()| {
                let mut options = OpenOptions::new();
                options.read(true).write(true).create(true).truncate(true).mode(0o600);
                options.open(&path)
            })
            .map(|file| DiskFile { name: name.to_owned(), file })
            .map_err(|error| Error::io("create", &path, error))
    }

    /// Opens a file for reading and writing.
    pub(crate) fn open_for_writing(&self, name: &str) -> Result<DiskFile> {
        let path = self.path.join(name);
        let opened = OpenOptions::new().read(true).write(true).open(&path);
        let file = opened.map_err(|error| Error::io("open", &path, error))?;
        Ok(DiskFile { name: name.to_owned(), file })
    }

    pub(crate) fn write(&self, file: &DiskFile, offset: u64, bytes: &[u8]) -> Result<()> {
        self.perform(&file.file, Op::Write { file: &file.name, offset, bytes })
    }

    /// Writes `len` zeros.
    pub(crate) fn write_zeros(&self, file: &DiskFile, offset: u64, len: u64) -> Result<()> {
        let mut done = 0;
        while done < len {
            let step = (len - done).min(ZEROS.len() as u64);
            self.write(file, offset + done, &ZEROS[..step as usize])?;
            done += step;
        }
        Ok(())
    }

    pub(crate) fn set_len(&self, file: &DiskFile, len: u64) -> Result<()> {
        self.perform(&file.file, Op::SetLen { file: &file.name, len })
    }

    /// Brings what was written to disk, where the next opening finds it.
    pub(crate) fn sync(&self, file: &DiskFile) -> Result<()> {
        self.perform(&file.file, Op::Sync { file: &file.name })?;
        if self.has(file) { Ok(()) } else { Err(Error::Gone(self.path.join(&file.name))) }
    }

    /// Whether the file's name still leads to it.
    pub(crate) fn has(&self, file: &DiskFile) -> bool {
        let of = |metadata: io::Result<Metadata>| metadata.ok().map(|it| (it.dev(), it.ino()));
        let named = of(std::fs::symlink_metadata(self.path.join(&file.name)));
        named.is_some() && named == of(file.file.metadata())
    }

    /// Renames a file, and replaces one of that name. Durable only after [`Self::sync_folder`].
    pub(crate) fn rename(&self, file: &mut DiskFile, to: &str) -> Result<()> {
        self.perform(&file.file, Op::Rename { from: &file.name, to })?;
        to.clone_into(&mut file.name);
        Ok(())
    }

    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        self.perform(&self.folder, Op::Remove { file: name })
    }

    /// Renames whatever has this name to an unused name that ends with `.damaged`.
    pub(crate) fn set_aside(&self, name: &str) -> Result<()> {
        let stem = name.trim_end_matches(".log");
        let mut aside = format!("{stem}.damaged");
        let mut count = 1;
        while self.path.join(&aside).symlink_metadata().is_ok() {
            aside = format!("{stem}-other-{count}.damaged");
            count += 1;
        }
        self.perform(&self.folder, Op::Rename { from: name, to: &aside })?;
        self.sync_folder()
    }

    pub(crate) fn sync_folder(&self) -> Result<()> {
        self.perform(&self.folder, Op::SyncFolder)
    }

    /// Replaces a small file atomically.
    pub(crate) fn replace(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let mut file = self.create(&format!("{name}.new"))?;
        self.write(&file, 0, bytes)?;
        self.sync(&file)?;
        self.rename(&mut file, name)?;
        self.sync_folder()
    }

    /// Bytes that an ordinary user may still write on the file system.
    pub(crate) fn free_bytes(&self) -> Result<u64> {
        free_bytes(&self.path)
    }

    fn ask(&self, op: &Op<'_>) -> io::Result<()> {
        self.gate.as_ref().map_or(Ok(()), |gate| gate(op))
    }

    fn perform(&self, file: &File, op: Op<'_>) -> Result<()> {
        let (operation, name) = match op {
            Op::Create { file } => ("create", file),
            Op::Write { file, .. } => ("write", file),
            Op::SetLen { file, .. } => ("resize", file),
            Op::Sync { file } => ("sync", file),
            Op::Rename { to, .. } => ("rename to", to),
            Op::Remove { file } => ("remove", file),
            Op::SyncFolder => ("sync", ""),
        };
        self.ask(&op)
            .and_then(|()| match op {
                Op::Create { .. } => Ok(()),
                Op::Write { offset, bytes, .. } => file.write_all_at(bytes, offset),
                Op::SetLen { len, .. } => file.set_len(len),
                Op::Sync { .. } => observed(|| file.sync_data()),
                Op::Rename { from, to } => {
                    std::fs::rename(self.path.join(from), self.path.join(to))
                }
                Op::Remove { file } => std::fs::remove_file(self.path.join(file)),
                Op::SyncFolder => file.sync_all(),
            })
            .map_err(|error| Error::io(operation, &self.path.join(name), error))
    }
}

/// Reads a file in windows, which avoids a system call for each record.
#[derive(Debug)]
pub(crate) struct Window {
    start: u64,
    bytes: Vec<u8>,
    step: usize,
}

impl Window {
    /// A window that reads at least `step` bytes at once.
    pub(crate) fn new(step: usize) -> Self {
        Self { start: 0, bytes: Vec::new(), step }
    }

    /// The bytes at `offset`; `None` if they would not all be below `end`.
    pub(crate) fn get(
        &mut self,
        file: &File,
        offset: u64,
        len: u64,
        end: u64,
    ) -> io::Result<Option<&[u8]>> {
        if offset.checked_add(len).is_none_or(|sum| sum > end) {
            return Ok(None);
        }
        let inside = offset >= self.start && offset + len <= self.start + self.bytes.len() as u64;
        if !inside {
            let want = len.max((self.step as u64).min(end - offset));
            self.bytes.resize(want as usize, 0);
            self.start = offset;
            if let Err(error) = fill_at(file, &mut self.bytes, offset) {
                self.bytes.clear();
                return Err(error);
            }
        }
        let at = (offset - self.start) as usize;
        Ok(Some(&self.bytes[at..at + len as usize]))
    }

    /// Bytes that the last [`Self::get`] returned, or a part of them.
    pub(crate) fn held(&self, offset: u64, len: usize) -> &[u8] {
        let at =
            offset.checked_sub(self.start).map_or(usize::MAX, |difference| difference as usize);
        at.checked_add(len).and_then(|end| self.bytes.get(at..end)).unwrap_or_default()
    }
}

/// Reads all bytes from `offset` on, and zeros after the end of the file: a file that was truncated
/// while it was open has no records there.
fn fill_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], offset + filled as u64) {
            Ok(0) => {
                bytes[filled..].fill(0);
                return Ok(());
            }
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl DiskFile {
    /// Opens a file for reading only.
    pub(crate) fn open(folder: &Path, name: &str) -> Result<Self> {
        let path = folder.join(name);
        let file = File::open(&path).map_err(|error| Error::io("open", &path, error))?;
        Ok(Self { name: name.to_owned(), file })
    }

    pub(crate) fn reading(&self) -> &File {
        &self.file
    }

    pub(crate) fn len(&self) -> io::Result<u64> {
        self.file.metadata().map(|metadata| metadata.len())
    }
}

/// Whether a path that exists leads to a regular file. One that cannot be inspected counts as one:
/// opening it fails with the reason.
pub(crate) fn is_file(path: &Path) -> bool {
    std::fs::metadata(path).map_or(true, |metadata| metadata.is_file())
}

/// The most bytes of a file that contains a few lines.
const SMALL_FILE_BYTES_MAX: u64 = 1 << 20;

/// The bytes of a small file, at most the first MiB: damage can make a file as large as the disk
/// without taking space on it.
///
/// # Errors
/// If it cannot be read, or is no regular file.
pub fn read_small(path: &Path) -> io::Result<Vec<u8>> {
    read_up_to(path, SMALL_FILE_BYTES_MAX)
}

/// The same with at most the first `bytes_max` bytes.
pub(crate) fn read_up_to(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    // A FIFO would block until somebody writes to it.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The bytes of a small file; `None` if there is none, or something else is in its place.
pub(crate) fn read_file(path: &Path) -> Result<Option<Vec<u8>>> {
    if !is_file(path) {
        return Ok(None);
    }
    match read_small(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", path, error)),
    }
}

/// Creates a folder with the missing folders of its path, and syncs them.
///
/// # Errors
/// [`Error::Io`] if a folder cannot be created or synced.
pub fn create_folder(path: &Path) -> Result<()> {
    let mut missing = Vec::new();
    for folder in path.ancestors().filter(|folder| !folder.as_os_str().is_empty()) {
        // An empty folder may have been created just before a crash and not been synced.
        let is_empty = |mut it: std::fs::ReadDir| it.next().is_none();
        if !std::fs::read_dir(folder).map_or(!folder.is_dir(), is_empty) {
            break;
        }
        missing.push(folder);
    }
    std::fs::create_dir_all(path).map_err(|error| Error::io("create", path, error))?;
    for folder in missing {
        let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        let opened = File::open(parent).and_then(|file| file.sync_all());
        opened.map_err(|error| Error::io("sync", parent, error))?;
    }
    Ok(())
}

/// Bytes that an ordinary user may still write on the file system of a folder.
///
/// # Errors
/// [`Error::Io`] if the system call fails.
pub fn free_bytes(dir: &Path) -> Result<u64> {
    let stat = rustix::fs::statvfs(dir)
        .map_err(|error| Error::io("measure", dir, io::Error::from(error)))?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}
