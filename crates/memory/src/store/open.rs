//! Opening: first the journal, then everything derived from it.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use parking_lot::Mutex;
use waypost_projection::files::sync_dir;

use crate::index::Index;
use crate::index::embed::Embedding;
use crate::index::snapshot::Snapshot;
use crate::index::vectors::VectorLog;
use crate::journal::{self, Journal};
use crate::layout::{Folders, check_format};
use crate::record::Record;
use crate::records::Records;
use crate::repairing::refuse_interrupted;
use crate::search::Searcher;
use crate::state::State;
use crate::state::recovery::FoundState;
use crate::state::replay::replay;
use crate::state::txn::Txn;
use crate::store::Store;
use crate::writer::Writer;
use crate::writer::outbox::Outbox;
use crate::{Error, IndexProgress, OpenPhase, OpenReport, Result, StoreOptions};

/// An index that lacks at most this many memories is completed immediately, regardless of options.
const INDEXED_AT_OPENING: u64 = 2_048;

impl Store {
    /// Opens the store in the data folder `dir`, and creates it if it does not exist.
    ///
    /// Derived data is brought up to the log, or rebuilt if it is damaged or missing.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process has it open, [`Error::Newer`] if a newer release wrote
    /// it, [`Error::Damaged`] if the log is damaged: [`repair`](crate::repair) salvages it.
    pub fn open(dir: &Path, mut options: StoreOptions) -> Result<(Self, OpenReport)> {
        let folders = Folders::new(dir);
        let create = |it| fs::create_dir_all(it).map_err(|error| Error::io(it, error));
        create(&folders.data)?;
        let lease = journal::lease(dir)?;
        create(&folders.index)?;
        check_format(dir)?;
        refuse_interrupted(&folders)?;
        options.free_bytes_min = free_bytes_min(dir, options.free_bytes_min);
        let mut report = OpenReport::default();
        // Three long reads of different files: the state, then the journal here, the snapshot of
        // the index beside both, the vectors beside the replay.
        let (journal, state, (snapshot, changed), vectors) = thread::scope(|scope| {
            let snapshot = scope.spawn(|| Snapshot::load(&folders.index));
            let found = FoundState::in_folder(&folders, &options)?;
            let journal_options = journal::options(found.applied().max(options.reached.sequence))
                .with_segment_bytes(options.log_segment_bytes)
                .with_free_bytes_min(options.free_bytes_min)
                .with_on_change(options.on_change);
            let (journal, recovery) =
                match Journal::open(&folders, &journal_options, options.shared_journal.clone()) {
                    Ok(opened) => opened,
                    Err(error) => {
                        found.give_up();
                        return Err(match error {
                            Error::Damaged(why) => Error::Damaged(format!("memory/log: {why}")),
                            error => error,
                        });
                    }
                };
            report.log_truncated_bytes = recovery.truncated_bytes;
            report.is_truncation_unsure = recovery.is_unsure;
            let vectors = scope.spawn(|| VectorLog::open(&folders.vectors, &options));
            let snapshot = snapshot.join().map_err(|_| panicked("index"))?;
            let indexed = snapshot.as_ref().ok().and_then(Option::as_ref).map(|it| it.position);
            let changed_after = indexed.unwrap_or(u64::MAX);
            let (state, replayed) =
                found.bring_up(&folders, &journal, changed_after, &options, &mut report)?;
            if !journal.is_shared() {
                keep_ids(&state, &journal, &options)?;
            }
            let vectors = vectors.join().map_err(|_| panicked("vectors"))??;
            compare_snapshot(indexed, &journal)?;
            Ok::<_, Error>((journal, state, (snapshot, replayed.changed), vectors))
        })?;
        let (vectors, discarded) = vectors;
        report.vectors_discarded = discarded;
        let options = Arc::new(options);
        let records = Arc::new(Records { dir: folders.memory.clone(), journal, state });
        let loaded = Outbox::load(&records).and_then(|outbox| {
            Ok((outbox, Index::load(Arc::clone(&records), snapshot, &changed, &mut report)?))
        });
        let (outbox, index) = match loaded {
            Ok((outbox, index)) => (outbox, Arc::new(index)),
            Err(error) => {
                // Ignored: the log contains what cannot be synced here.
                drop(records.state.close());
                return Err(error);
            }
        };
        let embedding = Arc::new(Embedding::new(Arc::clone(&records), Arc::clone(&index), vectors));
        let store = Self {
            writer: Writer::new(
                Arc::clone(&records),
                Arc::clone(&index),
                outbox,
                folders.clone(),
                Arc::clone(&options),
            )?,
            searcher: Searcher::new(
                Arc::clone(&records),
                Arc::clone(&index),
                Arc::clone(&embedding),
                options.search,
            ),
            folders,
            options,
            records,
            index,
            embedding,
            reindexing: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            clock: Mutex::default(),
            _lease: lease,
        };
        let lacking = store.index_progress().map_or(0, |progress| progress.total);
        if lacking <= INDEXED_AT_OPENING || !store.options.index_later {
            while let Some(IndexProgress { done, total }) = store.build_index()? {
                store.options.report(OpenPhase::Index, done, total);
            }
        }
        sync_dir(&store.folders.memory)?;
        sync_dir(&store.folders.data)?;
        Ok((store, report))
    }
}

fn panicked(what: &str) -> Error {
    Error::Unavailable(format!("the thread that read the {what} panicked"))
}

/// The number of bytes that must stay free: as requested, but at most an eighth of a small disk.
fn free_bytes_min(dir: &Path, asked: u64) -> u64 {
    rustix::fs::statvfs(dir)
        .map_or(asked, |disk| asked.min(disk.f_blocks.saturating_mul(disk.f_frsize) / 8))
}

/// A snapshot that is ahead of the log: the log was damaged, and so was the file that records how
/// far it had reached.
fn compare_snapshot(indexed: Option<u64>, journal: &Journal) -> Result<()> {
    let last = journal.last();
    match indexed {
        Some(position) if position > last => Err(Error::Damaged(format!(
            "the log is damaged: it ends at record {last}, and the index has record {position}"
        ))),
        _ => Ok(()),
    }
}

/// Ensures that no known id is reused: a repair may have been killed after it salvaged the log and
/// before it recorded the ids. A shared journal has the ids itself.
fn keep_ids(state: &State, journal: &Journal, options: &StoreOptions) -> Result<()> {
    let below = options.reached.id.saturating_add(1);
    if Txn::new(state).next_id()? >= below {
        return Ok(());
    }
    let taken = Record::Taken { below };
    let appended = journal.append(state.applied()?, &[taken.encoded()]);
    appended.map_err(|error| journal.error(&error))?;
    replay(state, journal, u64::MAX, options).map(|_| ())
}
