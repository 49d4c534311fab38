//! Upkeep: snapshots, syncing what is derived, closing.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use crate::index::snapshot;
use crate::index::vectors::stored_bytes;
use crate::log_error::vectors_error;
use crate::store::Store;
use crate::{Maintained, MemoryId, Result};

/// A snapshot is written after so many changes, or after a tenth of the memories changed if that
/// is more and no pause came before.
const SNAPSHOT_CHANGES_MIN: u64 = 1_000;
/// The vectors' files are compacted when they are twice as large as they need be, and this large.
const VECTORS_COMPACT_BYTES_MIN: u64 = 32 * 1024 * 1024;

impl Store {
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

    pub(super) fn write_snapshot(&self) -> Result<()> {
        let dir = &self.folders.index;
        if !self.index.backlog.is_complete() {
            // One from before would have texts that must go.
            return snapshot::remove(dir);
        }
        // The writer's lock keeps the log's position and the view together.
        let bytes = {
            let writer = self.writer.lock();
            self.index.changes.since_snapshot.store(0, Ordering::Relaxed);
            let position = self.records.state.applied()?;
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

    pub(super) fn compact_vectors(&self) -> Result<()> {
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
