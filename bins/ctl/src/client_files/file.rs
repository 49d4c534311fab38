//! A configuration file of another program: its text, and its atomic replacement.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use waypost_cli::failure::{Failure, Result};
use waypost_cli::files;

use super::refused;

/// More than any client writes; some of these files also have a history of prompts.
const BYTES_MAX: usize = 64 << 20;

/// Where a file is, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    /// The folder that has it, at any depth. Symbolic links may not lead out of it.
    pub(crate) root: PathBuf,
    /// Whether a new file is for this user only.
    pub(crate) is_private: bool,
}

/// A file that was read, and can be replaced if it has not changed since.
#[derive(Debug)]
pub(crate) struct ClientFile {
    place: Place,
    /// The file itself, at the end of symbolic links.
    target: PathBuf,
    before: Option<Before>,
}

/// What was read.
#[derive(Debug, PartialEq, Eq)]
struct Before {
    text: String,
    device: u64,
    inode: u64,
    mode: u32,
}

impl ClientFile {
    /// Reads the file, if it exists. Refuses what could not be replaced.
    pub(crate) fn read(place: &Place) -> Result<Self> {
        let target = target(place)?;
        let before = read(place, &target)?;
        Ok(Self { place: place.clone(), target, before })
    }

    /// Its text; empty if there is no such file.
    pub(crate) fn text(&self) -> &str {
        self.before.as_ref().map_or("", |before| &before.text)
    }

    /// Replaces the file: readers see the old text or the new one. Its mode stays.
    ///
    /// # Errors
    /// If it is not as it was read, which another program may have changed meanwhile.
    pub(crate) fn write(&self, text: &str) -> Result<()> {
        let cannot = |error: io::Error| {
            Failure::of(&error).while_doing(format!("cannot write {}", self.place.path.display()))
        };
        let folder = self.target.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder).map_err(cannot)?;
        let name = self.target.file_name().unwrap_or_default().to_string_lossy();
        let temporary = folder.join(format!(".{name}.{}.tmp", std::process::id()));
        let written = self.create(&temporary, text).map_err(cannot).and_then(|()| {
            // Nothing but the system's own race is left between this and the rename.
            let now = ClientFile::read(&self.place)?;
            if (&now.target, &now.before) != (&self.target, &self.before) {
                return Err(self.changed());
            }
            self.put(&temporary)
        });
        if written.is_err() {
            // The first error is the relevant one.
            drop(fs::remove_file(&temporary));
        }
        written?;
        File::open(folder).and_then(|file| file.sync_all()).map_err(cannot)
    }

    /// Writes the new text next to the file, synced.
    fn create(&self, temporary: &Path, text: &str) -> io::Result<()> {
        match fs::remove_file(temporary) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let is_open = self.before.is_none() && !self.place.is_private;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(if is_open { 0o666 } else { 0o600 });
        let mut file = options.open(temporary)?;
        if let Some(before) = &self.before {
            file.set_permissions(Permissions::from_mode(before.mode))?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }

    fn put(&self, temporary: &Path) -> Result<()> {
        let renamed = match &self.before {
            Some(_) => fs::rename(temporary, &self.target),
            None => {
                match renameat_with(CWD, temporary, CWD, &self.target, RenameFlags::NOREPLACE) {
                    Err(Errno::EXIST) => return Err(self.changed()),
                    // The file system cannot; it was checked a moment ago.
                    Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                        fs::rename(temporary, &self.target)
                    }
                    renamed => renamed.map_err(io::Error::from),
                }
            }
        };
        renamed.map_err(|error| {
            Failure::of(&error).while_doing(format!("cannot replace {}", self.target.display()))
        })
    }

    fn changed(&self) -> Failure {
        refused(&self.place.path, "another program changed it meanwhile; nothing was written")
            .with_hint("try again")
    }
}

/// The file at the end of symbolic links.
fn target(place: &Place) -> Result<PathBuf> {
    let Place { path, root, .. } = place;
    let cannot = |at: &Path, error: &io::Error| {
        Failure::of(error).while_doing(format!("cannot read {}", at.display()))
    };
    // The folder of a client that was never started does not exist.
    let root = missing(root).map_err(|error| cannot(root, &error))?;
    let found = match path.symlink_metadata() {
        Ok(found) => Some(found),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(cannot(path, &error)),
    };
    let target = match &found {
        Some(found) => path.canonicalize().map_err(|error| {
            if found.is_symlink() && error.kind() == ErrorKind::NotFound {
                refused(path, "it is a symbolic link to a file that does not exist")
            } else {
                cannot(path, &error)
            }
        })?,
        None => missing(path).map_err(|error| cannot(path, &error))?,
    };
    if !target.starts_with(&root) {
        let why = format!("it leads to {}, outside {}", target.display(), root.display());
        return Err(refused(path, &why));
    }
    Ok(target)
}

/// The path without symbolic links, as far as its folders exist.
fn missing(path: &Path) -> io::Result<PathBuf> {
    let exists = |path: &&Path| path.symlink_metadata().is_ok();
    let near = path.ancestors().find(exists).unwrap_or(Path::new("/"));
    let rest = path.strip_prefix(near).unwrap_or(Path::new(""));
    Ok(near.canonicalize()?.join(rest))
}

fn read(place: &Place, target: &Path) -> Result<Option<Before>> {
    let path = &place.path;
    if !target.try_exists().unwrap_or(true) {
        return Ok(None);
    }
    let (bytes, found) = files::read_regular_found(target, BYTES_MAX)?;
    check(path, &found)?;
    let text = String::from_utf8(bytes).map_err(|_| refused(path, "it is not valid UTF-8"))?;
    let mode = found.mode() & 0o7777;
    Ok(Some(Before { text, device: found.dev(), inode: found.ino(), mode }))
}

/// Refuses a file that a rename would replace although the user has closed it.
fn check(path: &Path, found: &Metadata) -> Result<()> {
    let own = rustix::process::geteuid().as_raw();
    if found.uid() != own {
        return Err(refused(path, &format!("it belongs to user {}", found.uid())));
    }
    if found.mode() & 0o200 == 0 {
        return Err(refused(path, "it is read-only")
            .with_hint(format!("`chmod u+w {}` permits changes", path.display())));
    }
    Ok(())
}
