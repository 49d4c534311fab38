//! Models in the cache.

use std::fs;
use std::path::{Path, PathBuf};

use super::contents::TAKEN;
use super::{PinnedModel, install};
use crate::files::{self, REQUIRED};
use crate::manifest::Manifest;
use crate::recipe::Recipe;
use crate::{Error, Result, weights_file};

/// A model in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// Its name, which is its folder's.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The total length of its files.
    pub bytes: u64,
    /// The source's name; empty if it was added by hand.
    pub source: String,
    /// The fingerprint of its vectors; empty if it was added by hand.
    pub fingerprint: String,
    /// Whether its files are unchanged.
    pub state: State,
}

/// Whether a cached model's files are as they were when verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// Lengths and times are those of the verified files.
    Unchanged,
    /// A file is longer, shorter, newer, older or missing; `verify` gives details.
    Changed,
    /// Nothing was recorded: the files were added by hand.
    Unrecorded,
}

/// The result of a full check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The fingerprint of the model's vectors.
    pub fingerprint: String,
    /// How many bytes were digested.
    pub bytes: u64,
    /// Whether the digests were compared with pinned ones, or only with those recorded when the
    /// model was imported.
    pub pinned: bool,
}

/// The folder of a pinned model if it is complete and valid; `None` if it must be downloaded.
pub(super) fn pinned(model: &PinnedModel, cache_dir: &Path) -> Result<Option<PathBuf>> {
    install::check_name(&model.name)?;
    let folder = cache_dir.join(&model.name);
    if !folder.is_dir() {
        return Ok(None);
    }
    if let Some(manifest) = Manifest::read(&folder)? {
        let right = |path: &str| {
            manifest.files.get(path).map(|file| &file.sha256) == model.digest_of(path).as_ref()
        };
        if model.paths().all(right) && manifest.matches_times(&folder)? {
            return Ok(Some(folder));
        }
    }
    // Added by hand, touched, or damaged: the digests decide.
    for file in &model.files {
        let path = folder.join(&file.path);
        // The length alone saves most digests of a truncated file.
        if fs::metadata(&path).map_or(0, |metadata| metadata.len()) != file.bytes
            || files::digest_of(&path)?.0 != file.sha256
        {
            return Ok(None);
        }
    }
    for (path, content) in &model.settings {
        if files::read_optional(&folder, path)?
            .is_none_or(|optional| optional != content.as_bytes())
        {
            install::write_settings(model, &folder)?;
        }
    }
    adopt(&folder, &model.name)?;
    Ok(Some(folder))
}

/// The folder of a model that is not pinned, if it is in the cache and unchanged.
pub(super) fn imported(name: &str, cache_dir: &Path) -> Result<Option<PathBuf>> {
    install::check_name(name)?;
    let folder = cache_dir.join(name);
    if !REQUIRED.iter().any(|file| folder.join(file).exists()) {
        return Ok(None);
    }
    match Manifest::read(&folder)? {
        Some(manifest) if manifest.matches_times(&folder)? => {}
        Some(_) => {
            verify(&folder)?;
            adopt(&folder, name)?;
        }
        None => {
            weights_file::check_finite(&folder)?;
            adopt(&folder, name)?;
        }
    }
    Ok(Some(folder))
}

/// Records a folder's state, so that the next start need not digest it again.
fn adopt(folder: &Path, name: &str) -> Result<()> {
    let source = Manifest::read(folder)?.map_or_else(String::new, |manifest| manifest.source);
    let manifest = install::record(folder, name, &source)?;
    match manifest.write(folder) {
        // A read-only cache works as well, a little more slowly.
        Err(Error::Io { source, .. })
            if matches!(
                source.kind(),
                std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            Ok(())
        }
        written => written,
    }
}

/// The models in a cache folder, by name, each with whether its files still have the verified
/// lengths and times. Computes no digests.
///
/// # Errors
///
/// [`ErrorKind::Io`](crate::ErrorKind::Io) if the folder cannot be read; a missing folder has no
/// models.
pub fn list(cache_dir: &Path) -> Result<Vec<Installed>> {
    let io = |error| Error::io("read", cache_dir, error);
    let entries = match fs::read_dir(cache_dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io(error)),
    };
    let mut models = Vec::new();
    for entry in entries {
        let entry = entry.map_err(io)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let folder = entry.path();
        if install::check_name(&name).is_err() || !folder.is_dir() {
            continue;
        }
        let manifest = Manifest::read(&folder)?;
        if manifest.is_none() && !REQUIRED.iter().any(|file| folder.join(file).exists()) {
            continue;
        }
        let state = match &manifest {
            None => State::Unrecorded,
            Some(manifest) if manifest.matches_times(&folder)? => State::Unchanged,
            Some(_) => State::Changed,
        };
        let length =
            |file: &&str| fs::metadata(folder.join(file)).map_or(0, |metadata| metadata.len());
        let bytes = TAKEN.iter().map(length).sum();
        let (source, fingerprint) = manifest
            .map_or_else(Default::default, |manifest| (manifest.source, manifest.fingerprint));
        models.push(Installed { name, folder, bytes, source, fingerprint, state });
    }
    models.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(models)
}

/// Digests every file of a model folder and compares the digests with the pinned and recorded ones.
///
/// # Errors
///
/// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged) with the file's name if one differs.
pub fn verify(folder: &Path) -> Result<Verified> {
    let manifest = Manifest::read(folder)?;
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let pinned = name.as_deref().and_then(PinnedModel::known);
    let mut digests = Vec::new();
    let mut total_bytes = 0;
    for file in TAKEN {
        let path = folder.join(file);
        if !path.exists() {
            if let Some(required) = REQUIRED.into_iter().find(|required| *required == file) {
                return Err(Error::MissingFile { folder: folder.to_owned(), file: required });
            }
            if manifest.as_ref().is_some_and(|manifest| manifest.files.contains_key(file)) {
                return Err(Error::damaged(&path, "it no longer exists"));
            }
            continue;
        }
        let (actual, bytes) = files::digest_of(&path)?;
        total_bytes += bytes;
        if let Some(manifest) = &manifest {
            manifest.check(folder, file, &actual)?;
        }
        match pinned.as_ref().and_then(|model| model.digest_of(file)) {
            Some(expected) if expected != actual => {
                return Err(Error::Checksum { path, expected, actual });
            }
            _ => digests.push(actual),
        }
    }
    weights_file::check_finite(folder)?;
    // The three required files come first in TAKEN.
    let fingerprint = Recipe::read(folder)?.fingerprint(&digests[0], &digests[1], &digests[2]);
    Ok(Verified { fingerprint, bytes: total_bytes, pinned: pinned.is_some() })
}
