//! Reindexing: rebuilds the index from the store and computes missing vectors.

use std::sync::atomic::Ordering;

use crate::codec::Writer;
use crate::index::view::View;
use crate::state::keys;
use crate::state::txn::Touched;
use crate::store::Store;
use crate::{
    Error, MemoryId, Reindex, ReindexPhase, ReindexProgress, Reindexed, Result, Timestamp,
};

/// Number of memories that a backfill embeds between two progress reports.
const BACKFILL_AT_ONCE: usize = 64;
/// Number of memories between two progress reports of a reindex.
const REINDEX_REPORTS: usize = 1_000;

/// Marks the one reindex that may run.
struct Running<'a>(&'a Store);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        *self.0.index.changed_in_reindex.lock() = None;
        self.0.reindexing.store(false, Ordering::Release);
    }
}

impl Store {
    /// Rebuilds the index from the store, and with `backfill` embeds memories without a vector of
    /// the current model. Searches use the old index until the new one is complete.
    ///
    /// # Errors
    /// [`Error::Busy`] if a reindex is running, or the index is still being built after opening.
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
        let mut fresh = View::new(None);
        let ids: Vec<MemoryId> = {
            // Each change is in the view before the ids are read, or is recorded as a change.
            let _no_writer = self.writer.lock();
            *self.index.changed_in_reindex.lock() = Some(Touched::default());
            self.index.view.read().ids_after(None).collect()
        };
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

    /// Replaces the old view by a new one, and adds everything that changed meanwhile.
    fn swap_in(&self, mut fresh: View) -> Result<u64> {
        // No vector may be computed between reading the stored ones and the swap.
        let in_flight = self.embedding.lock();
        let present = self.embedding.model();
        fresh.reset_vectors(present.as_ref().map(|present| present.vectors()));
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
        std::mem::swap(&mut fresh.alike, &mut view.alike);
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
            if step.embedded + step.failed + step.skipped + step.later == 0 {
                return Ok(());
            }
        }
    }
}
