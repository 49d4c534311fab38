//! Changes of one request, with a key that makes it safe to send the request again.

use crate::key::RequestKey;
use crate::record::Edge;
use crate::store::Store;
use crate::writer::command::{Command, Outcome};
use crate::writer::lost;
use crate::{Error, Link, LinkKind, Linked, Memory, MemoryId, Patch, Result, Timestamp};

/// The store for one request: [`Store::request`].
///
/// Its methods are those of the [`Store`]. If an earlier request had the same key, they change nothing
/// and return what they returned then: a memory in the version that it had then, and a link as existing.
///
/// # Errors
/// As the methods of the store, and [`Error::KeyReused`] if the key was used for another request,
/// [`Error::Gone`] if the text to be returned was removed by a compaction since.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    store: &'a Store,
    key: Option<RequestKey>,
    hidden: Option<MemoryId>,
}

/// The outcome of [`Request::begin`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// The key is new: carry out the request, then call [`Request::finish`].
    Now,
    /// An earlier request with this key has been carried out, with this answer.
    Finished(Vec<u8>),
    /// An earlier request with this key was begun and has not ended: it is being carried out, or the
    /// process ended while it was, and nobody knows its effect.
    Unknown,
}

impl Store {
    /// The store for one request, which has a key if it can be sent again.
    #[must_use]
    pub fn request(&self, key: Option<RequestKey>) -> Request<'_> {
        Request { store: self, key, hidden: None }
    }
}

impl Request<'_> {
    /// The same for a caller who may not see a memory that the request names: it changes nothing, but
    /// an earlier request with the same key may have been carried out when the caller could see the
    /// memory. Without such a request, methods fail with [`Error::NotFound`].
    #[must_use]
    pub fn with_hidden(self, hidden: Option<MemoryId>) -> Self {
        Self { hidden, ..self }
    }

    fn submit(&self, command: Command, at: Timestamp) -> Result<Outcome> {
        let command = match self.hidden {
            Some(id) if self.key.is_none() => return Err(Error::NotFound(id)),
            Some(id) => Command::Hidden { id },
            None => command,
        };
        self.store.writer.submit_one(command.once(self.key, at))
    }

    fn changed(&self, command: Command, at: Timestamp) -> Result<Memory> {
        match self.submit(command, at)? {
            Outcome::Updated(memory) => Ok(self.store.index.complete(memory)),
            _ => Err(lost()),
        }
    }

    /// [`Store::update`].
    pub fn update(&self, id: MemoryId, patch: Patch, now: Timestamp) -> Result<Memory> {
        self.changed(Command::Update { id, patch, at: now }, now)
    }

    /// [`Store::revert`].
    pub fn revert(&self, id: MemoryId, version: u32, now: Timestamp) -> Result<Memory> {
        self.changed(Command::Revert { id, version, at: now }, now)
    }

    /// [`Store::undelete`].
    pub fn undelete(&self, id: MemoryId, now: Timestamp) -> Result<Memory> {
        self.changed(Command::Undelete { id, at: now }, now)
    }

    /// [`Store::merge`].
    pub fn merge(
        &self,
        into: MemoryId,
        from: MemoryId,
        patch: Patch,
        now: Timestamp,
    ) -> Result<Memory> {
        self.changed(Command::Merge { into, from, patch, at: now }, now)
    }

    /// [`Store::delete`].
    pub fn delete(&self, id: MemoryId, now: Timestamp) -> Result<()> {
        self.submit(Command::Delete { id, at: now }, now).map(|_| ())
    }

    /// [`Store::link_noted`].
    pub fn link(
        &self,
        from: MemoryId,
        to: MemoryId,
        kind: LinkKind,
        now: Timestamp,
        note: Option<Vec<u8>>,
    ) -> Result<Linked> {
        let edge = Edge { from, to, kind };
        match self.submit(Command::Link { edge, at: now, note }, now)? {
            Outcome::Linked { is_new: true, at } => {
                Ok(Linked::New(Link { from, to, kind, created_at: at, depth: None }))
            }
            Outcome::Linked { is_new: false, at } => {
                Ok(Linked::Existing(Link { from, to, kind, created_at: at, depth: None }))
            }
            _ => Err(lost()),
        }
    }

    /// [`Store::unlink`].
    pub fn unlink(
        &self,
        from: MemoryId,
        to: MemoryId,
        kind: LinkKind,
        now: Timestamp,
    ) -> Result<bool> {
        let edge = Edge { from, to, kind };
        match self.submit(Command::Unlink { edge, at: now }, now)? {
            Outcome::Unlinked(was_there) => Ok(was_there),
            _ => Err(lost()),
        }
    }

    /// Takes the key for a request that changes something outside of the store, at most once: if the
    /// process ends before [`Request::finish`], the key stays taken. Without a key, it is always
    /// [`Begun::Now`].
    ///
    /// # Errors
    /// [`Error::KeyReused`], and if the key cannot be written.
    pub fn begin(&self, now: Timestamp) -> Result<Begun> {
        let Some(key) = self.key else { return Ok(Begun::Now) };
        match self.store.writer.submit_one(Command::Begin.once(Some(key), now))? {
            Outcome::Begun => Ok(Begun::Now),
            Outcome::BegunBefore(Some(answer)) => Ok(Begun::Finished(answer)),
            Outcome::BegunBefore(None) => Ok(Begun::Unknown),
            _ => Err(Error::KeyReused),
        }
    }

    /// Keeps the answer to a request that was begun, or frees its key if it had no effect.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the answer is longer than
    /// [`ANSWER_BYTES_MAX`](crate::limits::ANSWER_BYTES_MAX), and if it cannot be written.
    pub fn finish(&self, answer: Option<Vec<u8>>, now: Timestamp) -> Result<()> {
        let Some(key) = self.key else { return Ok(()) };
        self.store.writer.submit_one(Command::Finish { key, at: now, answer }).map(|_| ())
    }
}
