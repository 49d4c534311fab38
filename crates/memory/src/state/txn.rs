//! Uncommitted changes on top of the state, and the function that applies records.
//!
//! [`apply`] is the only function that changes the state, except for what
//! is local to the machine: the time of the last reindex, and how far removed texts are destroyed. It uses no clock and no randomness, so replaying the journal
//! always gives the same state. It takes any record: after a salvage, a change may come without
//! what was before it, and must still mean one thing.

pub(crate) mod requests;

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};
use waypost_log::Digest;
use waypost_projection::Write;

use crate::body::{Body, BodyText};
use crate::codec::{Reader, Writer, link_code};
use crate::record::{Edge, Record};
use crate::state::digest::{self, DIGEST_EVERY};
use crate::state::keys::{self, Head, StoredVersion};
use crate::state::{State, damaged};
use crate::{MemoryId, Result, Timestamp};

/// A chunk for the state ends after this many changes …
const CHUNK_WRITES_MAX: usize = 200;
/// … or this many bytes.
const CHUNK_BYTES_MAX: usize = 128 * 1024;

/// Changes on top of a state.
#[derive(Debug)]
pub(crate) struct Txn<'a> {
    state: &'a State,
    /// All changes on top of the state.
    overlay: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// The changes of the current chunk.
    chunk: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    chunk_bytes: usize,
    chunks: Vec<Vec<Write>>,
    digests: Vec<Digest>,
    touched: Touched,
}

/// What an index must update after a commit.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    /// Memories that were added, changed or deleted.
    pub(crate) memories: BTreeSet<MemoryId>,
    /// Links in order: created at a time, or removed.
    pub(crate) links: Vec<(Edge, Option<Timestamp>)>,
}

impl<'a> Txn<'a> {
    pub(crate) fn new(state: &'a State) -> Self {
        Self {
            state,
            overlay: BTreeMap::new(),
            chunk: BTreeMap::new(),
            chunk_bytes: 0,
            chunks: Vec::new(),
            digests: Vec::new(),
            touched: Touched::default(),
        }
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        match self.overlay.get(key) {
            Some(value) => Ok(value.clone()),
            None => self.state.get(key),
        }
    }

    fn put(&mut self, key: Vec<u8>, value: Option<Vec<u8>>) {
        self.chunk_bytes += key.len() + value.as_ref().map_or(0, Vec::len);
        self.chunk.insert(key.clone(), value.clone());
        self.overlay.insert(key, value);
    }

    /// The keys with a prefix, in order.
    fn keys(&self, prefix: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut keys = BTreeSet::new();
        self.state.scan(prefix, &mut |key, _| {
            keys.insert(key.to_vec());
            Ok(())
        })?;
        let changed = self.overlay.range(prefix.to_vec()..);
        for (key, value) in changed.take_while(|(key, _)| key.starts_with(prefix)) {
            if value.is_some() {
                keys.insert(key.clone());
            } else {
                keys.remove(key);
            }
        }
        Ok(keys.into_iter().collect())
    }

    /// The head of an existing or deleted memory.
    pub(crate) fn head(&self, id: MemoryId) -> Result<Option<Head>> {
        self.get(&keys::head(id))?.map(|it| Head::decode(&it).map_err(damaged)).transpose()
    }

    /// The head of an existing memory.
    pub(crate) fn live_head(&self, id: MemoryId) -> Result<Option<Head>> {
        Ok(self.head(id)?.filter(|head| head.deleted_at.is_none()))
    }

    pub(crate) fn version(&self, id: MemoryId, version: u32) -> Result<Option<StoredVersion>> {
        let value = self.get(&keys::version(id, version))?;
        value.map(|value| StoredVersion::decode(&value).map_err(damaged)).transpose()
    }

    /// The numbers of a memory's versions, oldest first.
    fn version_numbers(&self, id: MemoryId) -> Result<Vec<u32>> {
        let keys = self.keys(&keys::versions_of(id))?;
        Ok(keys
            .iter()
            .filter_map(|key| key.last_chunk().copied().map(u32::from_be_bytes))
            .collect())
    }

    /// When a link was created, if it exists.
    pub(crate) fn link(&self, edge: Edge) -> Result<Option<Timestamp>> {
        let value = self.get(&keys::link(edge))?;
        value.map(|value| Reader::new(&value).time().map_err(damaged)).transpose()
    }

    /// The links from and to a memory, and when they were created.
    pub(crate) fn links_of(&self, id: MemoryId) -> Result<Vec<(Edge, Timestamp)>> {
        let outgoing = self.keys(&keys::links_from(id))?;
        let outgoing = outgoing.iter().map(|outgoing| keys::edge_of(outgoing).map_err(damaged));
        let incoming = self.keys(&keys::links_to(id))?;
        let incoming =
            incoming.iter().map(|incoming| keys::reverse_edge_of(incoming).map_err(damaged));
        let mut links = Vec::new();
        for edge in outgoing.chain(incoming) {
            let edge = edge?;
            links.extend(self.link(edge)?.map(|at| (edge, at)));
        }
        Ok(links)
    }

    /// The memory with the lowest id that has this text in this space.
    pub(crate) fn duplicate(&self, body: &Body) -> Result<Option<MemoryId>> {
        let Some(hash) = duplicate_hash(body) else { return Ok(None) };
        let keys = self.keys(&keys::duplicates_of(hash))?;
        keys.first().map(|key| keys::id_at_end(key).map_err(damaged)).transpose()
    }

    /// All memories that have this text in this space, by id.
    pub(crate) fn duplicates(&self, body: &Body) -> Result<Vec<MemoryId>> {
        let Some(hash) = duplicate_hash(body) else { return Ok(Vec::new()) };
        let keys = self.keys(&keys::duplicates_of(hash))?;
        keys.iter().map(|key| keys::id_at_end(key).map_err(damaged)).collect()
    }

    /// The id that the next memory gets.
    pub(crate) fn next_id(&self) -> Result<u64> {
        self.number(keys::NEXT_ID).map(|number| number.max(1))
    }

    fn number(&self, key: &[u8]) -> Result<u64> {
        self.get(key)?.map_or(Ok(0), |it| Reader::new(&it).u64().map_err(damaged))
    }

    fn set_number(&mut self, key: &[u8], number: u64) {
        self.put(key.to_vec(), Some(number.to_le_bytes().to_vec()));
    }

    fn flip_digest(&mut self, key: &[u8], digest: u64) -> Result<()> {
        let now = self.number(key)? ^ digest;
        self.set_number(key, now);
        Ok(())
    }

    /// Records that all changes so far come from the records up to `sequence`, and ends the chunk
    /// if it is large enough.
    pub(crate) fn applied(&mut self, sequence: u64) -> Result<()> {
        self.set_number(keys::APPLIED, sequence);
        if sequence.is_multiple_of(DIGEST_EVERY) {
            let digest = self.digest(sequence)?;
            self.digests.push(digest);
        }
        if self.chunk.len() >= CHUNK_WRITES_MAX || self.chunk_bytes >= CHUNK_BYTES_MAX {
            self.cut();
        }
        Ok(())
    }

    /// The digest of the state with these changes.
    fn digest(&self, position: u64) -> Result<Digest> {
        let mut rows: BTreeMap<Vec<u8>, Vec<u8>> = self.state.counters()?.1.into_iter().collect();
        for (key, value) in &self.overlay {
            match value {
                Some(value) => drop(rows.insert(key.clone(), value.clone())),
                None => drop(rows.remove(key)),
            }
        }
        Ok(digest::digest(position, rows.iter().map(|(key, value)| (&**key, &**value))))
    }

    fn cut(&mut self) {
        if !self.chunk.is_empty() {
            self.chunks.push(std::mem::take(&mut self.chunk).into_iter().collect());
            self.chunk_bytes = 0;
        }
    }

    /// The chunks for the state, each of whole records, what they touch, and the digests on the way.
    pub(crate) fn finish(mut self) -> (Vec<Vec<Write>>, Touched, Vec<Digest>) {
        self.cut();
        (self.chunks, self.touched, self.digests)
    }
}

/// Applies the record with this sequence.
pub(crate) fn apply(record: &Record<'_>, sequence: u64, txn: &mut Txn<'_>) -> Result<()> {
    match record {
        Record::Add { id, at, body } => put_version(txn, (*id, 1), (*at, body), sequence)?,
        Record::Update { id, version, at, restores, body } => {
            if *restores {
                end_deletion(txn, *id, *version)?;
            }
            put_version(txn, (*id, *version), (*at, body), sequence)?;
        }
        Record::Delete { id, at } => delete(txn, *id, *at)?,
        Record::Link { edge, at } => add_link(txn, *edge, *at)?,
        Record::Unlink { edge, at: _ } => remove_link(txn, *edge)?,
        Record::Purge { ids } => {
            for id in ids {
                purge(txn, *id)?;
            }
            txn.set_number(keys::DROPPED, sequence);
        }
        Record::Forget { below } => {
            for (id, version) in below {
                forget(txn, *id, *version)?;
            }
            txn.set_number(keys::DROPPED, sequence);
        }
        Record::Taken { below } => {
            if txn.next_id()? < *below {
                txn.set_number(keys::NEXT_ID, *below);
            }
        }
        Record::Notice { .. } => {}
        Record::Key(record) => requests::put(txn, record, sequence)?,
        Record::ForgetKeys { below } => {
            requests::forget(txn, *below)?;
            txn.set_number(keys::KEYS_FORGOTTEN, sequence);
        }
        Record::Told { through } => {
            let mut value = Writer::new();
            value.u64(*through);
            value.u64(sequence);
            txn.put(keys::TOLD.to_vec(), Some(value.into_bytes()));
        }
    }
    txn.applied(sequence)
}

fn put_version(
    txn: &mut Txn<'_>,
    (id, version): (MemoryId, u32),
    (at, body): (Timestamp, &Body),
    sequence: u64,
) -> Result<()> {
    if let Some(head) = txn.head(id)? {
        if head.deleted_at.is_some() || head.version >= version {
            return Ok(());
        }
        forget_present(txn, id, &head)?;
    }
    let stored = StoredVersion::new(body, at, sequence);
    let duplicate = duplicate_hash(body);
    let head = Head {
        version,
        updated_at: at,
        deleted_at: None,
        text_hash: text_hash(body),
        digest: digest(id, version, body),
        duplicate: duplicate.unwrap_or_default(),
    };
    txn.put(keys::head(id), Some(head.encode()));
    txn.put(keys::version(id, version), Some(stored.encode()));
    if let Some(hash) = duplicate {
        txn.put(keys::duplicate(hash, id), Some(Vec::new()));
    }
    txn.flip_digest(&keys::space(&body.space), head.digest)?;
    if txn.next_id()? <= id.get() {
        txn.set_number(keys::NEXT_ID, id.get() + 1);
    }
    txn.touched.memories.insert(id);
    Ok(())
}

/// Makes a deleted memory exist again, until its version `next` replaces that which it had when it
/// was deleted; the history keeps the time of the deletion.
fn end_deletion(txn: &mut Txn<'_>, id: MemoryId, next: u32) -> Result<()> {
    let Some(head) = txn.head(id)?.filter(|head| head.version < next) else { return Ok(()) };
    let Some(deleted_at) = head.deleted_at else { return Ok(()) };
    if let Some(stored) = txn.version(id, head.version)? {
        txn.flip_digest(&keys::space(&stored.space), head.digest)?;
        let ended = StoredVersion { deleted_at: Some(deleted_at), ..stored };
        txn.put(keys::version(id, head.version), Some(ended.encode()));
    }
    txn.put(keys::head(id), Some(Head { deleted_at: None, ..head }.encode()));
    Ok(())
}

/// Removes the current version from the digest and the duplicates.
fn forget_present(txn: &mut Txn<'_>, id: MemoryId, head: &Head) -> Result<()> {
    if let Some(stored) = txn.version(id, head.version)? {
        txn.flip_digest(&keys::space(&stored.space), head.digest)?;
    }
    txn.put(keys::duplicate(head.duplicate, id), None);
    Ok(())
}

fn delete(txn: &mut Txn<'_>, id: MemoryId, at: Timestamp) -> Result<()> {
    let head = match txn.head(id)? {
        Some(head) if head.deleted_at.is_some() => return Ok(()),
        Some(head) => {
            forget_present(txn, id, &head)?;
            Head { deleted_at: Some(at), ..head }
        }
        None => Head {
            version: 0,
            updated_at: at,
            deleted_at: Some(at),
            text_hash: 0,
            digest: 0,
            duplicate: [0; 16],
        },
    };
    txn.put(keys::head(id), Some(head.encode()));
    for key in txn.keys(&keys::links_from(id))? {
        remove_link(txn, keys::edge_of(&key).map_err(damaged)?)?;
    }
    for key in txn.keys(&keys::links_to(id))? {
        remove_link(txn, keys::reverse_edge_of(&key).map_err(damaged)?)?;
    }
    if txn.next_id()? <= id.get() {
        txn.set_number(keys::NEXT_ID, id.get() + 1);
    }
    txn.touched.memories.insert(id);
    Ok(())
}

fn add_link(txn: &mut Txn<'_>, edge: Edge, at: Timestamp) -> Result<()> {
    let ends_live = txn.live_head(edge.from)?.is_some() && txn.live_head(edge.to)?.is_some();
    if !ends_live || edge.from == edge.to || txn.link(edge)?.is_some() {
        return Ok(());
    }
    let mut value = Writer::new();
    value.time(at);
    txn.put(keys::link(edge), Some(value.into_bytes()));
    txn.put(keys::reverse_link(edge), Some(Vec::new()));
    txn.flip_digest(keys::LINKS_DIGEST, link_digest(edge, at))?;
    txn.touched.links.push((edge, Some(at)));
    Ok(())
}

fn remove_link(txn: &mut Txn<'_>, edge: Edge) -> Result<()> {
    let Some(at) = txn.link(edge)? else { return Ok(()) };
    txn.put(keys::link(edge), None);
    txn.put(keys::reverse_link(edge), None);
    txn.flip_digest(keys::LINKS_DIGEST, link_digest(edge, at))?;
    txn.touched.links.push((edge, None));
    Ok(())
}

fn purge(txn: &mut Txn<'_>, id: MemoryId) -> Result<()> {
    let Some(head) = txn.head(id)?.filter(|head| head.deleted_at.is_some()) else { return Ok(()) };
    forget_texts(txn, id, u32::MAX)?;
    let head = Head { text_hash: 0, digest: 0, duplicate: [0; 16], ..head };
    txn.put(keys::head(id), Some(head.encode()));
    Ok(())
}

fn forget(txn: &mut Txn<'_>, id: MemoryId, below: u32) -> Result<()> {
    let Some(head) = txn.head(id)? else { return Ok(()) };
    forget_texts(txn, id, below.min(head.version))
}

/// Removes the texts of the versions below one; spaces and times stay.
fn forget_texts(txn: &mut Txn<'_>, id: MemoryId, below: u32) -> Result<()> {
    for number in txn.version_numbers(id)? {
        let Some(stored) = txn.version(id, number)?.filter(|_| number < below) else { continue };
        let purged = StoredVersion { sequence: None, ..stored };
        txn.put(keys::version(id, number), Some(purged.encode()));
    }
    Ok(())
}

/// Identifies duplicates. `None` for a purged body.
fn duplicate_hash(body: &Body) -> Option<[u8; 16]> {
    let text = body.text.as_ref()?;
    let mut hasher = Sha256::new();
    let session = text.session.as_deref();
    for part in [&body.space, &text.title, &text.content, &text.kind] {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.update([u8::from(session.is_some())]);
    hasher.update(session.unwrap_or_default().as_bytes());
    hasher.finalize().first_chunk().copied()
}

/// Identifies the title and the content.
pub(crate) fn text_hash(body: &Body) -> u64 {
    let Some(BodyText { title, content, .. }) = &body.text else { return 0 };
    let mut hasher = Sha256::new();
    hasher.update((title.len() as u64).to_le_bytes());
    hasher.update(title.as_bytes());
    hasher.update(content.as_bytes());
    first_u64(&hasher.finalize())
}

/// A memory's part of its space's digest.
fn digest(id: MemoryId, version: u32, body: &Body) -> u64 {
    let mut out = Writer::new();
    out.u64(id.get());
    out.u32(version);
    body.encode(&mut out);
    first_u64(&Sha256::digest(out.into_bytes()))
}

/// A link's part of the links' digest.
pub(crate) fn link_digest(edge: Edge, at: Timestamp) -> u64 {
    let mut out = Writer::new();
    out.u64(edge.from.get());
    out.u64(edge.to.get());
    out.u8(link_code(edge.kind));
    out.time(at);
    first_u64(&Sha256::digest(out.into_bytes()))
}

fn first_u64(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |chunk| u64::from_le_bytes(*chunk))
}
