//! The store.

use std::io::{BufRead, Write};
use std::path::Path;

use crate::{
    Added, Compacted, Draft, EmbedProgress, Embedder, Error, Exported, Filter, Imported, Link,
    LinkKind, Linked, Maintained, Memory, MemoryId, OpenReport, Patch, Reindex, ReindexProgress,
    Reindexed, Result, SearchOptions, SearchResult, Status, StoreOptions, Timestamp, Version,
};

/// A durable store of memories. All methods take `&self` and may be called from many threads.
#[derive(Debug)]
pub struct Store {}

impl Store {
    /// Opens the store in the data folder `dir`, making it if it is not there.
    pub fn open(dir: &Path, options: StoreOptions) -> Result<(Self, OpenReport)> {
        let _ = (dir, options);
        Err(Error::Unavailable("not there yet".into()))
    }

    /// Adds a memory, or finds the one that is the same. It is on disk when this returns.
    pub fn add(&self, draft: Draft, now: Timestamp) -> Result<Added> {
        let _ = (draft, now);
        Err(Error::Unavailable("not there yet".into()))
    }

    /// Adds many memories with few waits for the disk; one that fails does not stop the others.
    pub fn add_batch(&self, drafts: Vec<Draft>, now: Timestamp) -> Vec<Result<Added>> {
        drafts.into_iter().map(|it| self.add(it, now)).collect()
    }

    /// The memory with this id.
    pub fn get(&self, id: MemoryId) -> Result<Memory> {
        Err(Error::NotFound(id))
    }

    /// Changes a memory; the version before stays in its history.
    pub fn update(&self, id: MemoryId, patch: Patch, now: Timestamp) -> Result<Memory> {
        let _ = (patch, now);
        Err(Error::NotFound(id))
    }

    /// Deletes a memory and its links; its history stays until [`Store::compact`] purges it.
    pub fn delete(&self, id: MemoryId, now: Timestamp) -> Result<()> {
        let _ = now;
        Err(Error::NotFound(id))
    }

    /// All versions of a memory, oldest first, also of a deleted one.
    pub fn history(&self, id: MemoryId) -> Result<Vec<Version>> {
        Err(Error::NotFound(id))
    }

    /// Memories in order of their ids, from the first after `after`.
    pub fn list(
        &self,
        filter: &Filter,
        after: Option<MemoryId>,
        limit: usize,
    ) -> Result<Vec<Memory>> {
        let _ = (filter, after, limit);
        Err(Error::Unavailable("not there yet".into()))
    }

    /// Finds memories by words and by meaning, best first.
    pub fn search(&self, query: &str, options: &SearchOptions) -> Result<SearchResult> {
        let _ = (query, options);
        Err(Error::Unavailable("not there yet".into()))
    }

    /// Makes a link, or finds it.
    pub fn link(
        &self,
        from: MemoryId,
        to: MemoryId,
        kind: LinkKind,
        now: Timestamp,
    ) -> Result<Linked> {
        let _ = (to, kind, now);
        Err(Error::NotFound(from))
    }

    /// Removes a link; `false` if it was not there.
    pub fn unlink(
        &self,
        from: MemoryId,
        to: MemoryId,
        kind: LinkKind,
        now: Timestamp,
    ) -> Result<bool> {
        let _ = (to, kind, now);
        Err(Error::NotFound(from))
    }

    /// Links in both directions around a memory, breadth first, up to `depth` steps away.
    pub fn links(&self, id: MemoryId, depth: u32) -> Result<Vec<Link>> {
        let _ = depth;
        Err(Error::NotFound(id))
    }

    /// Takes a model into use, or goes without. Vectors of another model stay on disk and are
    /// not searched.
    pub fn set_embedder(&self, embedder: Option<Embedder>) -> Result<()> {
        let _ = embedder;
        Ok(())
    }

    /// Embeds up to `limit` memories that lack a vector of the present model.
    pub fn embed_pending(&self, limit: usize) -> Result<EmbedProgress> {
        let _ = limit;
        Ok(EmbedProgress::default())
    }

    /// Builds the index anew from the store; searches go on meanwhile on the old one.
    pub fn reindex(
        &self,
        reindex: Reindex,
        now: Timestamp,
        progress: &mut dyn FnMut(ReindexProgress),
    ) -> Result<Reindexed> {
        let _ = (reindex, now, progress);
        Err(Error::Unavailable("not there yet".into()))
    }

    /// Does a bounded piece of upkeep.
    pub fn maintain(&self) -> Result<Maintained> {
        Ok(Maintained::default())
    }

    /// Health and statistics.
    pub fn status(&self) -> Result<Status> {
        Err(Error::Unavailable("not there yet".into()))
    }

    /// Writes everything as NDJSON.
    pub fn export(&self, out: &mut dyn Write) -> Result<Exported> {
        let _ = out;
        Err(Error::Unavailable("not there yet".into()))
    }

    /// Reads what [`Store::export`] wrote.
    pub fn import(&self, input: &mut dyn BufRead, now: Timestamp) -> Result<Imported> {
        let _ = (input, now);
        Err(Error::Unavailable("not there yet".into()))
    }

    /// Rewrites the log without what it need not keep. With `purge` the contents of deleted
    /// memories are removed for good.
    pub fn compact(&self, purge: bool) -> Result<Compacted> {
        let _ = purge;
        Err(Error::Unavailable("not there yet".into()))
    }

    /// Writes what makes the next opening fast, syncs it and gives the store up.
    pub fn close(self) -> Result<()> {
        Ok(())
    }
}
