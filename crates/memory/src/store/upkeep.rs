//! Upkeep: reindexing, snapshots, syncing what is derived, compaction, closing.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::Ordering;

use waypost_derived::files::{dir_bytes, remove_dir};
use waypost_log::Keep;

use crate::codec::Writer;
use crate::index::snapshot;
use crate::index::vectors::stored_bytes;
use crate::index::view::View;
use crate::log_error::{log_error, vectors_error};
use crate::record::{Body, Record};
use crate::state::keys;
use crate::state::txn::Touched;
use crate::store::Store;
use crate::writer::command::{Command, Outcome};
use crate::writer::outbox::Saved;
use crate::{
    Compacted, Compaction, Error, Maintained, MemoryId, Reindex, ReindexPhase, ReindexProgress,
    Reindexed, Result, Timestamp,
};

/// A snapshot is written after so many changes, or after a tenth of the memories changed if that
/// is more and no pause came before.
const SNAPSHOT_CHANGES_MIN: u64 = 1_000;
/// The vectors' files are compacted when they are twice as large as they need be, and this large.
const VECTORS_COMPACT_BYTES_MIN: u64 = 32 * 1024 * 1024;
/// One record that drops texts names so many memories.
const DROPPED_AT_ONCE: usize = 10_000;
/// A backfill embeds so many memories between two reports of progress.
const BACKFILL_AT_ONCE: usize = 64;
/// A reindex reports its progress after so many memories.
const REINDEX_REPORTS: usize = 1_000;

/// Texts that a compaction takes out of the log.
#[derive(Debug, Default)]
struct Dropped {
    /// Whose: memories and versions, those of earlier compactions as well.
    texts: HashSet<(MemoryId, u32)>,
    /// How many of them were there until now.
    versions: u64,
}

/// Marks the one reindex that may run.
struct Running<'a>(&'a Store);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        *self.0.index.changed_in_reindex.lock() = None;
        self.0.reindexing.store(false, Ordering::Release);
    }
}

impl Store {
    /// Builds the index anew from the store, and with `backfill` embeds what lacks a vector of the
    /// present model. Searches go on meanwhile, on the old index until the new one is complete.
    ///
    /// # Errors
    /// [`Error::Busy`] if one is running, or the index is still being built after opening.
    pub fn reindex(
        &self,
        reindex: Reindex,
        now: Timestamp,
        progress: &mut dyn FnMut(ReindexProgress),
    ) -> Result<Reindexed> {
        if self.reindexing.swap(true, Ordering::AcqRel) {
            return Err(Error::Busy);
        }
        let running = Running(self);
        if !self.index.backlog.is_complete() {
            return Err(Error::Busy);
        }
        *self.index.changed_in_reindex.lock() = Some(Touched::default());
        let mut fresh = View::new(None);
        let ids: Vec<MemoryId> = self.index.view.read().ids_after(None).collect();
        let total = ids.len() as u64;
        for (done, id) in ids.into_iter().enumerate() {
            if done % REINDEX_REPORTS == 0 {
                let (phase, done) = (ReindexPhase::Indexing, done as u64);
                progress(ReindexProgress { phase, done, total });
            }
            fresh.refresh(id, self.index.prepare(id, None)?);
        }
        progress(ReindexProgress { phase: ReindexPhase::Indexing, done: total, total });
        let indexed = self.swap_in(fresh)?;
        let mut at = Writer::new();
        at.time(now);
        let writer = self.writer.lock();
        self.records.state.write(&[(keys::LAST_REINDEX.to_vec(), Some(at.into_bytes()))])?;
        drop(writer);
        drop(running);
        let mut done = Reindexed { indexed, ..Reindexed::default() };
        if reindex.backfill && self.embedding.model().is_some() {
            self.backfill(&mut done, progress)?;
        }
        done.skipped = indexed.saturating_sub(done.embedded + done.failed);
        Ok(done)
    }

    /// Puts a new view in the place of the old one, with everything that changed meanwhile.
    fn swap_in(&self, mut fresh: View) -> Result<u64> {
        // No vector is made between reading the stored ones and the swap.
        let in_flight = self.embedding.lock();
        let present = self.embedding.model();
        fresh.reset_vectors(present.as_ref().map(|it| it.vectors()));
        if let Some(present) = &present {
            self.embedding.install_stored(present, &mut |install| install(&mut fresh));
        }
        let writer = self.writer.lock();
        let changed = self.index.changed_in_reindex.lock().take().unwrap_or_default();
        for id in changed.memories {
            fresh.refresh(id, self.index.prepare(id, None)?);
        }
        let mut view = self.index.view.write();
        std::mem::swap(&mut fresh.graph, &mut view.graph);
        let indexed = fresh.len();
        *view = fresh;
        drop(view);
        drop(writer);
        drop(in_flight);
        Ok(indexed)
    }

    fn backfill(
        &self,
        done: &mut Reindexed,
        progress: &mut dyn FnMut(ReindexProgress),
    ) -> Result<()> {
        self.index.view.write().retry_refused();
        let total = self.index.view.read().pending.len() as u64;
        let phase = ReindexPhase::Embedding;
        loop {
            progress(ReindexProgress {
                phase,
                done: (done.embedded + done.failed).min(total),
                total,
            });
            let step = self.embedding.embed_pending(BACKFILL_AT_ONCE)?;
            done.embedded += step.embedded;
            done.failed += step.failed;
            if step.embedded + step.failed + step.skipped == 0 {
                return Ok(());
            }
        }
    }

    /// Does a bounded piece of upkeep: syncs what is derived, writes a snapshot of the index when
    /// enough has changed, drops vectors that fit nothing any more, writes down how far notes have
    /// been [told](Store::told). Call it now and then.
    pub fn maintain(&self) -> Result<Maintained> {
        let told = self.writer.save_told();
        let done = self.keep_up_derived()?;
        Ok(Maintained { told: told?, ..done })
    }

    fn keep_up_derived(&self) -> Result<Maintained> {
        let mut done = Maintained::default();
        if self.index.changes.vectors_since_sync.swap(0, Ordering::Relaxed) > 0 {
            self.embedding.vectors.sync().map_err(|it| vectors_error(&it, &self.records.dir))?;
            done.synced = true;
        }
        if self.index.changes.since_sync.swap(0, Ordering::Relaxed) > 0 {
            self.records.state.sync()?;
            done.synced = true;
        }
        self.index.keep_up_text();
        if !self.index.backlog.is_complete() {
            return Ok(done);
        }
        let enough = SNAPSHOT_CHANGES_MIN.max(self.index.view.read().len() / 10);
        // Or as soon as it is quiet: what the snapshot lacks is analysed again after a crash.
        let changes = self.index.changes.since_snapshot.load(Ordering::Relaxed);
        let is_quiet = self.index.changes.at_upkeep.swap(changes, Ordering::Relaxed) == changes;
        if changes >= enough || (is_quiet && changes >= SNAPSHOT_CHANGES_MIN) {
            self.write_snapshot()?;
            done.snapshot = true;
        }
        let is_wanted =
            |it: u64| self.embedding.vectors.bytes() > VECTORS_COMPACT_BYTES_MIN.max(2 * it);
        if self.vector_bytes_wanted().is_some_and(is_wanted) {
            self.compact_vectors()?;
            done.vectors_compacted = true;
        }
        Ok(done)
    }

    fn write_snapshot(&self) -> Result<()> {
        let dir = &self.folders.index;
        if !self.index.backlog.is_complete() {
            // One from before would have texts that must go.
            return snapshot::remove(dir);
        }
        // The writer's lock keeps the log's position and the view together.
        let bytes = {
            let writer = self.writer.lock();
            self.index.changes.since_snapshot.store(0, Ordering::Relaxed);
            let position = self.records.log.last_sequence();
            let view = self.index.view.read();
            drop(writer);
            snapshot::encode(&view, position)
        };
        self.options.changing();
        snapshot::write(dir, &bytes)?;
        self.options.changing();
        Ok(())
    }

    /// Bytes on disk that the present vectors take; `None` without a model, which alone tells how
    /// long they are.
    fn vector_bytes_wanted(&self) -> Option<u64> {
        let dimensions = self.embedding.model()?.embedder.model.dimensions;
        Some(self.index.view.read().len() * stored_bytes(dimensions))
    }

    fn compact_vectors(&self) -> Result<()> {
        let model = self.embedding.model().map(|it| it.hash);
        let mut fits: BTreeMap<MemoryId, u64> = BTreeMap::new();
        self.records.state.heads(&mut |id, head| {
            if head.deleted_at.is_none() {
                fits.insert(id, head.text_hash);
            }
            Ok(())
        })?;
        // A memory that came meanwhile keeps its vector.
        let last_id = fits.last_key_value().map_or(0, |(id, _)| id.get());
        self.embedding
            .vectors
            .compact(&|it| {
                let is_fit = fits.get(&it.id) == Some(&it.text_hash);
                (is_fit || it.id.get() > last_id) && model.is_none_or(|model| model == it.model)
            })
            .map_err(|it| vectors_error(&it, &self.records.dir))
    }

    /// Rewrites the log without what it need not keep.
    ///
    /// Kept for good: every memory that is there with all of its versions, every deletion, every
    /// link that is there. Dropped: links that are gone, and the texts that `what` names; of the
    /// versions that had them, ids, spaces and times stay, so that no id is given out twice.
    pub fn compact(&self, what: Compaction) -> Result<Compacted> {
        let dropped = self.drop_texts(what)?;
        let purged_versions = dropped.versions;
        let mut writer = self.writer.lock();
        self.writer.bring_to_disk(&mut writer)?;
        let told = self.writer.outbox.saved();
        let mut failed = None;
        let compacted = self.records.log.compact(&mut |entry| {
            self.keep(entry, &dropped, told).unwrap_or_else(|error| {
                failed.get_or_insert(error);
                Keep::Yes
            })
        });
        let compacted = compacted.map_err(|it| log_error(&it, &self.records.dir))?;
        if dir_bytes(&self.folders.state) > self.options.state_rewrite_bytes_min {
            self.records.state.rewrite()?;
        }
        drop(writer);
        if purged_versions > 0 || self.embedding.model().is_some() {
            self.compact_vectors()?;
        }
        if purged_versions > 0 {
            self.searcher.forget();
            self.write_snapshot()?;
            remove_dir(&self.folders.state_aside())?;
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(Compacted {
                bytes_before: compacted.bytes_before,
                bytes_after: compacted.bytes_after,
                purged_versions,
            }),
        }
    }

    /// Records which texts go.
    fn drop_texts(&self, what: Compaction) -> Result<Dropped> {
        let (mut purged, mut below) = (Vec::new(), Vec::new());
        let mut dropped = Dropped::default();
        self.records.state.heads(&mut |id, head| {
            let is_there = head.deleted_at.is_none();
            let first_kept = match (is_there, what.versions) {
                (true, Some(kept)) => (head.version + 1).saturating_sub(kept.get()),
                (true, None) => 0,
                (false, _) if what.purge => u32::MAX,
                (false, _) => 0,
            };
            // Most memories were never changed, and nothing of them can be missing.
            if is_there && head.version == 1 {
                return Ok(());
            }
            let before = dropped.versions;
            for (number, stored) in self.records.stored_versions(id)? {
                if stored.sequence.is_none() || number < first_kept {
                    dropped.versions += u64::from(stored.sequence.is_some());
                    dropped.texts.insert((id, number));
                }
            }
            if is_there && dropped.versions > before {
                below.push((id, first_kept));
            } else if !is_there && what.purge && head.duplicate != [0; 16] {
                purged.push(id);
            }
            Ok(())
        })?;
        let purges = purged.chunks(DROPPED_AT_ONCE).map(|it| Command::Purge { ids: it.to_vec() });
        let forgets =
            below.chunks(DROPPED_AT_ONCE).map(|it| Command::Forget { below: it.to_vec() });
        for command in purges.chain(forgets) {
            match self.writer.submit_one(command)? {
                Outcome::Purged => {}
                _ => return Err(Error::Unavailable("the purge was lost".to_owned())),
            }
        }
        Ok(dropped)
    }

    fn keep(&self, entry: &waypost_log::Entry, dropped: &Dropped, told: Saved) -> Result<Keep> {
        let Ok(record) = Record::decode(entry.kind, entry.version, &entry.payload) else {
            return Ok(Keep::Yes);
        };
        let without_text = |id: MemoryId, version: u32, body: &Body| {
            let is_dropped = body.text.is_some() && dropped.texts.contains(&(id, version));
            is_dropped.then(|| Cow::Owned(body.purged()))
        };
        match record {
            Record::Add { id, at, body } => Ok(match without_text(id, 1, &body) {
                Some(body) => Keep::Replace(Record::Add { id, at, body }.encode()),
                None => Keep::Yes,
            }),
            Record::Update { id, version, at, body } => {
                Ok(match without_text(id, version, &body) {
                    Some(body) => Keep::Replace(Record::Update { id, version, at, body }.encode()),
                    None => Keep::Yes,
                })
            }
            Record::Link { edge, .. } | Record::Unlink { edge, .. } => {
                let is_there = self.records.state.get(&keys::link(edge))?.is_some();
                Ok(if is_there { Keep::Yes } else { Keep::No })
            }
            Record::Delete { .. }
            | Record::Purge { .. }
            | Record::Forget { .. }
            | Record::Taken { .. } => Ok(Keep::Yes),
            Record::Notice { .. } | Record::Told { .. } => Ok(told.keeps(entry)),
        }
    }

    /// Writes what makes the next opening fast, syncs it and gives the store up.
    pub fn close(self) -> Result<()> {
        self.shut()
    }

    fn shut(&self) -> Result<()> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        // What cannot be written down is told again, and recognised.
        drop(self.writer.save_told());
        let is_whole = self.index.backlog.is_complete();
        let snapshot = if is_whole && self.index.changes.since_snapshot.load(Ordering::Relaxed) > 0
        {
            self.write_snapshot()
        } else {
            Ok(())
        };
        let vectors =
            self.embedding.vectors.sync().map_err(|it| vectors_error(&it, &self.records.dir));
        let state = self.records.state.close();
        snapshot.and(vectors).and(state)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // Whatever cannot be written now is made again from the log when the store is next opened.
        drop(self.shut());
    }
}
