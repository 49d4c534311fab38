//! Decides each command on top of the commands before it.

use std::borrow::Cow;
use std::sync::Arc;

use waypost_ranking::Document;

use crate::body::{Body, BodyText};
use crate::record::{Edge, Record};
use crate::state::keys::Head;
use crate::writer::batch::Batch;
use crate::writer::command::{Command, Outcome};
use crate::writer::import;
use crate::{Error, MemoryId, Patch, Result, Timestamp};

impl Batch<'_> {
    pub(super) fn decide(&mut self, command: &Command) -> Result<Outcome> {
        match command {
            Command::Add { body, document, at, note } => {
                self.add(body, document.clone(), *at, note.as_deref())
            }
            Command::Update { id, patch, at } => self.update(*id, patch, *at),
            Command::Merge { into, from, patch, at } => self.merge((*into, *from), patch, *at),
            Command::Revert { id, version, at } => self.revert(*id, *version, *at),
            Command::Undelete { id, at } => self.undelete(*id, *at),
            Command::Delete { id, at } => {
                let (id, at) = (*id, *at);
                self.txn.live_head(id)?.ok_or(Error::NotFound(id))?;
                self.push(&Record::Delete { id, at })?;
                Ok(Outcome::Deleted)
            }
            Command::Expire { ids, at } => {
                let mut count = 0;
                for id in ids {
                    count += u64::from(self.expire(*id, *at)?);
                }
                Ok(Outcome::Expired(count))
            }
            Command::Link { edge, at, note } => {
                let (edge, at) = (*edge, *at);
                for id in [edge.from, edge.to] {
                    self.txn.live_head(id)?.ok_or(Error::NotFound(id))?;
                }
                if edge.from == edge.to {
                    return Err(Error::invalid("to", "is the same memory as `from`"));
                }
                if let Some(at) = self.txn.link(edge)? {
                    return Ok(Outcome::Linked { is_new: false, at });
                }
                self.push(&Record::Link { edge, at })?;
                self.note(None, note.as_deref())?;
                Ok(Outcome::Linked { is_new: true, at })
            }
            Command::Unlink { edge, at } => {
                let (edge, at) = (*edge, *at);
                for id in [edge.from, edge.to] {
                    self.txn.live_head(id)?.ok_or(Error::NotFound(id))?;
                }
                if self.txn.link(edge)?.is_none() {
                    return Ok(Outcome::Unlinked(false));
                }
                self.push(&Record::Unlink { edge, at })?;
                Ok(Outcome::Unlinked(true))
            }
            Command::Import { units, ids, at } => {
                import::decide(units, *at, &mut ids.lock(), self).map(Outcome::Imported)
            }
            Command::Purge { ids } => {
                self.push(&Record::Purge { ids: ids.clone() })?;
                Ok(Outcome::Purged)
            }
            Command::Forget { below } => {
                self.push(&Record::Forget { below: below.clone() })?;
                Ok(Outcome::Purged)
            }
            Command::Told { through } => {
                self.push(&Record::Told { through: *through })?;
                Ok(Outcome::Told)
            }
            Command::Once { key, at, command } => self.once(*key, *at, command),
            Command::Hidden { id } => Err(Error::NotFound(*id)),
            Command::Begin => Ok(Outcome::Begun),
            Command::Finish { key, at, answer } => self.finish(*key, *at, answer.as_deref()),
            Command::ForgetKeys { newest, at } => self.forget_keys(*newest, *at),
        }
    }

    fn note(&mut self, id: Option<MemoryId>, note: Option<&[u8]>) -> Result<()> {
        note.map_or(Ok(()), |note| self.push(&Record::Notice { id, note: note.to_vec() }))
    }

    fn add(
        &mut self,
        body: &Body,
        document: Option<Arc<Document>>,
        at: Timestamp,
        note: Option<&[u8]>,
    ) -> Result<Outcome> {
        while let Some(id) = self.txn.duplicate(body)? {
            // An expired memory is no longer visible: the new one takes its place.
            if self.expire(id, at)? {
                continue;
            }
            let head = self.txn.live_head(id)?.ok_or(Error::NotFound(id))?;
            let body = self.body(id, head.version)?.ok_or(Error::NotFound(id))?;
            return Ok(Outcome::Existing(body.memory(id, head.version, head.updated_at)));
        }
        let number = self.txn.next_id()?;
        let id = MemoryId::new(number)
            .ok_or_else(|| Error::Unavailable("no ids left below 2^53".into()))?;
        self.push(&Record::Add { id, at, body: Cow::Borrowed(body) })?;
        self.note(Some(id), note)?;
        self.has_document(id, document);
        Ok(Outcome::Added(body.clone().memory(id, 1, at)))
    }

    /// Deletes a memory if it exists and has expired by a time; returns whether it had.
    fn expire(&mut self, id: MemoryId, at: Timestamp) -> Result<bool> {
        let Some(head) = self.txn.live_head(id)? else { return Ok(false) };
        let text = self.body(id, head.version)?.and_then(|body| body.text);
        let has_expired = text.is_some_and(|text| text.lifespan.has_expired(at));
        if has_expired {
            self.push(&Record::Delete { id, at })?;
        }
        Ok(has_expired)
    }

    fn update(&mut self, id: MemoryId, patch: &Patch, at: Timestamp) -> Result<Outcome> {
        let head = self.txn.live_head(id)?.ok_or(Error::NotFound(id))?;
        let body = self.body(id, head.version)?.ok_or(Error::NotFound(id))?;
        let before = body.text.as_ref().ok_or(Error::NotFound(id))?;
        let after = before.patched(patch, at)?;
        if after == *before {
            return Ok(Outcome::Updated(body.memory(id, head.version, head.updated_at)));
        }
        self.replace(id, &head, Body { text: Some(after), ..body }, at)
    }

    /// Writes the next version of a memory, which restores it if it was deleted.
    fn replace(&mut self, id: MemoryId, head: &Head, body: Body, at: Timestamp) -> Result<Outcome> {
        let version = head.version.checked_add(1).ok_or_else(|| {
            let reason = format!("is {}, the last one possible; add a new memory", head.version);
            Error::invalid("version", reason)
        })?;
        let restores = head.deleted_at.is_some();
        let record = Record::Update { id, version, at, restores, body: Cow::Borrowed(&body) };
        self.push(&record)?;
        Ok(Outcome::Updated(body.memory(id, version, at)))
    }

    fn merge(
        &mut self,
        (into, from): (MemoryId, MemoryId),
        patch: &Patch,
        at: Timestamp,
    ) -> Result<Outcome> {
        let space = |id: MemoryId| {
            let head = self.txn.live_head(id)?.ok_or(Error::NotFound(id))?;
            let stored = self.txn.version(id, head.version)?;
            Ok::<_, Error>(stored.ok_or(Error::NotFound(id))?.space)
        };
        let (space, other) = (space(into)?, space(from)?);
        if into == from {
            return Err(Error::invalid("from", "is the same memory as `into`"));
        }
        if space != other {
            let reason =
                format!("is in the space `{other}`; it must be in that of `into`, `{space}`");
            return Err(Error::invalid("from", reason));
        }
        let links = self.txn.links_of(from)?;
        let merged = self.update(into, patch, at)?;
        let end = |id: MemoryId| if id == from { into } else { id };
        for (Edge { from, to, kind }, at) in links {
            let edge = Edge { from: end(from), to: end(to), kind };
            if edge.from != edge.to && self.txn.link(edge)?.is_none() {
                self.push(&Record::Link { edge, at })?;
            }
        }
        self.push(&Record::Delete { id: from, at })?;
        Ok(merged)
    }

    fn revert(&mut self, id: MemoryId, version: u32, at: Timestamp) -> Result<Outcome> {
        let head = self.txn.live_head(id)?.ok_or(Error::NotFound(id))?;
        if !(1..=head.version).contains(&version) {
            return Err(Error::NoVersion { id, version, newest: head.version });
        }
        let gone = |reason| Error::Gone { id, version, reason };
        let earlier = self.body(id, version)?.ok_or(gone("damage destroyed it"))?;
        let earlier = earlier.text.ok_or(gone("a compaction removed it"))?;
        let after = unexpired(earlier, at);
        let body = self.body(id, head.version)?.ok_or(Error::NotFound(id))?;
        if body.text.as_ref() == Some(&after) {
            return Ok(Outcome::Updated(body.memory(id, head.version, head.updated_at)));
        }
        self.replace(id, &head, Body { text: Some(after), ..body }, at)
    }

    fn undelete(&mut self, id: MemoryId, at: Timestamp) -> Result<Outcome> {
        // A memory that has expired seems deleted.
        self.expire(id, at)?;
        let head = self.txn.head(id)?.ok_or(Error::NotFound(id))?;
        if head.deleted_at.is_none() {
            return Err(Error::NotDeleted(id));
        }
        let gone = |reason| Error::Gone { id, version: head.version, reason };
        let body = self.body(id, head.version)?.ok_or(gone("the store never had it"))?;
        let text = body.text.clone().ok_or(gone("a compaction removed it"))?;
        self.replace(id, &head, Body { text: Some(unexpired(text, at)), ..body }, at)
    }
}

/// A text without a time of expiry that has passed: the memory would be deleted at once.
fn unexpired(mut text: BodyText, now: Timestamp) -> BodyText {
    text.lifespan.expires_at = text.lifespan.expires_at.filter(|at| *at > now);
    text
}
