//! The store.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use waypost_derived::files::dir_bytes;
use waypost_log::{Damage, FolderLock, Log};
use waypost_ranking::{Analyzer, Document};

use crate::commit::{Command, Outcome, WriterState, memory, text_of};
use crate::embed::Model;
use crate::keys::{self, Head, StoredVersion};
use crate::limits::{LINK_DEPTH_MAX, LIST_LIMIT_MAX};
use crate::open::live_ids;
use crate::outbox::Outbox;
use crate::queue::Queued;
use crate::rebuild::Lacking;
use crate::record::{Body, Edge};
use crate::search::Answers;
use crate::state::{State, damaged};
use crate::txn::{Touched, Txn};
use crate::vectors::{VectorLog, log_error};
use crate::view::{Condition, Prepared, View};
use crate::watched::Watched;
use crate::{
    Error, Filter, Link, LinkKind, Linked, Memory, MemoryId, Patch, Reached, Result, Status,
    StoreOptions, Timestamp, Version,
};

/// A durable store of memories. All methods take `&self` and may be called from many threads.
pub struct Store {
    /// The data folder.
    pub(crate) data: PathBuf,
    /// The memories' part of it.
    pub(crate) dir: PathBuf,
    pub(crate) options: StoreOptions,
    pub(crate) log: Log,
    pub(crate) state: State,
    pub(crate) view: Watched<View>,
    pub(crate) answers: Answers,
    pub(crate) analyzer: Analyzer,
    pub(crate) vectors: VectorLog,
    pub(crate) queue: Mutex<VecDeque<Queued>>,
    pub(crate) writer: Mutex<WriterState>,
    /// A copy of the writer's fault that can be read without waiting for a writer.
    pub(crate) write_fault: Mutex<Option<String>>,
    pub(crate) model: RwLock<Option<Arc<Model>>>,
    /// Memories that are being embedded. Held while vectors are moved between models or indexes.
    pub(crate) embedding: Mutex<BTreeSet<MemoryId>>,
    pub(crate) reindexing: AtomicBool,
    /// What the index lacks while it is being built.
    pub(crate) lacking: Mutex<Option<Lacking>>,
    /// Held by whoever seals and merges parts of the index.
    pub(crate) text_upkeep: Mutex<()>,
    /// What changed since a reindex began.
    pub(crate) changed_in_reindex: Mutex<Option<Touched>>,
    pub(crate) changes: Changes,
    pub(crate) outbox: Outbox,
    pub(crate) closed: AtomicBool,
    /// Given up last.
    pub(crate) _lock: FolderLock,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("data", &self.data).finish_non_exhaustive()
    }
}

/// How much changed since something derived was last written.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) since_snapshot: AtomicU64,
    /// `since_snapshot` at the last upkeep.
    pub(crate) at_upkeep: AtomicU64,
    pub(crate) since_sync: AtomicU64,
    pub(crate) vectors_since_sync: AtomicU64,
}

impl Changes {
    pub(crate) fn note(&self, count: u64) {
        self.since_snapshot.fetch_add(count, Ordering::Relaxed);
        self.since_sync.fetch_add(count, Ordering::Relaxed);
    }
}

impl Store {
    /// The memory with this id.
    pub fn get(&self, id: MemoryId) -> Result<Memory> {
        let head = self.live_head(id)?.ok_or(Error::NotFound(id))?;
        let body = self.body(id, head.version)?.ok_or_else(|| missing_version(id, head.version))?;
        Ok(self.complete(memory(id, head.version, head.updated_at, body)))
    }

    /// Changes a memory; the version before stays in its history. A patch that changes nothing
    /// makes no version.
    pub fn update(&self, id: MemoryId, patch: Patch, now: Timestamp) -> Result<Memory> {
        match self.submit_one(Command::Update { id, patch, at: now })? {
            Outcome::Updated(memory) => Ok(self.complete(memory)),
            _ => Err(Error::NotFound(id)),
        }
    }

    /// Deletes a memory and its links; its history stays until [`Store::compact`] purges it.
    pub fn delete(&self, id: MemoryId, now: Timestamp) -> Result<()> {
        self.submit_one(Command::Delete { id, at: now }).map(|_| ())
    }

    /// All versions of a memory, oldest first, also of a deleted one: the last version of a
    /// deleted memory ends with its deletion.
    pub fn history(&self, id: MemoryId) -> Result<Vec<Version>> {
        let head = self.head(id)?.ok_or(Error::NotFound(id))?;
        let mut versions: Vec<Version> = Vec::new();
        for (number, stored) in self.stored_versions(id)? {
            if let Some(last) = versions.last_mut() {
                last.valid_until = Some(stored.valid_from);
            }
            versions.push(self.version(number, stored)?);
        }
        if let Some(last) = versions.last_mut() {
            last.valid_until = head.deleted_at;
        }
        Ok(versions)
    }

    /// Memories in order of their ids, from the first after `after`.
    pub fn list(
        &self,
        filter: &Filter,
        after: Option<MemoryId>,
        limit: usize,
    ) -> Result<Vec<Memory>> {
        if !(1..=LIST_LIMIT_MAX).contains(&limit) {
            let reason = format!("is {limit}; expected 1 to {LIST_LIMIT_MAX}");
            return Err(Error::invalid("limit", reason));
        }
        if self.lacking.lock().is_some() {
            return self.list_by_state(filter, after, limit);
        }
        let ids: Vec<MemoryId> = {
            let view = self.view.read();
            let condition = Condition::new(filter, &view.names);
            let meets = |id: &MemoryId| {
                view.place(*id).is_some_and(|(name, space, slot)| {
                    filter.space.as_deref().is_none_or(|it| it == name)
                        && space.fact(slot).is_some_and(|it| condition.holds(it))
                })
            };
            view.ids_after(after).filter(meets).take(limit).collect()
        };
        let mut memories = Vec::with_capacity(ids.len());
        for id in ids {
            match self.get(id) {
                Ok(memory) => memories.push(memory),
                Err(Error::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(memories)
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
        match self.submit_one(Command::Link { edge, at: now, note })? {
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
        match self.submit_one(Command::Unlink { edge, at: now })? {
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
        self.live_head(id)?.ok_or(Error::NotFound(id))?;
        Ok(self.view.read().graph.walk(id, depth))
    }

    /// Health and statistics of the whole store.
    pub fn status(&self) -> Result<Status> {
        self.count(None, true)
    }

    /// The same without [`Status::storage_bytes`], which takes a walk over folders.
    pub fn counts(&self) -> Result<Status> {
        self.count(None, false)
    }

    /// How far the store has come, for [`StoreOptions::reached`] of a later opening. Waits for a write
    /// that goes on.
    pub fn reached(&self) -> Result<Reached> {
        let sequence = self.log.reached();
        Ok(Reached { sequence, id: Txn::new(&self.state).next_id()? - 1 })
    }

    /// Bytes on disk, all of the store. Walks over its folders.
    pub fn storage_bytes(&self) -> u64 {
        dir_bytes(&self.dir)
    }

    /// Health and statistics as a reader of one space may know them: memories, links and the index
    /// are that space's alone; `storage_bytes` and `last_reindex_at` are the whole store's.
    pub fn status_in(&self, space: &str) -> Result<Status> {
        self.count(Some(space), true)
    }

    /// The same without [`Status::storage_bytes`].
    pub fn counts_in(&self, space: &str) -> Result<Status> {
        self.count(Some(space), false)
    }

    /// Why no more writes are taken, if so.
    pub fn write_fault(&self) -> Option<String> {
        self.write_fault.lock().clone()
    }

    /// The damage that reads have met in the log since it was opened: [`repair`](crate::repair) sets it
    /// aside. Reads no file.
    pub fn damage(&self) -> Vec<Damage> {
        self.log.damage()
    }

    /// The same of the stored vectors, which the next opening removes if they are damaged.
    pub fn vectors_damage(&self) -> Vec<Damage> {
        self.vectors.damage()
    }

    fn count(&self, only: Option<&str>, measures: bool) -> Result<Status> {
        let last_reindex_at = match self.state.get(keys::LAST_REINDEX)? {
            Some(bytes) => Some(crate::codec::Reader::new(&bytes).time().map_err(damaged)?),
            None => None,
        };
        let model = self.model.read().as_ref().map(|it| it.embedder.model.clone());
        let is_whole = self.lacking.lock().is_none();
        let lacking = if is_whole { None } else { Some(live_ids(&self.state)?.len() as u64) };
        let view = self.view.read();
        let mut status = Status {
            links: only.map_or_else(|| view.graph.len(), |it| view.links_within(it)),
            storage_bytes: if measures { dir_bytes(&self.dir) } else { 0 },
            last_reindex_at,
            write_fault: self.write_fault.lock().clone(),
            ..Status::default()
        };
        let mut kinds: BTreeMap<u32, u64> = BTreeMap::new();
        let spaces = view.spaces.iter().filter(|(name, space)| {
            !space.slots.is_empty() && only.is_none_or(|it| it == name.as_str())
        });
        for (name, space) in spaces {
            status.memories += space.slots.len() as u64;
            status.by_space.insert(name.clone(), space.slots.len() as u64);
            for (kind, count) in &space.kinds {
                *kinds.entry(*kind).or_insert(0) += count;
            }
            status.embedded += space.embedded;
            let stats = space.text.stats();
            status.index.terms += stats.terms;
            status.index.bytes += stats.bytes;
            status.index.bytes += space.vectors.as_ref().map_or(0, |it| it.bytes());
        }
        let named =
            kinds.into_iter().map(|(kind, count)| (view.names.name(kind).to_owned(), count));
        status.by_kind = named.collect();
        status.index.documents = status.memories;
        if only.is_none() {
            status.memories = lacking.unwrap_or(status.memories).max(status.memories);
            status.index.lacking = status.memories - status.index.documents;
        }
        status.pending_embeddings = match only {
            None => view.pending.len() as u64,
            Some(_) => view.pending.iter().filter(|id| view.is_in(*id, only)).count() as u64,
        };
        if model.is_none() {
            status.embedded = 0;
        }
        status.model = model;
        Ok(status)
    }

    pub(crate) fn head(&self, id: MemoryId) -> Result<Option<Head>> {
        self.state.get(&keys::head(id))?.map(|it| Head::decode(&it).map_err(damaged)).transpose()
    }

    pub(crate) fn live_head(&self, id: MemoryId) -> Result<Option<Head>> {
        Ok(self.head(id)?.filter(|it| it.deleted_at.is_none()))
    }

    /// A version of a memory with its content, wherever that is.
    pub(crate) fn body(&self, id: MemoryId, version: u32) -> Result<Option<Body>> {
        let Some(value) = self.state.get(&keys::version(id, version))? else { return Ok(None) };
        self.whole_body(StoredVersion::decode(&value).map_err(damaged)?).map(Some)
    }

    pub(crate) fn whole_body(&self, stored: StoredVersion) -> Result<Body> {
        let Some(sequence) = stored.sequence else { return Ok(stored.into_body(None)) };
        let entry = self.log.read(sequence).map_err(|it| log_error(&it, &self.dir))?;
        let entry = entry.ok_or_else(|| {
            Error::Damaged(format!(
                "record {sequence} of the log is missing: the state refers to it"
            ))
        })?;
        let text = text_of(entry.kind, entry.version, &entry.payload);
        Ok(stored.into_body(text.map_err(|it| it.of(sequence))?))
    }

    /// The versions of a memory without their texts, oldest first.
    pub(crate) fn stored_versions(&self, id: MemoryId) -> Result<Vec<(u32, StoredVersion)>> {
        let mut versions = Vec::new();
        self.state.scan(&keys::versions_of(id), &mut |key, value| {
            let number = key.last_chunk().copied().map_or(0, u32::from_be_bytes);
            versions.push((number, StoredVersion::decode(value).map_err(damaged)?));
            Ok(())
        })?;
        Ok(versions)
    }

    fn version(&self, version: u32, stored: StoredVersion) -> Result<Version> {
        let valid_from = stored.valid_from;
        let body = self.whole_body(stored)?;
        let is_purged = body.text.is_none();
        let then = memory(MemoryId::FIRST, version, valid_from, body);
        Ok(Version {
            version,
            title: then.title,
            content: (!is_purged).then_some(then.content),
            kind: then.kind,
            tags: then.tags,
            metadata: then.metadata,
            space: then.space,
            session: then.session,
            created_at: then.created_at,
            valid_from,
            valid_until: None,
        })
    }

    /// Adds what only the index knows.
    pub(crate) fn complete(&self, mut memory: Memory) -> Memory {
        let view = self.view.read();
        memory.embedded =
            view.fact(memory.id).is_some_and(|it| it.embedded && it.version == memory.version);
        memory.superseded_by = view.graph.superseded_by(memory.id);
        memory
    }

    /// What the index needs of a memory as it is now; `None` if it is gone. What is known of it
    /// already is its body, and perhaps its document.
    pub(crate) fn prepare(
        &self,
        id: MemoryId,
        known: Option<(&Body, Option<Document>)>,
    ) -> Result<Option<Prepared>> {
        let Some(head) = self.live_head(id)? else { return Ok(None) };
        if let Some((body, document)) = known {
            let document = document.unwrap_or_else(|| self.document(body));
            return Ok(Prepared::new(body, head.version, head.text_hash, document));
        }
        let Some(body) = self.body(id, head.version)? else { return Ok(None) };
        let document = self.document(&body);
        Ok(Prepared::new(&body, head.version, head.text_hash, document))
    }

    pub(crate) fn document(&self, body: &Body) -> Document {
        let text = body.text.as_ref().map(|it| (own_title(&it.title, &it.content), &*it.content));
        let (title, content) = text.unwrap_or_default();
        self.analyzer.document(title, content)
    }
}

/// The title, unless it is the content's beginning: that must not count twice.
pub(crate) fn own_title<'a>(title: &'a str, content: &str) -> &'a str {
    if content.trim_start().starts_with(title) { "" } else { title }
}

fn missing_version(id: MemoryId, version: u32) -> Error {
    Error::Damaged(format!(
        "version {version} of memory {id} is missing from the state; restart to rebuild it from the log"
    ))
}
