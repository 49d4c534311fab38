//! The context of one project: opening, saving and closing it, and how it stands.

mod embed;
mod history;
mod query;
mod scan;
mod serve;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use waypost_derived::files::dir_bytes;
use waypost_ranking::Analyzer;

use self::embed::Model;
use self::history::Past;
use crate::index::Index;
use crate::snapshot::{self, Notes};
use crate::store::Store;
use crate::text::short_hash;
use crate::{Error, Options, Result, Root, Rules, SAMPLES_MAX, Skip, Stat, Status};

/// Says whether to stop.
pub type Cancel<'a> = &'a (dyn Fn() -> bool + Sync);

/// What is made of the same bytes changes with this number.
const EXTRACTION: u32 = 2;

/// A project's journals, documents and code headers.
///
/// Queries go on whatever else is called meanwhile; of scans and updates one runs at a time.
#[derive(Debug)]
pub struct Context {
    root: Root,
    rules: Rules,
    dir: PathBuf,
    options: Options,
    analyzer: Analyzer,
    store: Store,
    index: RwLock<Index>,
    past: RwLock<Past>,
    survey: RwLock<Survey>,
    /// Files that could not be taken apart, as they were then: not tried again before they change.
    refused: Mutex<BTreeMap<String, (Stat, Skip)>>,
    /// Files that an answer found to be other than the index says.
    stale: Mutex<Vec<String>>,
    /// Held by a scan, an update and a save.
    changing: Mutex<()>,
    /// Held while parts of the text indexes are merged.
    merging: Mutex<()>,
    /// Held while vectors are made.
    model: Mutex<Option<Model>>,
    pending: AtomicU64,
    /// Chunks that were found to lack a vector.
    lacking: AtomicU64,
    /// Raised with every change of the index.
    version: AtomicU64,
    scanning: AtomicBool,
    /// What the snapshot lacks: changes of files.
    changes: AtomicU64,
    /// Whether something else is newer than the snapshot, which is not worth writing it.
    noted: AtomicBool,
    rebuilt: Option<String>,
    /// Held as long as it is open.
    _lock: File,
}

/// What the last scan saw of the folder.
#[derive(Debug, Default)]
struct Survey {
    skipped: BTreeMap<Skip, u64>,
    samples: BTreeMap<Skip, Vec<String>>,
    dirs: Vec<String>,
    truncated: bool,
    indexed_at: Option<i64>,
}

impl Context {
    /// Opens the project in `root`; what is derived from it is kept in `dir`, which need not be there
    /// and must be left out of the project if it is inside. Takes what was saved there, and reads no
    /// file of the project: call [`scan`](Self::scan).
    ///
    /// # Errors
    /// If `root` is no folder, a glob of the options is none, or another process has `dir` open.
    /// What is damaged is no error: it is set aside, and [`Status::rebuilt`] says why.
    pub fn open(root: &Path, dir: &Path, options: Options) -> Result<Self> {
        let root = Root::open(root)?;
        let rules = Rules::new(&options.discovery)?;
        fs::create_dir_all(dir).map_err(|it| Error::io(dir, it))?;
        let lock = lock(dir)?;
        let settings = settings(&options);
        let (store, mut rebuilt) = Store::open(&dir.join("state"))?;
        let loaded = match snapshot::load(&dir.join("index")) {
            Ok(loaded) => loaded,
            Err(why) => {
                rebuilt.get_or_insert(why);
                None
            }
        };
        // Without the texts that belong to it the index is of no use, nor with other settings.
        let is_whole = rebuilt.is_none();
        let loaded = loaded.filter(|(_, notes)| is_whole && notes.settings == settings);
        let (index, notes) = loaded.unwrap_or_default();
        let survey = Survey { indexed_at: notes.indexed_at, ..Survey::default() };
        let past = Past::load(&dir.join("history"), options.git);
        let embedder = options.embedder.clone();
        let context = Self {
            root,
            rules,
            dir: dir.to_owned(),
            options,
            analyzer: Analyzer::english(),
            store,
            index: RwLock::new(index),
            past: RwLock::new(past),
            survey: RwLock::new(survey),
            refused: Mutex::default(),
            stale: Mutex::default(),
            changing: Mutex::default(),
            merging: Mutex::default(),
            model: Mutex::default(),
            pending: AtomicU64::new(0),
            lacking: AtomicU64::new(0),
            version: AtomicU64::new(0),
            scanning: AtomicBool::new(false),
            changes: AtomicU64::new(0),
            noted: AtomicBool::new(false),
            rebuilt,
            _lock: lock,
        };
        if embedder.is_some() {
            context.set_embedder(embedder)?;
        }
        Ok(context)
    }

    /// The project's folder.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// The folders that belong to the project, relative to it (`""` is the project's own): those to
    /// watch. None before the first scan.
    pub fn watched(&self) -> Vec<String> {
        self.survey.read().dirs.clone()
    }

    /// How things stand.
    pub fn status(&self) -> Status {
        let survey = self.survey.read();
        let index = self.index.read();
        let mut status = Status {
            files: index.files.len() as u64,
            pending: self.pending.load(Ordering::Relaxed),
            scanning: self.scanning.load(Ordering::Relaxed),
            truncated: survey.truncated,
            indexed_at: survey.indexed_at,
            rebuilt: self.rebuilt.clone(),
            memory_bytes: index.bytes(),
            ..Status::default()
        };
        for (_, chunk) in index.chunks() {
            *status.chunks.entry(chunk.kind).or_default() += 1;
        }
        for (_, file) in index.files() {
            status.parsed_by_lines += u64::from(file.flags.by_lines);
            for (kind, count) in &file.redactions {
                *status.redactions.entry(String::from(&**kind)).or_default() += u64::from(*count);
            }
        }
        status.vectors = index.vectors.as_ref().map_or(0, |it| it.len() as u64);
        drop(index);
        for (&skip, &count) in &survey.skipped {
            *status.skipped.entry(skip.name()).or_default() += count;
        }
        for (&skip, paths) in &survey.samples {
            status.skipped_samples.entry(skip.name()).or_default().extend(paths.iter().cloned());
        }
        drop(survey);
        for (path, (_, skip)) in self.refused.lock().iter().filter(|(_, it)| it.1.is_counted()) {
            *status.skipped.entry(skip.name()).or_default() += 1;
            let samples = status.skipped_samples.entry(skip.name()).or_default();
            if samples.len() < SAMPLES_MAX {
                samples.push(path.clone());
            }
        }
        let past = self.past.read();
        status.head = past.history.as_ref().map(|it| it.head().to_owned());
        status.commits = past.history.as_ref().map_or(0, |it| it.commits().len() as u64);
        status.history_error.clone_from(&past.error);
        drop(past);
        status.vectors_pending = self.lacking.load(Ordering::Relaxed);
        status.disk_bytes = dir_bytes(&self.dir);
        status
    }

    /// Writes what has changed since it was written last, and waits for the disk; false if there
    /// was nothing. What is not saved when the process ends is read again from the project.
    pub fn save(&self) -> Result<bool> {
        let _changing = self.changing.lock();
        if self.changes.swap(0, Ordering::Relaxed) == 0 {
            return Ok(false);
        }
        self.write()?;
        Ok(true)
    }

    /// Saves and closes.
    pub fn close(self) -> Result<()> {
        if self.changes.load(Ordering::Relaxed) > 0 || self.noted.load(Ordering::Relaxed) {
            self.write()?;
        }
        self.store.close()
    }

    fn write(&self) -> Result<()> {
        self.noted.store(false, Ordering::Relaxed);
        self.store.sync()?;
        self.sync_vectors()?;
        let indexed_at = self.survey.read().indexed_at;
        let notes = Notes { indexed_at, settings: settings(&self.options) };
        let bytes = snapshot::encode(&self.index.read_recursive(), &notes);
        snapshot::write(&self.dir.join("index"), &bytes)
    }

    /// Files that are left out, for which there is a reason worth telling.
    fn skipped(&self) -> u64 {
        let refused = self.refused.lock().values().filter(|it| it.1.is_counted()).count();
        self.survey.read().skipped.values().sum::<u64>() + refused as u64
    }

    fn history(&self) -> Option<Arc<crate::past::History>> {
        self.past.read().history.clone()
    }
}

/// What the index depends on beside the files.
fn settings(options: &Options) -> u64 {
    let discovery = &options.discovery;
    short_hash(format!("{EXTRACTION} {discovery:?}").as_bytes())
}

/// One process at a time has a folder open.
fn lock(dir: &Path) -> Result<File> {
    let path = dir.join("lock");
    let file = File::create(&path).map_err(|it| Error::io(&path, it))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(Error::InUse { path }),
        Err(fs::TryLockError::Error(error)) => Err(Error::io(path, error)),
    }
}
