//! Maintenance: snapshots, syncing derived data, closing.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::index::snapshot;
use crate::index::vectors::stored_bytes;
use crate::limits::EXPIRED_AT_ONCE_MAX;
use crate::log_error::vectors_error;
use crate::state::txn::Txn;
use crate::store::Store;
use crate::writer::command::{Command, Outcome};
use crate::writer::lost;
use crate::{Maintained, MemoryId, Result, Timestamp};

/// A snapshot is written after this many changes in a quiet period, otherwise after changes to a
/// tenth of the memories, if that is more.
const SNAPSHOT_CHANGES_MIN: u64 = 1_000;
/// The vectors' files are compacted when they are twice as large as necessary, and at least this
/// large.
const VECTORS_COMPACT_BYTES_MIN: u64 = 32 * 1024 * 1024;

/// About how many vectors are read in one call to find the nearest memories: a fraction of a second.
const NEAREST_VECTORS_MAX: u64 = 1 << 24;

/// A clock has skipped ahead if more than this has passed between two calls of [`Store::expire`].
const CLOCK_SKIP_MIN: Duration = Duration::from_secs(24 * 60 * 60);

impl Store {
    /// Does a bounded piece of maintenance: syncs derived data, searches the nearest memory of some
    /// for [suggestions](Store::suggestions), writes a snapshot of the index after enough changes,
    /// drops unused vectors, records how far notes have been [published](Store::mark_published). Call it at
    /// intervals.
    pub fn maintain(&self) -> Result<Maintained> {
        let told = self.writer.save_told();
        let done = self.keep_up_derived()?;
        Ok(Maintained { told: told?, ..done })
    }

    /// Deletes memories that have expired by a time, at most [`EXPIRED_AT_ONCE_MAX`], and returns how
    /// many; fewer if a [shared journal](waypost_log::SharedJournal) takes fewer at once. Call it at intervals. For a day after the clock has skipped ahead, since the last call or,
    /// the first time, since the last change of a memory, it deletes nothing: an expired memory is
    /// [hidden](crate::Filter::now) by the clock, and visible again if the clock is set back, but a
    /// deletion is final. It also forgets up to
    /// [`KEYS_FORGOTTEN_AT_ONCE_MAX`](crate::limits::KEYS_FORGOTTEN_AT_ONCE_MAX) [request
    /// keys](crate::RequestKey) that are outside of their window.
    pub fn expire(&self, now: Timestamp) -> Result<u64> {
        // If the state cannot be read, the clock is not believed.
        let first = || Some(self.last_change(now).unwrap_or(Timestamp::MIN));
        if !self.clock.lock().believes(now, CLOCK_SKIP_MIN, first) {
            return Ok(0);
        }
        self.forget_keys(now)?;
        let most = self.records.journal.changes_max(EXPIRED_AT_ONCE_MAX);
        let ids: Vec<MemoryId> = {
            let view = self.index.view.read();
            view.expired(now).map(|(_, id)| id).take(most).collect()
        };
        if ids.is_empty() {
            return Ok(0);
        }
        match self.writer.submit_one(Command::Expire { ids, at: now })? {
            Outcome::Expired(count) => Ok(count),
            _ => Err(lost()),
        }
    }

    /// Forgets [request keys](crate::RequestKey) that are outside of their window.
    fn forget_keys(&self, now: Timestamp) -> Result<()> {
        let newest = self.options.key_window_requests;
        if Txn::new(&self.records.state).requests()? <= newest {
            return Ok(());
        }
        self.writer.submit_one(Command::ForgetKeys { newest, at: now }).map(|_| ())
    }

    /// When a memory was last added, changed or deleted, as far as that is not after `now`.
    fn last_change(&self, now: Timestamp) -> Result<Timestamp> {
        let mut last = None;
        self.records.state.heads(&mut |_, head| {
            let times = [Some(head.updated_at), head.deleted_at];
            last = last.max(times.into_iter().flatten().filter(|time| *time <= now).max());
            Ok(())
        })?;
        // An empty store has nothing to delete.
        Ok(last.unwrap_or(now))
    }

    fn keep_up_derived(&self) -> Result<Maintained> {
        let mut done = Maintained::default();
        if self.index.changes.vectors_since_sync.swap(0, Ordering::Relaxed) > 0 {
            self.embedding
                .vectors
                .sync()
                .map_err(|error| vectors_error(&error, &self.records.dir))?;
            done.synced = true;
        }
        if self.index.changes.since_sync.swap(0, Ordering::Relaxed) > 0 {
            self.records.journal.sync()?;
            self.records.state.sync()?;
            done.synced = true;
        }
        self.index.keep_up_text();
        self.index.note_nearest(NEAREST_VECTORS_MAX);
        if !self.index.backlog.is_complete() {
            return Ok(done);
        }
        let enough = SNAPSHOT_CHANGES_MIN.max(self.index.view.read().len() / 10);
        // Or as soon as there are no changes: after a crash, the rest is analysed again.
        let changes = self.index.changes.since_snapshot.load(Ordering::Relaxed);
        let is_quiet = self.index.changes.at_upkeep.swap(changes, Ordering::Relaxed) == changes;
        if changes >= enough || (is_quiet && changes >= SNAPSHOT_CHANGES_MIN) {
            self.write_snapshot()?;
            done.snapshot = true;
        }
        let is_wanted = |number: u64| {
            self.embedding.vectors.bytes() > VECTORS_COMPACT_BYTES_MIN.max(2 * number)
        };
        if self.vector_bytes_wanted().is_some_and(is_wanted) {
            self.compact_vectors()?;
            done.vectors_compacted = true;
        }
        Ok(done)
    }

    pub(super) fn write_snapshot(&self) -> Result<()> {
        let dir = &self.folders.index;
        // A snapshot that was begun earlier may have texts that were removed since.
        let _one_at_a_time = self.index.changes.saving.lock();
        if !self.index.backlog.is_complete() {
            // An earlier one may contain texts that must be removed.
            return snapshot::remove(dir);
        }
        // The writer's lock keeps the position and the view consistent.
        let bytes = {
            let writer = self.writer.lock();
            self.index.changes.since_snapshot.store(0, Ordering::Relaxed);
            let position = self.records.state.applied()?;
            let view = self.index.view.read();
            drop(writer);
            snapshot::encode(&view, position)
        };
        self.records.journal.sync()?;
        self.options.changing();
        snapshot::write(dir, &bytes)?;
        self.options.changing();
        Ok(())
    }

    /// The size of the current vectors on disk; `None` without a model, which defines their length.
    fn vector_bytes_wanted(&self) -> Option<u64> {
        let dimensions = self.embedding.model()?.embedder.model.dimensions;
        Some(self.index.view.read().len() * stored_bytes(dimensions))
    }

    pub(super) fn compact_vectors(&self) -> Result<()> {
        let model = self.embedding.model().map(|model| model.hash);
        let mut fits: BTreeMap<MemoryId, u64> = BTreeMap::new();
        self.records.state.heads(&mut |id, head| {
            if head.deleted_at.is_none() {
                fits.insert(id, head.text_hash);
            }
            Ok(())
        })?;
        // A memory added meanwhile keeps its vector.
        let last_id = fits.last_key_value().map_or(0, |(id, _)| id.get());
        self.embedding
            .vectors
            .compact(&|it| {
                let is_fit = fits.get(&it.id) == Some(&it.text_hash);
                (is_fit || it.id.get() > last_id) && model.is_none_or(|model| model == it.model)
            })
            .map_err(|error| vectors_error(&error, &self.records.dir))
    }

    /// Writes what makes the next opening fast, syncs it and closes the store.
    pub fn close(self) -> Result<()> {
        self.shut()
    }

    fn shut(&self) -> Result<()> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        // If this fails, notes are published again, and recognised as duplicates.
        drop(self.writer.save_told());
        let is_whole = self.index.backlog.is_complete();
        let snapshot = if is_whole && self.index.changes.since_snapshot.load(Ordering::Relaxed) > 0
        {
            self.write_snapshot()
        } else {
            Ok(())
        };
        let vectors =
            self.embedding.vectors.sync().map_err(|error| vectors_error(&error, &self.records.dir));
        // The state must not be ahead of the log on disk; it is discarded if it was not closed.
        let state = self.records.journal.sync().and_then(|()| self.records.state.close());
        snapshot.and(vectors).and(state)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // Whatever cannot be written now is rebuilt from the log at the next opening.
        drop(self.shut());
    }
}
