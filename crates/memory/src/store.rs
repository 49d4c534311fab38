//! The store: it owns its parts, and its methods call them.

pub(crate) mod add;
mod backup;
mod compact;
mod count;
mod exact;
mod export;
pub(crate) mod follow;
pub(crate) mod import;
mod links;
mod list;
mod newest;
mod open;
mod reindex;
pub(crate) mod request;
mod status;
mod suggestions;
mod upkeep;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parking_lot::Mutex;
use waypost_log::{Damage, FolderLock};
use waypost_projection::files::dir_bytes;
use waypost_time::SkipDetector;

use crate::index::Index;
use crate::index::embed::Embedding;
use crate::layout::Folders;
use crate::records::Records;
use crate::search::Searcher;
use crate::state::txn::Txn;
use crate::writer::Writer;
use crate::writer::outbox::Notice;
use crate::{
    EmbedProgress, Embedder, Error, IndexProgress, LinkKind, Linked, Memory, MemoryId, Patch,
    Reached, Reranker, Result, SearchOptions, SearchResult, StoreOptions, Timestamp,
};

/// A durable store of memories. All methods take `&self` and may be called from many threads.
pub struct Store {
    folders: Folders,
    options: Arc<StoreOptions>,
    records: Arc<Records>,
    index: Arc<Index>,
    embedding: Arc<Embedding>,
    writer: Writer,
    searcher: Searcher,
    reindexing: AtomicBool,
    closed: AtomicBool,
    /// The clock of [`Store::expire`].
    clock: Mutex<SkipDetector>,
    /// Released last.
    _lease: FolderLock,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("data", &self.folders.data).finish_non_exhaustive()
    }
}

impl Store {
    /// The memory with this id.
    pub fn get(&self, id: MemoryId) -> Result<Memory> {
        let head = self.records.live_head(id)?.ok_or(Error::NotFound(id))?;
        let body = self
            .records
            .body(id, head.version)?
            .ok_or_else(|| missing_version(id, head.version))?;
        Ok(self.index.complete(body.memory(id, head.version, head.updated_at)))
    }

    /// Changes a memory; its history keeps the previous version. A patch that changes nothing
    /// creates no version.
    pub fn update(&self, id: MemoryId, patch: Patch, now: Timestamp) -> Result<Memory> {
        self.request(None).update(id, patch, now)
    }

    /// Gives a memory the text, tags and other fields that it had in an earlier version, as a new
    /// version; if it has them already, nothing changes. A time of expiry that has passed is left out.
    ///
    /// # Errors
    /// [`Error::NoVersion`] if there never was such a version, [`Error::Gone`] if its text was removed
    /// by a compaction or destroyed.
    pub fn revert(&self, id: MemoryId, version: u32, now: Timestamp) -> Result<Memory> {
        self.request(None).revert(id, version, now)
    }

    /// Restores a deleted memory, or one that has expired, with its last text, as a new version. Its
    /// links stay removed. A time of expiry that has passed is left out.
    ///
    /// # Errors
    /// [`Error::NotDeleted`], and [`Error::Gone`] if [`Store::compact`] has purged it.
    pub fn undelete(&self, id: MemoryId, now: Timestamp) -> Result<Memory> {
        self.request(None).undelete(id, now)
    }

    /// Merges two memories of one space, in one change: changes `into` by a patch, moves the links of
    /// `from` to it, and deletes `from`. A link that `into` has already, or that would be from it to
    /// itself, is dropped; a moved one keeps its time of creation.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the two are one memory or of two spaces, and as [`Store::update`].
    pub fn merge(
        &self,
        into: MemoryId,
        from: MemoryId,
        patch: Patch,
        now: Timestamp,
    ) -> Result<Memory> {
        self.request(None).merge(into, from, patch, now)
    }

    /// The space of a memory, also of a deleted one; `None` if its id was never used, or if only an
    /// import has deleted it.
    pub fn space_of(&self, id: MemoryId) -> Result<Option<String>> {
        let Some(head) = self.records.head(id)? else { return Ok(None) };
        Ok(self.records.stored_version(id, head.version)?.map(|version| version.space))
    }

    /// Deletes a memory and its links; its history stays until [`Store::compact`] purges it.
    pub fn delete(&self, id: MemoryId, now: Timestamp) -> Result<()> {
        self.request(None).delete(id, now)
    }

    /// Whether a memory exists that has expired by a time and is not deleted yet.
    pub fn has_expired(&self, id: MemoryId, now: Timestamp) -> bool {
        {
            let view = self.index.view.read();
            if view.fact(id).is_some() || self.index.backlog.is_complete() {
                return view.has_expired(id, Some(now));
            }
        }
        self.get(id).is_ok_and(|it| it.lifespan().has_expired(now))
    }

    /// Creates a link, or returns the existing one. The error names an unknown id.
    pub fn link(
        &self,
        from: MemoryId,
        to: MemoryId,
        kind: LinkKind,
        now: Timestamp,
    ) -> Result<Linked> {
        self.link_noted(from, to, kind, now, None)
    }

    /// Like [`Store::link`]; a new link has this [note](Store::notices).
    pub fn link_noted(
        &self,
        from: MemoryId,
        to: MemoryId,
        kind: LinkKind,
        now: Timestamp,
        note: Option<Vec<u8>>,
    ) -> Result<Linked> {
        self.request(None).link(from, to, kind, now, note)
    }

    /// Removes a link; `false` if it did not exist.
    pub fn unlink(
        &self,
        from: MemoryId,
        to: MemoryId,
        kind: LinkKind,
        now: Timestamp,
    ) -> Result<bool> {
        self.request(None).unlink(from, to, kind, now)
    }

    /// Searches memories by words and meaning. The best hits come first; ties are ordered by id.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the query or an option is outside its limits; [`Error::NoModel`] if
    /// the mode is [`SearchMode::Semantic`](crate::SearchMode::Semantic) and there is no model.
    pub fn search(&self, query: &str, options: &SearchOptions) -> Result<SearchResult> {
        self.searcher.search(query, options)
    }

    /// Writes the drafts that [`Store::add_later`] queued before this call.
    pub fn write_queued(&self) {
        self.writer.write_queued();
    }

    /// The oldest unpublished notes, at most `limit`, in order.
    pub fn notices(&self, limit: usize) -> Vec<Notice> {
        self.writer.outbox.notices(limit)
    }

    /// Marks the notes up to this sequence as published.
    pub fn mark_published(&self, through: u64) {
        self.writer.outbox.mark_published(through);
    }

    /// Sets the `listener` that is called whenever there are new notes. The writing thread calls
    /// it, so it must be fast. Only the first listener is used.
    pub fn when_noted(&self, listener: Box<dyn Fn() + Send + Sync>) {
        self.writer.outbox.when_noted(listener);
    }

    /// Sets or removes the model. Stored vectors of the same model are loaded immediately; those of
    /// another model stay on disk and are not searched.
    pub fn set_embedder(&self, embedder: Option<Embedder>) -> Result<()> {
        self.embedding.set_embedder(embedder)
    }

    /// Sets or removes the cross-encoder that orders the best hits of a search. Without one, which is
    /// the default, the ranking decides.
    pub fn set_reranker(&self, reranker: Option<Reranker>) {
        self.searcher.set_reranker(reranker);
    }

    /// The vector of a query by the current model, which is cached; `None` without a model.
    ///
    /// # Errors
    /// [`Error::Embedding`] if the model fails.
    pub fn embed_query(&self, query: &str) -> Result<Option<Arc<Vec<f32>>>> {
        self.embedding.model().map(|model| model.embed_query(query)).transpose()
    }

    /// Embeds up to `limit` memories that lack a vector of the current model, the last changed
    /// first. A text that the model rejects does not stop the others. Does nothing without a model.
    pub fn embed_pending(&self, limit: usize) -> Result<EmbedProgress> {
        self.embedding.embed_pending(limit)
    }

    /// The progress of the index, if it is being rebuilt. Memories that it lacks can be read and
    /// changed, but are not found.
    pub fn index_progress(&self) -> Option<IndexProgress> {
        self.index.backlog.progress()
    }

    /// Indexes a bounded number of missing memories; `None` if the index is complete. Several
    /// threads may call it at once; each does a different part.
    pub fn build_index(&self) -> Result<Option<IndexProgress>> {
        let Some((progress, is_last)) = self.index.build()? else { return Ok(None) };
        self.index.keep_up_text();
        if is_last {
            self.embedding.complete_index();
        }
        Ok(Some(progress))
    }

    /// How far the store has reached, for [`StoreOptions::reached`] of a later opening. Waits for a
    /// write in progress.
    pub fn reached(&self) -> Result<Reached> {
        let sequence = self.records.journal.reached();
        Ok(Reached { sequence, id: Txn::new(&self.records.state).next_id()? - 1 })
    }

    /// Syncs the log and returns the last record that is on disk: what a power cut leaves. On a store
    /// without a shared journal, every record that can be read is on disk.
    pub fn sync(&self) -> Result<u64> {
        self.records.journal.sync()?;
        Ok(self.records.journal.reached())
    }

    /// Size of the whole store on disk, in bytes. Walks its folders.
    pub fn storage_bytes(&self) -> u64 {
        dir_bytes(&self.folders.memory)
    }

    /// Why writes fail, if they do.
    pub fn write_fault(&self) -> Option<String> {
        self.writer.fault().or_else(|| self.records.journal.fault())
    }

    /// The damage that reads have found in the log since it was opened: [`repair`](crate::repair)
    /// sets it aside. Reads no file.
    pub fn damage(&self) -> Vec<Damage> {
        self.records.journal.damage()
    }

    /// The same for the stored vectors, which the next opening removes if they are damaged.
    pub fn vectors_damage(&self) -> Vec<Damage> {
        self.embedding.vectors.damage()
    }
}

fn missing_version(id: MemoryId, version: u32) -> Error {
    Error::Damaged(format!(
        "version {version} of memory {id} is missing from the state; restart to rebuild it from the log"
    ))
}
