//! The store: it owns its parts, and its methods call them.

pub(crate) mod add;
mod backup;
mod compact;
mod export;
pub(crate) mod import;
mod list;
mod open;
mod reindex;
mod status;
#[cfg(test)]
mod tests;
mod upkeep;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use waypost_log::{Damage, FolderLock};
use waypost_projection::files::dir_bytes;

use crate::index::Index;
use crate::index::embed::Embedding;
use crate::layout::Folders;
use crate::limits::LINK_DEPTH_MAX;
use crate::record::Edge;
use crate::records::Records;
use crate::search::Searcher;
use crate::state::txn::Txn;
use crate::writer::Writer;
use crate::writer::command::{Command, Outcome};
use crate::writer::outbox::Notice;
use crate::{
    EmbedProgress, Embedder, Error, IndexProgress, Link, LinkKind, Linked, Memory, MemoryId, Patch,
    Reached, Result, SearchOptions, SearchResult, StoreOptions, Timestamp,
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
    /// Given up last.
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
        Ok(self.index.complete(Memory::of(id, head.version, head.updated_at, body)))
    }

    /// Changes a memory; the version before stays in its history. A patch that changes nothing
    /// makes no version.
    pub fn update(&self, id: MemoryId, patch: Patch, now: Timestamp) -> Result<Memory> {
        match self.writer.submit_one(Command::Update { id, patch, at: now })? {
            Outcome::Updated(memory) => Ok(self.index.complete(memory)),
            _ => Err(Error::NotFound(id)),
        }
    }

    /// Deletes a memory and its links; its history stays until [`Store::compact`] purges it.
    pub fn delete(&self, id: MemoryId, now: Timestamp) -> Result<()> {
        self.writer.submit_one(Command::Delete { id, at: now }).map(|_| ())
    }

    /// Makes a link, or finds it. An id that is not there is named by the error.
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
        let edge = Edge { from, to, kind };
        match self.writer.submit_one(Command::Link { edge, at: now, note })? {
            Outcome::Linked { is_new: true, at } => {
                Ok(Linked::New(Link { from, to, kind, created_at: at }))
            }
            Outcome::Linked { is_new: false, at } => {
                Ok(Linked::Existing(Link { from, to, kind, created_at: at }))
            }
            _ => Err(Error::NotFound(from)),
        }
    }

    /// Removes a link; `false` if it was not there.
    pub fn unlink(
        &self,
        from: MemoryId,
        to: MemoryId,
        kind: LinkKind,
        now: Timestamp,
    ) -> Result<bool> {
        let edge = Edge { from, to, kind };
        match self.writer.submit_one(Command::Unlink { edge, at: now })? {
            Outcome::Unlinked(was_there) => Ok(was_there),
            _ => Err(Error::NotFound(from)),
        }
    }

    /// Links in both directions around a memory, breadth first, each once, up to `depth` steps
    /// away (1 to [`LINK_DEPTH_MAX`]) and at most
    /// [`LINKS_RETURNED_MAX`](crate::limits::LINKS_RETURNED_MAX).
    pub fn links(&self, id: MemoryId, depth: u32) -> Result<Vec<Link>> {
        if !(1..=LINK_DEPTH_MAX).contains(&depth) {
            let reason = format!("is {depth}; expected 1 to {LINK_DEPTH_MAX}");
            return Err(Error::invalid("depth", reason));
        }
        self.records.live_head(id)?.ok_or(Error::NotFound(id))?;
        Ok(self.index.view.read().graph.walk(id, depth))
    }

    /// Finds memories by words and by meaning, best first, ties by id.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the query or an option is outside its limits; [`Error::NoModel`] if
    /// the mode is [`SearchMode::Semantic`](crate::SearchMode::Semantic) and there is no model.
    pub fn search(&self, query: &str, options: &SearchOptions) -> Result<SearchResult> {
        self.searcher.search(query, options)
    }

    /// Writes what [`Store::add_later`] queued before this call.
    pub fn write_queued(&self) {
        self.writer.write_queued();
    }

    /// The oldest notes that have not been told, at most `limit`, in order.
    pub fn notices(&self, limit: usize) -> Vec<Notice> {
        self.writer.outbox.notices(limit)
    }

    /// Takes back that notes up to this sequence wait: they have been told.
    pub fn told(&self, through: u64) {
        self.writer.outbox.told(through);
    }

    /// Has `listener` called whenever there are new notes. It is called by the thread that writes,
    /// and must be quick. Only the first listener counts.
    pub fn when_noted(&self, listener: Box<dyn Fn() + Send + Sync>) {
        self.writer.outbox.when_noted(listener);
    }

    /// Takes a model into use, or goes without. Vectors that are stored and were made by this very
    /// model are taken in at once; those of another stay on disk and are not searched.
    pub fn set_embedder(&self, embedder: Option<Embedder>) -> Result<()> {
        self.embedding.set_embedder(embedder)
    }

    /// The vector of a query, made by the model in use and remembered for a while; nothing without
    /// a model.
    ///
    /// # Errors
    /// [`Error::Embedding`] if the model gives it none.
    pub fn embed_query(&self, query: &str) -> Result<Option<Arc<Vec<f32>>>> {
        self.embedding.model().map(|it| it.embed_query(query)).transpose()
    }

    /// Embeds up to `limit` memories that lack a vector of the present model, those that changed last
    /// first. A text that the model refuses does not stop the others. Does nothing without a model.
    pub fn embed_pending(&self, limit: usize) -> Result<EmbedProgress> {
        self.embedding.embed_pending(limit)
    }

    /// How far the index is, if it is being built anew. What is not in it yet can be read and
    /// changed, and is not found.
    pub fn index_progress(&self) -> Option<IndexProgress> {
        self.index.backlog.progress()
    }

    /// Brings a bounded piece of what the index lacks into it; `None` when there is no more to do.
    /// Several threads may call it at once, and each does its own piece.
    pub fn build_index(&self) -> Result<Option<IndexProgress>> {
        let Some((progress, is_last)) = self.index.build()? else { return Ok(None) };
        self.index.keep_up_text();
        if is_last {
            self.embedding.complete_index();
        }
        Ok(Some(progress))
    }

    /// How far the store has come, for [`StoreOptions::reached`] of a later opening. Waits for a write
    /// that goes on.
    pub fn reached(&self) -> Result<Reached> {
        let sequence = self.records.journal.reached();
        Ok(Reached { sequence, id: Txn::new(&self.records.state).next_id()? - 1 })
    }

    /// Bytes on disk, all of the store. Walks over its folders.
    pub fn storage_bytes(&self) -> u64 {
        dir_bytes(&self.folders.memory)
    }

    /// Why no more writes are taken, if so.
    pub fn write_fault(&self) -> Option<String> {
        let of_log = || self.records.log.fault().map(|it| it.to_string());
        self.writer.fault().or_else(of_log)
    }

    /// The damage that reads have met in the log since it was opened: [`repair`](crate::repair) sets it
    /// aside. Reads no file.
    pub fn damage(&self) -> Vec<Damage> {
        self.records.journal.damage()
    }

    /// The same of the stored vectors, which the next opening removes if they are damaged.
    pub fn vectors_damage(&self) -> Vec<Damage> {
        self.embedding.vectors.damage()
    }
}

fn missing_version(id: MemoryId, version: u32) -> Error {
    Error::Damaged(format!(
        "version {version} of memory {id} is missing from the state; restart to rebuild it from the log"
    ))
}
