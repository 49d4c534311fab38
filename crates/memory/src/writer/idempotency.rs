//! Requests with a key: the first command is carried out, and others get its outcome.

use crate::key::RequestKey;
use crate::limits::{ANSWER_BYTES_MAX, KEY_WINDOW, KEYS_FORGOTTEN_AT_ONCE_MAX};
use crate::record::{Done, KeyRecord, Record};
use crate::writer::batch::Batch;
use crate::writer::command::{Command, Outcome};
use crate::{Error, Memory, MemoryId, Result, Timestamp};

impl Batch<'_> {
    pub(super) fn once(
        &mut self,
        key: RequestKey,
        at: Timestamp,
        command: &Command,
    ) -> Result<Outcome> {
        if let Some(stored) = self.txn.request(key.id)? {
            if !stored.is_of(&key) {
                return Err(Error::KeyReused);
            }
            return self.again(stored.done);
        }
        let outcome = self.decide(command)?;
        if let Some(done) = done(&outcome) {
            self.push(&Record::Key(KeyRecord { key, at, done: Some(done) }))?;
        }
        Ok(outcome)
    }

    /// The outcome of the first command.
    fn again(&self, done: Done) -> Result<Outcome> {
        Ok(match done {
            Done::Added { id } => Outcome::AddedBefore(self.memory(id, 1)?),
            Done::Existed { id, version } => Outcome::Existing(self.memory(id, version)?),
            Done::Changed { id, version } => Outcome::Updated(self.memory(id, version)?),
            Done::Deleted => Outcome::Deleted,
            Done::Linked { is_new: _, at } => Outcome::Linked { is_new: false, at },
            Done::Unlinked(was_there) => Outcome::Unlinked(was_there),
            Done::Begun => Outcome::BegunBefore(None),
            Done::Answered(answer) => Outcome::BegunBefore(Some(answer)),
            // Units of an import are compared one by one.
            Done::Imported { .. } => return Err(Error::KeyReused),
        })
    }

    /// A memory in one of its versions.
    fn memory(&self, id: MemoryId, version: u32) -> Result<Memory> {
        let gone = |reason| Error::Gone { id, version, reason };
        let stored = self.txn.version(id, version)?.ok_or(gone("damage destroyed it"))?;
        let body = self.body(id, version)?.ok_or(gone("damage destroyed it"))?;
        if body.text.is_none() {
            return Err(gone("a compaction removed it"));
        }
        Ok(body.memory(id, version, stored.valid_from))
    }

    pub(super) fn finish(
        &mut self,
        key: RequestKey,
        at: Timestamp,
        answer: Option<&[u8]>,
    ) -> Result<Outcome> {
        if answer.is_some_and(|answer| answer.len() > ANSWER_BYTES_MAX) {
            let reason = format!("must have at most {ANSWER_BYTES_MAX} bytes");
            return Err(Error::invalid("answer", reason));
        }
        let stored = self.txn.request(key.id)?;
        // It may have been forgotten, and the key used again since.
        if stored.is_some_and(|stored| stored.is_of(&key) && stored.done == Done::Begun) {
            let done = answer.map(|answer| Done::Answered(answer.to_vec()));
            self.push(&Record::Key(KeyRecord { key, at, done }))?;
        }
        Ok(Outcome::Finished)
    }

    /// Forgets the oldest keys that are outside of the window, by their own times and order. A key
    /// whose time is in the future is kept, and so are those after it.
    pub(super) fn forget_keys(&mut self, newest: u64, at: Timestamp) -> Result<Outcome> {
        let spare = self.txn.requests()?.saturating_sub(newest);
        let mut left = spare.min(KEYS_FORGOTTEN_AT_ONCE_MAX as u64);
        if left == 0 {
            return Ok(Outcome::KeysForgotten);
        }
        let forgotten = self.txn.oldest_requests(&mut |it| {
            let is_old = it.at.saturating_add(KEY_WINDOW) < at && left > 0;
            left -= u64::from(is_old);
            is_old
        })?;
        if let Some(last) = forgotten.last() {
            self.push(&Record::ForgetKeys { below: last.sequence + 1 })?;
        }
        Ok(Outcome::KeysForgotten)
    }
}

/// What is kept of an outcome; nothing of those of commands that never have a key.
fn done(outcome: &Outcome) -> Option<Done> {
    let of = |memory: &Memory| (memory.id, memory.version);
    Some(match outcome {
        Outcome::Added(memory) => Done::Added { id: memory.id },
        Outcome::Existing(memory) => {
            let (id, version) = of(memory);
            Done::Existed { id, version }
        }
        Outcome::Updated(memory) => {
            let (id, version) = of(memory);
            Done::Changed { id, version }
        }
        Outcome::Deleted => Done::Deleted,
        Outcome::Linked { is_new, at } => Done::Linked { is_new: *is_new, at: *at },
        Outcome::Unlinked(was_there) => Done::Unlinked(*was_there),
        Outcome::Begun => Done::Begun,
        Outcome::AddedBefore(_)
        | Outcome::BegunBefore(_)
        | Outcome::Expired(_)
        | Outcome::Imported(_)
        | Outcome::Purged
        | Outcome::Told
        | Outcome::Finished
        | Outcome::KeysForgotten => return None,
    })
}
