//! Adding memories: one, many at once, or without waiting.

use std::sync::Arc;

use crate::body::Body;
use crate::check;
use crate::index::Index;
use crate::store::Store;
use crate::writer::command::{Command, Outcome};
use crate::writer::lost;
use crate::{Added, Addition, Error, Result, Timestamp};

/// Drafts that were checked and analysed; see [`Store::prepare_adds`].
#[derive(Debug)]
pub struct PreparedAdds {
    commands: Vec<Command>,
    /// For each draft: why it is invalid, if it is.
    refused: Vec<Option<Error>>,
}

impl Store {
    /// Adds a memory, or returns the existing one with the same text. It is on disk when this
    /// returns.
    pub fn add(&self, draft: impl Into<Addition>, now: Timestamp) -> Result<Added> {
        self.add_batch([draft], now).pop().unwrap_or_else(|| Err(lost()))
    }

    /// Adds many memories with few syncs; one that fails does not stop the others. The results are
    /// in the order of the drafts.
    pub fn add_batch<T: Into<Addition>>(
        &self,
        drafts: impl IntoIterator<Item = T>,
        now: Timestamp,
    ) -> Vec<Result<Added>> {
        self.add_prepared(self.prepare_adds(drafts, now))
    }

    /// The part of [`Store::add_batch`] that needs no writer: checks and analyses the drafts.
    pub fn prepare_adds<T: Into<Addition>>(
        &self,
        drafts: impl IntoIterator<Item = T>,
        now: Timestamp,
    ) -> PreparedAdds {
        let mut ready = PreparedAdds { commands: Vec::new(), refused: Vec::new() };
        for draft in drafts {
            match self.command(draft.into(), now) {
                Ok(command) => {
                    ready.commands.push(command);
                    ready.refused.push(None);
                }
                Err(error) => ready.refused.push(Some(error)),
            }
        }
        ready
    }

    /// The command for a valid draft, with its document.
    fn command(&self, addition: Addition, at: Timestamp) -> Result<Command> {
        let Addition { draft, note, key } = addition;
        check::expiry(draft.expires_at, at)?;
        let body = Body::new(draft, at)?;
        let document = Some(Arc::new(self.index.document(&body)));
        Ok(Command::Add { body, document, at, note }.once(key, at))
    }

    /// The rest of [`Store::add_batch`].
    pub fn add_prepared(&self, ready: PreparedAdds) -> Vec<Result<Added>> {
        let PreparedAdds { commands, refused } = ready;
        let mut outcomes = self.writer.submit(commands).into_iter();
        let mut added = || added(&self.index, outcomes.next().unwrap_or_else(|| Err(lost())));
        refused.into_iter().map(|refused| refused.map_or_else(&mut added, Err)).collect()
    }

    /// Like [`Store::add`] for a thread that must not wait: queues the add. The thread that writes
    /// it calls `then` with the result once it is on disk; `then` must be fast and must not wait.
    /// Some thread must call [`Store::write_queued`] afterwards.
    pub fn add_later(
        &self,
        draft: impl Into<Addition>,
        now: Timestamp,
        then: impl FnOnce(Result<Added>) + Send + 'static,
    ) {
        match self.command(draft.into(), now) {
            Ok(command) => {
                let index = Arc::clone(&self.index);
                self.writer.submit_later(command, move |writer| then(added(&index, writer)));
            }
            Err(error) => then(Err(error)),
        }
    }
}

fn added(index: &Index, outcome: Result<Outcome>) -> Result<Added> {
    match outcome? {
        Outcome::Added(memory) => Ok(Added::New(memory)),
        Outcome::Existing(memory) => Ok(Added::Existing(index.complete(memory))),
        Outcome::AddedBefore(memory) => Ok(Added::Before(index.complete(memory))),
        _ => Err(lost()),
    }
}
