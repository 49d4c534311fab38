//! The context of one project: opening, saving, closing and status.

mod embed;
mod history;
mod query;
mod scan;
mod serve;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use rustix::fs::OFlags;
use waypost_ranking::{Analyzer, Slot};
use waypost_time::Timestamp;

use self::embed::Model;
use self::history::Past;
use crate::files::{self, dir_bytes};
use crate::index::Index;
use crate::snapshot::{self, Notes};
use crate::text::short_hash;
use crate::texts::{TextAt, Texts};
use crate::{Error, Options, Result, Root, Rules, SAMPLES_MAX, Skip, Stat, Status, Walk};

/// Returns whether to stop.
pub type Cancel<'a> = &'a (dyn Fn() -> bool + Sync);

/// The folder that held the texts before they were in a file.
const OUTDATED: &str = "state";
/// The version of extraction: raised when the same bytes give a different result.
const EXTRACTION: u32 = 2;

/// A project's journals, documents and code headers.
///
/// Queries proceed whatever else is called at the same time; only one scan or update runs at a
/// time.
#[derive(Debug)]
pub struct Context {
    root: Root,
    rules: Rules,
    dir: PathBuf,
    options: Options,
    analyzer: Analyzer,
    index: RwLock<Index>,
    /// The index holds the position of each text in this file, so take it while the index is
    /// locked.
    texts: RwLock<Arc<Texts>>,
    past: RwLock<Past>,
    survey: RwLock<Survey>,
    /// Files that could not be parsed, with their state then: not retried until they change.
    refused: Mutex<BTreeMap<String, (Stat, Skip)>>,
    /// Files that a query found to differ from the index.
    stale: Mutex<Vec<String>>,
    /// Held by a scan, an update and a save.
    changing: Mutex<()>,
    /// Held while parts of the text indexes are merged.
    merging: Mutex<()>,
    /// Held while vectors are computed.
    model: Mutex<Option<Model>>,
    pending: AtomicU64,
    /// Chunks known to lack a vector.
    lacking: AtomicU64,
    /// Raised by every change of the index.
    version: AtomicU64,
    scanning: AtomicBool,
    /// Changes of files that the snapshot lacks.
    changes: AtomicU64,
    /// Whether anything else is newer than the snapshot; not worth a write on its own.
    noted: AtomicBool,
    rebuilt: Option<String>,
    /// Held while the context is open.
    _lock: [File; 2],
}

/// The result of the last scan's walk.
#[derive(Debug, Default)]
struct Survey {
    /// Without the files that it found.
    walk: Walk,
    indexed_at: Option<Timestamp>,
}

impl Context {
    /// Opens the project in `root` and stores derived data in `dir`, which need not exist and must
    /// be excluded from the project if it is inside. Loads what was saved there, and reads no file
    /// of the project: call [`scan`](Self::scan).
    ///
    /// # Errors
    /// If `root` is not a folder, a glob of the options is invalid, or another process has `dir`
    /// open. Damaged data is not an error: it is set aside, and [`Status::rebuilt`] gives the
    /// reason.
    pub fn open(root: &Path, dir: &Path, options: Options) -> Result<Self> {
        let root = Root::open(root)?;
        let rules = Rules::new(&options.discovery)?;
        fs::create_dir_all(dir).map_err(|error| Error::io(dir, error))?;
        let lock = lock(dir)?;
        let settings = settings(&options);
        let (saved, rebuilt) = match Self::saved(dir, settings) {
            Ok(saved) => (saved, None),
            Err(why) => (None, Some(why)),
        };
        let (index, notes, texts) = match saved {
            Some(saved) => saved,
            None => (Index::default(), Notes::default(), Texts::create(dir)?),
        };
        texts.remove_others(dir)?;
        // If it cannot be removed, it only takes space.
        drop(fs::remove_dir_all(dir.join(OUTDATED)));
        let survey = Survey { indexed_at: notes.indexed_at, ..Survey::default() };
        let past = Past::load(&dir.join("history"), options.git);
        let embedder = options.embedder.clone();
        let context = Self {
            root,
            rules,
            dir: dir.to_owned(),
            options,
            analyzer: Analyzer::english(),
            index: RwLock::new(index),
            texts: RwLock::new(Arc::new(texts)),
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

    /// What was saved, if it is valid and made with these settings.
    fn saved(
        dir: &Path,
        settings: u64,
    ) -> std::result::Result<Option<(Index, Notes, Texts)>, String> {
        let loaded = snapshot::load(&dir.join("index"))?;
        let Some((index, notes)) = loaded.filter(|(_, notes)| notes.settings == settings) else {
            return Ok(None);
        };
        let texts = Texts::open(dir, notes.texts)?;
        Ok(Some((index, notes, texts)))
    }

    /// The project's folder.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// The folders that belong to the project, relative to it (`""` is the project's own): the
    /// folders to watch. Empty before the first scan.
    pub fn watched(&self) -> Vec<String> {
        self.survey.read().walk.dirs.clone()
    }

    /// The current status.
    pub fn status(&self) -> Status {
        let survey = self.survey.read();
        let index = self.index.read();
        let mut status = Status {
            files: index.files.len() as u64,
            pending: self.pending.load(Ordering::Relaxed),
            scanning: self.scanning.load(Ordering::Relaxed),
            truncated: survey.walk.truncated,
            indexed_at: survey.indexed_at,
            rebuilt: self.rebuilt.clone(),
            memory_bytes: index.bytes(),
            ..Status::default()
        };
        for (_, chunk) in index.chunks() {
            *status.chunks.entry(chunk.kind).or_default() += 1;
        }
        for (_, file) in index.files() {
            status.parsed_by_lines += u64::from(file.by_lines);
            for (kind, count) in &file.redactions {
                *status.redactions.entry(String::from(&**kind)).or_default() += u64::from(*count);
            }
        }
        status.vectors = index.vectors.as_ref().map_or(0, |vector| vector.len() as u64);
        drop(index);
        for (&skip, &count) in &survey.walk.skipped {
            *status.skipped.entry(skip.name()).or_default() += count;
        }
        for (&skip, paths) in &survey.walk.samples {
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
        status.head = past.history.as_ref().map(|history| history.head().to_owned());
        status.commits = past.history.as_ref().map_or(0, |history| history.commits().len() as u64);
        status.history_error.clone_from(&past.error);
        drop(past);
        status.vectors_pending = self.lacking.load(Ordering::Relaxed);
        status.disk_bytes = dir_bytes(&self.dir);
        status
    }

    /// Writes what has changed since the last save and syncs; returns false if nothing had changed.
    /// Unsaved data is read again from the project after the process ends.
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
        Ok(())
    }

    fn write(&self) -> Result<()> {
        self.noted.store(false, Ordering::Relaxed);
        self.give_room_back()?;
        let texts = Arc::clone(&self.texts.read());
        texts.sync()?;
        self.sync_vectors()?;
        let indexed_at = self.survey.read().indexed_at;
        let notes = Notes { indexed_at, settings: settings(&self.options), texts: texts.mark() };
        let index = self.index.read_recursive();
        files::replace(&self.dir.join("index"), |out| snapshot::encode(&index, &notes, out))?;
        drop(index);
        texts.remove_others(&self.dir)
    }

    /// Copies the live texts to a new file if most of the file is dead. Nothing is added meanwhile.
    fn give_room_back(&self) -> Result<()> {
        let (mut chunks, texts): (Vec<(TextAt, Slot)>, Arc<Texts>) = {
            let index = self.index.read_recursive();
            let chunks = index.chunks().map(|(slot, it)| (it.text, slot)).collect();
            (chunks, Arc::clone(&self.texts.read()))
        };
        if !texts.is_wasteful(chunks.iter().map(|chunk| u64::from(chunk.0.bytes)).sum()) {
            return Ok(());
        }
        chunks.sort_unstable_by_key(|chunk| (chunk.0.offset, chunk.1));
        let places: Vec<TextAt> = chunks.iter().map(|chunk| chunk.0).collect();
        let (copy, moved) = texts.copy(&self.dir, &places)?;
        let mut index = self.index.write();
        for ((_, slot), at) in chunks.into_iter().zip(moved) {
            index.move_text(slot, at);
        }
        *self.texts.write() = Arc::new(copy);
        Ok(())
    }

    /// Files that were skipped for a reason worth reporting.
    fn skipped(&self) -> u64 {
        let refused = self.refused.lock().values().filter(|value| value.1.is_counted()).count();
        self.survey.read().walk.skipped.values().sum::<u64>() + refused as u64
    }

    fn history(&self) -> Option<Arc<crate::history::History>> {
        self.past.read().history.clone()
    }
}

/// Everything besides the files that the index depends on.
fn settings(options: &Options) -> u64 {
    let discovery = &options.discovery;
    short_hash(format!("{EXTRACTION} {discovery:?}").as_bytes())
}

/// Ensures that only one process has the folder open. The folder stays locked if the file in it is
/// removed; earlier releases lock the file alone.
fn lock(dir: &Path) -> Result<[File; 2]> {
    let path = dir.join("lock");
    // Does not follow a link, and changes nothing before the lock is held.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.mode(0o600).custom_flags(flags.bits().cast_signed());
    let file = options.open(&path).map_err(|error| Error::io(&path, error))?;
    let folder = File::open(dir).map_err(|error| Error::io(dir, error))?;
    for (locked, path) in [(&folder, dir), (&file, &path)] {
        locked.try_lock().map_err(|error| match error {
            fs::TryLockError::WouldBlock => Error::InUse { path: path.to_owned() },
            fs::TryLockError::Error(error) => Error::io(path, error),
        })?;
    }
    Ok([folder, file])
}
