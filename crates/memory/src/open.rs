//! Opening: the log first, then everything that is derived from it.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use parking_lot::{Mutex, RwLock};
use waypost_derived::files::{dir_bytes, remove_dir, sync_dir};
use waypost_derived::{MARKED, Unusable, boot_id, remove_leftovers, set_aside};
use waypost_log::{FolderLock, Log, OnDamage, Options};
use waypost_ranking::Analyzer;

use crate::codec::Reader;
use crate::graph::Graph;
use crate::keys;
use crate::layout::check_format;
use crate::outbox::Outbox;
use crate::rebuild::Lacking;
use crate::record::{RECORD_VERSION, Record, can_read};
use crate::search::Answers;
use crate::snapshot::Snapshot;
use crate::state::{State, damaged};
use crate::store::{Changes, Store};
use crate::txn::{Txn, apply, link_digest};
use crate::vectors::{VectorLog, log_error};
use crate::view::View;
use crate::watched::Watched;
use crate::{
    Error, IndexProgress, MemoryId, OpenPhase, OpenProgress, OpenReport, Result, StoreOptions,
};

/// An index that lacks no more memories than these is completed at once, whatever was asked for.
const INDEXED_AT_OPENING: usize = 2_048;
/// A replay commits and tells its progress after so many records.
const REPLAY_RECORDS: u64 = 512;
/// A state that takes so many times its log's bytes is built anew …
const OUTGROWN_FACTOR: u64 = 8;
/// … unless it is smaller than this.
const OUTGROWN_BYTES_MIN: u64 = 256 * 1024 * 1024;

/// The folders of a store.
#[derive(Debug, Clone)]
pub(crate) struct Folders {
    pub(crate) data: PathBuf,
    pub(crate) memory: PathBuf,
    pub(crate) log: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) index: PathBuf,
    pub(crate) vectors: PathBuf,
}

impl Folders {
    pub(crate) fn new(data: &Path) -> Self {
        let memory = data.join("memory");
        Self {
            data: data.to_path_buf(),
            log: memory.join("log"),
            state: memory.join("state"),
            index: memory.join("index"),
            vectors: memory.join("vectors"),
            memory,
        }
    }

    /// Where a state that cannot be used goes, for whoever wants to know why.
    pub(crate) fn state_aside(&self) -> PathBuf {
        self.memory.join("state.aside")
    }
}

impl Store {
    /// Opens the store in the data folder `dir`, making it if it is not there.
    ///
    /// What is derived is brought up to the log, or built anew if it is damaged or missing.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process has it, [`Error::Newer`] if a newer program wrote it,
    /// [`Error::Damaged`] if the log itself is damaged: [`repair`](crate::repair) salvages it.
    pub fn open(dir: &Path, mut options: StoreOptions) -> Result<(Self, OpenReport)> {
        let folders = Folders::new(dir);
        for folder in [&folders.data, &folders.memory, &folders.index] {
            fs::create_dir_all(folder).map_err(|it| Error::io(folder, it))?;
        }
        let lock = FolderLock::take(dir).map_err(|it| log_error(&it, dir))?;
        check_format(dir)?;
        options.free_bytes_min = free_bytes_min(dir, options.free_bytes_min);
        let mut report = OpenReport::default();
        // Three long readings of unlike files: the log and then the state here, the snapshot of
        // the index beside both, the vectors beside the state.
        let (log, state, snapshot, vectors) = thread::scope(|scope| {
            let snapshot = scope.spawn(|| Snapshot::load(&folders.index));
            let found = FoundState::in_folder(&folders, &options)?;
            let log_options = Options {
                segment_bytes: options.log_segment_bytes,
                free_bytes_min: options.free_bytes_min,
                on_change: options.on_change,
                ..log_options(found.applied().max(options.reached.sequence))
            };
            let (log, recovery) = match Log::open(&folders.log, &log_options) {
                Ok(opened) => opened,
                Err(error) => {
                    found.give_up();
                    return Err(match log_error(&error, &folders.log) {
                        Error::Damaged(why) => Error::Damaged(format!("memory/log: {why}")),
                        error => error,
                    });
                }
            };
            report.log_truncated_bytes = recovery.truncated_bytes;
            report.is_truncation_unsure = recovery.is_unsure;
            let vectors = scope.spawn(|| VectorLog::open(&folders.vectors, &options));
            let state = found.bring_up(&folders, &log, &options, &mut report)?;
            keep_ids(&state, &log, &options)?;
            let vectors = vectors.join().map_err(|_| panicked("vectors"))??;
            let snapshot = snapshot.join().map_err(|_| panicked("index"))?;
            compare_snapshot(&snapshot, &log)?;
            Ok::<_, Error>((log, state, snapshot, vectors))
        })?;
        let (vectors, discarded) = vectors;
        report.vectors_discarded = discarded;
        let mut store = Self {
            data: folders.data.clone(),
            dir: folders.memory.clone(),
            options,
            log,
            state,
            view: Watched::new(View::new(None)),
            answers: Answers::default(),
            analyzer: Analyzer::english(),
            vectors,
            queue: Mutex::new(VecDeque::new()),
            writer: Mutex::default(),
            write_fault: Mutex::new(None),
            model: RwLock::new(None),
            embedding: Mutex::new(BTreeSet::new()),
            reindexing: AtomicBool::new(false),
            lacking: Mutex::default(),
            text_upkeep: Mutex::default(),
            changed_in_reindex: Mutex::new(None),
            changes: Changes::default(),
            outbox: Outbox::default(),
            closed: AtomicBool::new(false),
            _lock: lock,
        };
        store.load_notices()?;
        let (mut view, lacking) = store.load_view(snapshot, &mut report)?;
        view.graph = load_graph(&store.state)?;
        report.memories = view.len() + lacking.len() as u64;
        store.view = Watched::new(view);
        let is_little = lacking.len() <= INDEXED_AT_OPENING;
        store.lacking = Mutex::new(Lacking::new(lacking));
        if is_little || !store.options.index_later {
            while let Some(IndexProgress { done, total }) = store.build_index()? {
                tell(&store.options, OpenPhase::Index, done, total);
            }
        }
        sync_dir(&folders.memory)?;
        sync_dir(&folders.data)?;
        Ok((store, report))
    }

    /// The index as far as a snapshot has it, and the memories that it lacks.
    fn load_view(
        &self,
        snapshot: std::result::Result<Option<Snapshot>, Unusable>,
        report: &mut OpenReport,
    ) -> Result<(View, Vec<MemoryId>)> {
        let last_sequence = self.log.last_sequence();
        let why = match snapshot {
            Ok(Some(snapshot)) => match self.catch_up(snapshot)? {
                Some(caught_up) => return Ok(caught_up),
                None => "inconsistent with the state".to_owned(),
            },
            Ok(None) if last_sequence == 0 => return Ok((View::new(None), Vec::new())),
            Ok(None) => "missing snapshot".to_owned(),
            Err(Unusable(why)) => why,
        };
        report.index_rebuilt = Some(why);
        Ok((View::new(None), live_ids(&self.state)?))
    }

    /// A snapshot's view without what the log has changed since, and which memories that are;
    /// `None` if it does not fit the state.
    fn catch_up(&self, snapshot: Snapshot) -> Result<Option<(View, Vec<MemoryId>)>> {
        let Snapshot { mut view, position } = snapshot;
        let mut touched = BTreeSet::new();
        for entry in self.log.entries_after(position) {
            let entry = entry.map_err(|it| log_error(&it, &self.dir))?;
            if let Ok(
                Record::Add { id, .. } | Record::Update { id, .. } | Record::Delete { id, .. },
            ) = Record::decode(entry.kind, entry.version, &entry.payload)
            {
                touched.insert(id);
            }
        }
        self.changes.since_snapshot.fetch_add(touched.len() as u64, Ordering::Relaxed);
        for id in &touched {
            view.refresh(*id, None);
        }
        let mut lacking = Vec::new();
        let (mut agrees, mut live) = (true, 0);
        self.state.heads(&mut |id, head| {
            if head.deleted_at.is_some() {
                return Ok(());
            }
            if touched.contains(&id) {
                lacking.push(id);
                return Ok(());
            }
            live += 1;
            agrees &= view
                .fact(id)
                .is_some_and(|it| it.version == head.version && it.text_hash == head.text_hash);
            Ok(())
        })?;
        Ok((agrees && live == view.len()).then_some((view, lacking)))
    }
}

fn panicked(what: &str) -> Error {
    Error::Unavailable(format!("the thread that read the {what} panicked"))
}

/// How much must stay free: as asked, but on a small disk no more than an eighth of it.
fn free_bytes_min(dir: &Path, asked: u64) -> u64 {
    rustix::fs::statvfs(dir)
        .map_or(asked, |it| asked.min(it.f_blocks.saturating_mul(it.f_frsize) / 8))
}

/// The ids of all present memories, in order.
pub(crate) fn live_ids(state: &State) -> Result<Vec<MemoryId>> {
    let mut ids = Vec::new();
    state.heads(&mut |id, head| {
        if head.deleted_at.is_none() {
            ids.push(id);
        }
        Ok(())
    })?;
    Ok(ids)
}

fn tell(options: &StoreOptions, phase: OpenPhase, done: u64, total: u64) {
    if let Some(progress) = &options.progress {
        progress(OpenProgress { phase, done, total });
    }
}

/// How the log of the memories is opened when something else knows of the sequences up to `reached`.
pub(crate) fn log_options(reached: u64) -> Options {
    Options { on_damage: OnDamage::Refuse, reached, can_read, ..Options::default() }
}

/// A snapshot that has more than the log: the log was damaged, and what noted how far it had
/// reached, too.
fn compare_snapshot(
    snapshot: &std::result::Result<Option<Snapshot>, Unusable>,
    log: &Log,
) -> Result<()> {
    let last = log.last_sequence();
    match snapshot {
        Ok(Some(it)) if it.position > last => Err(Error::Damaged(format!(
            "the log is damaged: it ends at record {last}, and the index has record {}",
            it.position
        ))),
        _ => Ok(()),
    }
}

/// The state as it was found, before the log is opened. Nothing on disk was changed by finding it.
#[derive(Debug)]
pub(crate) enum FoundState {
    Missing,
    /// It opens, and has the records up to `applied`.
    Whole {
        state: Box<State>,
        applied: u64,
    },
    Unusable(String),
}

impl FoundState {
    pub(crate) fn in_folder(folders: &Folders, options: &StoreOptions) -> Result<Self> {
        remove_leftovers(&folders.state)?;
        if !folders.state.exists() {
            return Ok(Self::Missing);
        }
        let state = match State::open(&folders.state, options, &boot_id())? {
            Ok(state) => state,
            Err(Unusable(why)) => return Ok(Self::Unusable(why)),
        };
        let whole = applied(&state).and_then(|it| verify_digests(&state).map(|()| it));
        Ok(match whole {
            Ok(applied) => Self::Whole { state: Box::new(state), applied },
            Err(error) => Self::Unusable(error.to_string()),
        })
    }

    /// The last record of the log that it has, 0 if that cannot be told.
    pub(crate) fn applied(&self) -> u64 {
        match self {
            Self::Whole { applied, .. } => *applied,
            Self::Missing | Self::Unusable(_) => 0,
        }
    }

    /// Leaves it as it was.
    pub(crate) fn give_up(self) {
        if let Self::Whole { state, .. } = self {
            // What cannot be synced here is in the log.
            drop(state.close());
        }
    }

    /// Brings the state up to the log; one that cannot be used is set aside and built anew.
    pub(crate) fn bring_up(
        self,
        folders: &Folders,
        log: &Log,
        options: &StoreOptions,
        report: &mut OpenReport,
    ) -> Result<State> {
        let outgrown = OUTGROWN_BYTES_MIN.max(OUTGROWN_FACTOR * log.bytes());
        let is_outgrown = dir_bytes(&folders.state) > outgrown;
        let usable = match self {
            Self::Whole { .. } | Self::Unusable(_) if is_outgrown => {
                Err(Some("it takes too much space".to_owned()))
            }
            Self::Whole { applied, .. } if applied > log.last_sequence() => {
                let last = log.last_sequence();
                return Err(Error::Damaged(format!(
                    "the log ends at record {last}, and the state has record {applied}"
                )));
            }
            Self::Whole { state, .. } => Ok(*state),
            Self::Unusable(why) => Err(Some(why)),
            Self::Missing if log.last_sequence() > 0 => Err(Some("missing".to_owned())),
            Self::Missing => Err(None),
        };
        let state = match usable {
            Ok(state) => state,
            Err(why) => {
                if folders.state.exists() {
                    set_aside(&folders.state)?;
                }
                report.state_rebuilt = why;
                State::open(&folders.state, options, &boot_id())?.map_err(|Unusable(why)| {
                    Error::Damaged(format!("failed to create a state: {why}"))
                })?
            }
        };
        report.replayed_records = replay(&state, log, options)?;
        if let Some(why) = &report.state_rebuilt {
            state.sync()?;
            // What was set aside for no fault of its own helps nobody, and may hold purged texts.
            if why == MARKED {
                remove_dir(&folders.state_aside())?;
            }
        }
        Ok(state)
    }
}

pub(crate) fn applied(state: &State) -> Result<u64> {
    state.get(keys::APPLIED)?.map_or(Ok(0), |it| Reader::new(&it).u64().map_err(damaged))
}

/// Compares the digests of memories and links with what is there.
pub(crate) fn verify_digests(state: &State) -> Result<()> {
    let mut heads = 0;
    state.heads(&mut |_, head| {
        if head.deleted_at.is_none() {
            heads ^= head.digest;
        }
        Ok(())
    })?;
    let mut spaces = 0;
    state.scan(keys::SPACES, &mut |_, value| {
        spaces ^= Reader::new(value).u64().map_err(damaged)?;
        Ok(())
    })?;
    let mut links = 0;
    state.scan(keys::LINKS, &mut |key, value| {
        let edge = keys::edge_of(key).map_err(damaged)?;
        links ^= link_digest(edge, Reader::new(value).time().map_err(damaged)?);
        Ok(())
    })?;
    let stored = state.get(keys::LINKS_DIGEST)?;
    let stored = stored.map_or(Ok(0), |it| Reader::new(&it).u64().map_err(damaged))?;
    if heads != spaces || links != stored {
        return Err(Error::Damaged("a record of the state is missing or stale".to_owned()));
    }
    Ok(())
}

/// Gives out no id again that is known to have been given out: a repair that was killed has made the
/// log whole, and did not come to saying so.
fn keep_ids(state: &State, log: &Log, options: &StoreOptions) -> Result<()> {
    let below = options.reached.id.saturating_add(1);
    if Txn::new(state).next_id()? >= below {
        return Ok(());
    }
    let taken = Record::Taken { below };
    let payload = taken.encode();
    log.append(waypost_log::Record {
        kind: taken.kind(),
        version: RECORD_VERSION,
        payload: &payload,
    })
    .map_err(|it| log_error(&it, Path::new("log")))?;
    replay(state, log, options).map(|_| ())
}

/// Applies what the log has beyond the state. Returns how many records that were.
pub(crate) fn replay(state: &State, log: &Log, options: &StoreOptions) -> Result<u64> {
    let from = applied(state)?;
    let total = log.last_sequence().saturating_sub(from);
    if total == 0 {
        return Ok(0);
    }
    let mut done = 0;
    let mut txn = Txn::new(state);
    let commit = |txn: Txn<'_>| txn.finish().0.iter().try_for_each(|it| state.write(it));
    for entry in log.entries_after(from) {
        let entry = entry.map_err(|it| log_error(&it, Path::new("log")))?;
        let record = Record::decode(entry.kind, entry.version, &entry.payload)
            .map_err(|it| it.of(entry.sequence))?;
        apply(&record, entry.sequence, &mut txn)?;
        done += 1;
        if done % REPLAY_RECORDS == 0 {
            commit(std::mem::replace(&mut txn, Txn::new(state)))?;
            tell(options, OpenPhase::State, done, total);
        }
    }
    commit(txn)?;
    tell(options, OpenPhase::State, total, total);
    Ok(done)
}

pub(crate) fn load_graph(state: &State) -> Result<Graph> {
    let mut graph = Graph::default();
    state.scan(keys::LINKS, &mut |key, value| {
        let edge = keys::edge_of(key).map_err(damaged)?;
        graph.insert(edge, Reader::new(value).time().map_err(damaged)?);
        Ok(())
    })?;
    Ok(graph)
}
