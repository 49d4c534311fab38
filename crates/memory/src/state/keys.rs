//! The state's keys. Numbers are big-endian, so that keys are ordered by number.
//!
//! | key | value |
//! |---|---|
//! | `h` id | [`Head`]: the current version, or that it was deleted |
//! | `v` id version | [`StoredVersion`] |
//! | `d` hash id | nothing: an existing memory with this title, content, kind, space and session |
//! | `b` number | in sled, instead of `h` and the newest `v`: those of 16 consecutive ids |
//! | `l` from kind to | when the link was created |
//! | `r` to kind from | nothing: the same link from its other end |
//! | `s` space | the space's digest |
//! | `k` key | [`StoredKey`]: what the first command with this request key did |
//! | `q` sequence | the request key of this record, and its time |
//! | `m` name | counters |

use crate::body::{Body, BodyText};
use crate::codec::{Malformed, Reader, Writer, link_code, link_kind};
use crate::key::RequestKey;
use crate::record::{Done, Edge};
use crate::{LinkKind, MemoryId, Timestamp};

pub(crate) const APPLIED: &[u8] = b"mapplied";
pub(crate) const NEXT_ID: &[u8] = b"mnext";
pub(crate) const LINKS_DIGEST: &[u8] = b"mlinks";
/// How far notes have been published, and the record that says so.
pub(crate) const TOLD: &[u8] = b"mtold";
/// When the index of this machine was last rebuilt on request. Local: no record says so, and a
/// state that is rebuilt lacks it.
pub(crate) const LAST_REINDEX: &[u8] = b"mreindex";

/// The last record that removed texts.
pub(crate) const DROPPED: &[u8] = b"mdropped";
/// The record up to which removed texts are no longer in the files of this machine. Local, as
/// [`LAST_REINDEX`]: a state that is rebuilt lacks it, and the next compaction sets it again.
pub(crate) const DESTROYED: &[u8] = b"mdestroyed";

/// The number of request keys, and their digest.
pub(crate) const REQUEST_KEYS: &[u8] = b"mkeys";
pub(crate) const REQUEST_KEYS_DIGEST: &[u8] = b"mkeysdigest";
/// The last record that forgot request keys.
pub(crate) const KEYS_FORGOTTEN: &[u8] = b"mkeysforgotten";

pub(crate) const REQUESTS: &[u8] = b"k";
pub(crate) const REQUEST_QUEUE: &[u8] = b"q";
pub(crate) const LINKS: &[u8] = b"l";
pub(crate) const SPACES: &[u8] = b"s";
pub(crate) const COUNTERS: &[u8] = b"m";

fn key(prefix: u8, parts: &[&[u8]]) -> Vec<u8> {
    let mut key = vec![prefix];
    for part in parts {
        key.extend_from_slice(part);
    }
    key
}

pub(crate) fn head(id: MemoryId) -> Vec<u8> {
    key(b'h', &[&id.get().to_be_bytes()])
}

pub(crate) fn version(id: MemoryId, version: u32) -> Vec<u8> {
    key(b'v', &[&id.get().to_be_bytes(), &version.to_be_bytes()])
}

pub(crate) fn versions_of(id: MemoryId) -> Vec<u8> {
    key(b'v', &[&id.get().to_be_bytes()])
}

pub(crate) fn duplicate(hash: [u8; 16], id: MemoryId) -> Vec<u8> {
    duplicate_of(hash, id.get())
}

pub(crate) fn duplicate_of(hash: [u8; 16], id: u64) -> Vec<u8> {
    key(b'd', &[&hash, &id.to_be_bytes()])
}

pub(crate) fn duplicates_of(hash: [u8; 16]) -> Vec<u8> {
    key(b'd', &[&hash])
}

pub(crate) fn link(edge: Edge) -> Vec<u8> {
    let kind = [link_code(edge.kind)];
    key(b'l', &[&edge.from.get().to_be_bytes(), &kind, &edge.to.get().to_be_bytes()])
}

pub(crate) fn reverse_link(edge: Edge) -> Vec<u8> {
    let kind = [link_code(edge.kind)];
    key(b'r', &[&edge.to.get().to_be_bytes(), &kind, &edge.from.get().to_be_bytes()])
}

pub(crate) fn links_from(id: MemoryId) -> Vec<u8> {
    key(b'l', &[&id.get().to_be_bytes()])
}

pub(crate) fn links_to(id: MemoryId) -> Vec<u8> {
    key(b'r', &[&id.get().to_be_bytes()])
}

pub(crate) fn space(name: &str) -> Vec<u8> {
    key(b's', &[name.as_bytes()])
}

pub(crate) fn request(id: [u8; 16]) -> Vec<u8> {
    key(b'k', &[&id])
}

pub(crate) fn request_queue(sequence: u64) -> Vec<u8> {
    key(b'q', &[&sequence.to_be_bytes()])
}

/// The id at the end of a key.
pub(crate) fn id_at_end(key: &[u8]) -> Result<MemoryId, Malformed> {
    let bytes = key.last_chunk::<8>().ok_or(Malformed("a key is too short"))?;
    MemoryId::new(u64::from_be_bytes(*bytes)).ok_or(Malformed("an id is out of range"))
}

/// The edge of an `l` key.
pub(crate) fn edge_of(key: &[u8]) -> Result<Edge, Malformed> {
    edge_ends(key).map(|(from, kind, to)| Edge { from, to, kind })
}

/// The edge of an `r` key.
pub(crate) fn reverse_edge_of(key: &[u8]) -> Result<Edge, Malformed> {
    edge_ends(key).map(|(to, kind, from)| Edge { from, to, kind })
}

fn edge_ends(key: &[u8]) -> Result<(MemoryId, LinkKind, MemoryId), Malformed> {
    if key.len() != 18 {
        return Err(Malformed("a link's key has a wrong length"));
    }
    let kind = link_kind(key[9]).ok_or(Malformed("a link has an unknown kind"))?;
    Ok((id_at_end(&key[..9])?, kind, id_at_end(key)?))
}

/// The current state of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    /// The newest version.
    pub(crate) version: u32,
    /// When it was last changed.
    pub(crate) updated_at: Timestamp,
    /// Set once it was deleted.
    pub(crate) deleted_at: Option<Timestamp>,
    /// Identifies the title and the content, from which the vector is computed.
    pub(crate) text_hash: u64,
    /// The memory's part of its space's digest.
    pub(crate) digest: u64,
    /// Identifies duplicates; zeros once the memory was purged.
    pub(crate) duplicate: [u8; 16],
}

impl Head {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Writer::new();
        out.u32(self.version);
        out.time(self.updated_at);
        out.u8(u8::from(self.deleted_at.is_some()));
        if let Some(at) = self.deleted_at {
            out.time(at);
        }
        out.u64(self.text_hash);
        out.u64(self.digest);
        out.raw(&self.duplicate);
        out.into_bytes()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut input = Reader::new(bytes);
        let (version, updated_at) = (input.u32()?, input.time()?);
        let deleted_at = if input.flag()? { Some(input.time()?) } else { None };
        let head = Self {
            version,
            updated_at,
            deleted_at,
            text_hash: input.u64()?,
            digest: input.u64()?,
            duplicate: input.array()?,
        };
        input.end()?;
        Ok(head)
    }
}

/// One version of a memory in the state. Its text is only in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredVersion {
    /// When it became the current one.
    pub(crate) valid_from: Timestamp,
    /// The log record that contains it; `None` once it was purged.
    pub(crate) sequence: Option<u64>,
    pub(crate) space: String,
    pub(crate) created_at: Timestamp,
    /// When the memory was deleted as this version, if a later version restored it.
    pub(crate) deleted_at: Option<Timestamp>,
}

impl StoredVersion {
    pub(crate) fn new(body: &Body, valid_from: Timestamp, sequence: u64) -> Self {
        let sequence = body.text.is_some().then_some(sequence);
        let (space, created_at) = (body.space.clone(), body.created_at);
        Self { valid_from, sequence, space, created_at, deleted_at: None }
    }

    /// The body, with the text from the log record.
    pub(crate) fn into_body(self, text: Option<BodyText>) -> Body {
        Body { space: self.space, created_at: self.created_at, text }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Writer::new();
        out.time(self.valid_from);
        out.u64(self.sequence.unwrap_or(0));
        out.text(&self.space);
        out.time(self.created_at);
        if let Some(at) = self.deleted_at {
            out.time(at);
        }
        out.into_bytes()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut input = Reader::new(bytes);
        let (valid_from, sequence) = (input.time()?, input.u64()?);
        let (space, created_at) = (input.text()?, input.time()?);
        let deleted_at = if input.is_empty() { None } else { Some(input.time()?) };
        input.end()?;
        let sequence = (sequence != 0).then_some(sequence);
        Ok(Self { valid_from, sequence, space, created_at, deleted_at })
    }
}

/// A request key in the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredKey {
    pub(crate) request: [u8; 16],
    /// The record that contains it.
    pub(crate) sequence: u64,
    pub(crate) done: Done,
}

impl StoredKey {
    pub(crate) fn is_of(&self, key: &RequestKey) -> bool {
        self.request == key.request
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Writer::new();
        out.raw(&self.request);
        out.u64(self.sequence);
        self.done.encode(&mut out);
        out.into_bytes()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut input = Reader::new(bytes);
        let (request, sequence) = (input.array()?, input.u64()?);
        let done = Done::decode(&mut input)?.ok_or(Malformed("a key has no outcome"))?;
        input.end()?;
        Ok(Self { request, sequence, done })
    }
}

/// A row of the queue of request keys, the oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueuedKey {
    pub(crate) sequence: u64,
    pub(crate) id: [u8; 16],
    pub(crate) at: Timestamp,
}

impl QueuedKey {
    pub(crate) fn value(&self) -> Vec<u8> {
        let mut out = Writer::new();
        out.raw(&self.id);
        out.time(self.at);
        out.into_bytes()
    }

    /// The sequence in a row's key.
    pub(crate) fn sequence_of(key: &[u8]) -> Result<u64, Malformed> {
        let bytes = key.last_chunk().copied().ok_or(Malformed("a key is too short"))?;
        Ok(u64::from_be_bytes(bytes))
    }

    pub(crate) fn decode(key: &[u8], value: &[u8]) -> Result<Self, Malformed> {
        let mut input = Reader::new(value);
        let (id, at) = (input.array()?, input.time()?);
        input.end()?;
        Ok(Self { sequence: Self::sequence_of(key)?, id, at })
    }
}
