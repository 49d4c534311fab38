//! The project's context inside the service: the index, what is known of it, and what is asked of
//! the thread that keeps it fresh.

mod items;
mod keeper;
mod memories;

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use waypost_api as api;
use waypost_context::{Context, Discovery, Error, How, Limits, Mode, Watch};
use waypost_project::{ContextSettings, WatchMode};

use crate::error::chain;
use crate::http::failure::Failure;

pub(crate) use self::items::{Asked, asks_the_project, find};
pub(crate) use self::keeper::keep;

/// Bytes of what git ignores everywhere that are read.
const IGNORE_BYTES_MAX: u64 = 256 << 10;
/// Threads that read and parse files for one scan.
const THREADS_MAX: usize = 4;

/// What of the project a task needs.
#[derive(Debug)]
pub(crate) struct ProjectContext {
    /// The index, or why there is none.
    index: Result<Context, String>,
    root: PathBuf,
    mode: Mode,
    watch: Mutex<Option<Arc<Watch>>>,
    /// Who waits for a scan that begins from now on; none after the last one.
    orders: Mutex<Option<Vec<Order>>>,
    last_scan: Mutex<Option<api::ContextScan>>,
}

/// Somebody who waits for a scan, and gets nothing if there will be none.
type Order = oneshot::Sender<Result<api::ContextScan, Failure>>;

impl ProjectContext {
    /// Takes up what an earlier process left. Nothing is scanned before the keeper runs. An index
    /// that cannot be opened leaves the service without a context: everything in it can be made
    /// again, and memories cannot.
    pub(crate) fn open(
        root: &Path,
        dir: &Path,
        settings: &ContextSettings,
    ) -> anyhow::Result<Self> {
        let index = match off(settings) {
            Some(why) => {
                tracing::info!(why, "context is off");
                Err(why.to_owned())
            }
            None => match Context::open(root, dir, options(root, dir, settings)?) {
                Err(error @ (Error::Glob { .. } | Error::Kind { .. })) => {
                    bail!("the settings of context: {error}")
                }
                opened => opened.map_err(|error| {
                    let error = chain(&error);
                    tracing::error!(error, "the index of the project cannot be opened");
                    "the index of the project cannot be opened; the service's log has the cause"
                        .to_owned()
                }),
            },
        };
        if let Ok(context) = &index
            && let Some(why) = context.status().rebuilt
        {
            tracing::warn!(why, "the index of the project is built anew");
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
            orders: Mutex::new(Some(Vec::new())),
            last_scan: Mutex::default(),
        })
    }

    /// The index, if there is one.
    pub(crate) fn index(&self) -> Option<&Context> {
        self.index.as_ref().ok()
    }

    /// The index, or 409 with what to do.
    pub(crate) fn required(&self) -> Result<&Context, Failure> {
        self.index.as_ref().map_err(|why| {
            let detail = format!("there is no context: {why}");
            Failure::new(http::StatusCode::CONFLICT, detail).of(waypost_api::ProblemKind::NoContext)
        })
    }

    /// Orders a scan; what it found comes when it is through.
    pub(crate) fn order_scan(
        &self,
    ) -> Result<oneshot::Receiver<Result<api::ContextScan, Failure>>, Failure> {
        self.required()?;
        let (sender, answer) = oneshot::channel();
        self.orders.lock().as_mut().ok_or_else(Failure::stopping)?.push(sender);
        self.wake();
        Ok(answer)
    }

    /// Has the keeper look at what there is to do.
    pub(crate) fn wake(&self) {
        if let Some(watch) = &*self.watch.lock() {
            watch.wake();
        }
    }

    /// How it is.
    pub(crate) fn status(&self) -> api::ContextStatus {
        let how = self.watch.lock().as_ref().map_or(How::Off, |it| it.how());
        items::status(self.index.as_ref(), *self.last_scan.lock(), &how)
    }

    /// Writes what makes the next start fast.
    pub(crate) fn close(self) {
        if let Ok(context) = self.index
            && let Err(error) = context.close()
        {
            tracing::warn!(error = chain(&error), "the index of the project could not be closed");
        }
    }
}

/// Why nothing is indexed, if the settings say so.
fn off(settings: &ContextSettings) -> Option<&'static str> {
    if !settings.enabled {
        return Some("it is switched off: set context.enabled to true");
    }
    (settings.is_home && !settings.allow_home).then_some(
        "the project is a home, or holds one: start the service for a folder in it, or set context.allow_home to true",
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
    // What the service writes is not what it reads, wherever in the project it is.
    let data_dir = dir.parent().and_then(|it| it.strip_prefix(root).ok());
    // A linked working tree uses the vectors that the main one made of the same texts.
    let main = waypost_context::main_worktree(root).ok().flatten();
    let vectors_beside = main.zip(dir.strip_prefix(root).ok()).map(|(main, dir)| main.join(dir));
    exclude.extend(data_dir.filter(|it| !it.as_os_str().is_empty()).map(pattern));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(waypost_context::Options {
        discovery: Discovery {
            kinds,
            exclude,
            include: settings.include.clone(),
            global_ignore: settings.git_ignore_file.as_deref().map(ignored).unwrap_or_default(),
            limits: Limits {
                code_bytes_max: settings.code_bytes_max,
                document_bytes_max: settings.document_bytes_max,
                files_max: settings.files_max,
                text_bytes_max: settings.text_bytes_max,
                ..Limits::default()
            },
        },
        vectors_max: settings.vectors_max,
        vectors_beside,
        git: settings.git,
        threads: cores.min(THREADS_MAX),
        ..waypost_context::Options::default()
    })
}

/// The lines of what git ignores everywhere; none if the file is not there.
fn ignored(file: &Path) -> Vec<String> {
    let mut text = String::new();
    let read = File::open(file).and_then(|it| it.take(IGNORE_BYTES_MAX).read_to_string(&mut text));
    if let Err(error) = read
        && error.kind() != ErrorKind::NotFound
    {
        tracing::warn!(%error, "what git ignores everywhere cannot be read");
    }
    text.lines().map(str::to_owned).collect()
}

/// A line of a `.gitignore` for exactly this folder of the project.
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
