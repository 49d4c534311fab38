//! The project's context inside the service: the index, its state, and requests to the thread that
//! keeps it fresh.

pub(crate) mod keeper;

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use parking_lot::Mutex;
use rustix::fs::OFlags;
use tokio::sync::oneshot;
use waypost_api as api;
use waypost_context::{Context, Error, How, Mode, Watch};
use waypost_project::{ContextSettings, WatchMode};

use crate::error::chain;

/// Maximum size of the user's global ignore file.
const IGNORE_BYTES_MAX: u64 = 256 << 10;
/// Threads that read and parse files for one scan.
const THREADS_MAX: usize = 4;

/// The project context.
#[derive(Debug)]
pub(crate) struct ProjectContext {
    /// The index, or why there is none.
    index: Result<Context, String>,
    root: PathBuf,
    mode: Mode,
    watch: Mutex<Option<Arc<Watch>>>,
    /// Requests for a scan that starts after the request; none after the last one.
    requests: Mutex<Option<Vec<ScanRequest>>>,
    last_scan: Mutex<Option<api::ContextScan>>,
}

/// The sender of a scan's result; it is dropped if there is none.
type ScanRequest = oneshot::Sender<Result<api::ContextScan, Unavailable>>;

/// Why there is no index, or no scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unavailable {
    /// There is no index, for this reason.
    Off(String),
    /// The service is stopping.
    Stopping,
    /// The scan failed; the log has the cause.
    ScanFailed,
}

impl ProjectContext {
    /// Opens the saved index; the keeper scans later. If the index cannot be opened, the service
    /// runs without project context: unlike memories, it can be rebuilt.
    pub(crate) fn open(
        root: &Path,
        dir: &Path,
        settings: &ContextSettings,
    ) -> anyhow::Result<Self> {
        let index = match off(settings) {
            Some(why) => {
                tracing::info!(why, "context is disabled");
                Err(why.to_owned())
            }
            None => match Context::open(root, dir, options(root, dir, settings)?) {
                Err(error @ (Error::Glob { .. } | Error::Kind { .. })) => {
                    bail!("the settings of context: {error}")
                }
                opened => opened.map_err(|error| {
                    let error = chain(&error);
                    tracing::error!(error, "failed to open the context index");
                    "failed to open the context index; see the service's log".to_owned()
                }),
            },
        };
        if let Ok(context) = &index
            && let Some(why) = context.status().rebuilt
        {
            tracing::warn!(why, "rebuilding the context index");
        }
        Ok(Self {
            index,
            root: root.to_owned(),
            mode: match settings.watch {
                WatchMode::Native => Mode::Native,
                WatchMode::Poll => Mode::Poll,
                WatchMode::Off => Mode::Off,
            },
            watch: Mutex::default(),
            requests: Mutex::new(Some(Vec::new())),
            last_scan: Mutex::default(),
        })
    }

    /// The index, if there is one.
    pub(crate) fn index(&self) -> Option<&Context> {
        self.index.as_ref().ok()
    }

    /// Why there is no index.
    pub(crate) fn why_off(&self) -> Option<&str> {
        self.index.as_ref().err().map(String::as_str)
    }

    /// The index, or why there is none.
    pub(crate) fn required(&self) -> Result<&Context, Unavailable> {
        self.index.as_ref().map_err(|why| Unavailable::Off(why.clone()))
    }

    /// Requests a scan; the receiver gets its result.
    pub(crate) fn request_scan(
        &self,
    ) -> Result<oneshot::Receiver<Result<api::ContextScan, Unavailable>>, Unavailable> {
        self.required()?;
        let (sender, answer) = oneshot::channel();
        self.requests.lock().as_mut().ok_or(Unavailable::Stopping)?.push(sender);
        self.wake();
        Ok(answer)
    }

    /// Wakes the keeper.
    pub(crate) fn wake(&self) {
        if let Some(watch) = &*self.watch.lock() {
            watch.wake();
        }
    }

    /// The last complete scan.
    pub(crate) fn last_scan(&self) -> Option<api::ContextScan> {
        *self.last_scan.lock()
    }

    /// How changes are detected.
    pub(crate) fn watching(&self) -> How {
        self.watch.lock().as_ref().map_or(How::Off, |watch| watch.how())
    }

    /// Saves the index and the vectors, so that the next start is fast.
    pub(crate) fn close(self) {
        if let Ok(context) = self.index
            && let Err(error) = context.close()
        {
            tracing::warn!(error = chain(&error), "failed to close the context index");
        }
    }
}

/// Why the settings disable indexing, if they do.
fn off(settings: &ContextSettings) -> Option<&'static str> {
    if !settings.enabled {
        return Some("it is disabled: set context.enabled to true");
    }
    (settings.is_home && !settings.allow_home).then_some(
        "the project folder is a home folder or contains one: start the service in a folder inside it, or set context.allow_home to true",
    )
}

fn options(
    root: &Path,
    dir: &Path,
    settings: &ContextSettings,
) -> anyhow::Result<waypost_context::Options> {
    let mut kinds = Vec::with_capacity(settings.types.len());
    for (name, glob) in &settings.types {
        kinds.push((glob.clone(), name.parse().context("context.types")?));
    }
    let mut exclude = settings.exclude.clone();
    // The index never covers files that the service writes, wherever in the project they are.
    let data_dir = dir.parent().and_then(|parent| parent.strip_prefix(root).ok());
    // A linked working tree uses the vectors of the main working tree.
    let main = waypost_context::main_worktree(root).ok().flatten();
    let vectors_beside = main.zip(dir.strip_prefix(root).ok()).map(|(main, dir)| main.join(dir));
    exclude.extend(data_dir.filter(|dir| !dir.as_os_str().is_empty()).map(pattern));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut options = waypost_context::Options::default()
        .with_vectors_max(settings.vectors_max)
        .with_vectors_beside(vectors_beside)
        .with_threads(cores.min(THREADS_MAX));
    options.git = settings.git;
    let discovery = &mut options.discovery;
    discovery.kinds = kinds;
    discovery.exclude = exclude;
    discovery.include.clone_from(&settings.include);
    discovery.global_ignore = settings.git_ignore_file.as_deref().map(ignored).unwrap_or_default();
    let limits = &mut discovery.limits;
    limits.code_bytes_max = settings.code_bytes_max;
    limits.document_bytes_max = settings.document_bytes_max;
    limits.files_max = settings.files_max;
    limits.text_bytes_max = settings.text_bytes_max;
    Ok(options)
}

/// The lines of git's global ignore file; none if it does not exist.
fn ignored(file: &Path) -> Vec<String> {
    let mut text = String::new();
    // Opening a pipe would wait for a writer.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(file);
    let read = opened.and_then(|opened| opened.take(IGNORE_BYTES_MAX).read_to_string(&mut text));
    if let Err(error) = read
        && error.kind() != ErrorKind::NotFound
    {
        tracing::warn!(%error, "failed to read git's global ignore rules");
    }
    text.lines().map(str::to_owned).collect()
}

/// A `.gitignore` line that matches exactly this folder of the project.
fn pattern(folder: &Path) -> String {
    let mut line = "/".to_owned();
    for c in folder.to_string_lossy().chars() {
        if "*?[]!#\\ ".contains(c) {
            line.push('\\');
        }
        line.push(c);
    }
    line.push('/');
    line
}
