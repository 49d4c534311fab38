//! Adding memories: one, many at once, or without waiting.

use std::sync::Arc;

use crate::check;
use crate::index::Index;
use crate::record::Body;
use crate::store::Store;
use crate::writer::command::{Command, Outcome};
use crate::writer::lost;
use crate::{Added, Draft, Error, RequestKey, Result, Timestamp};

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
    pub fn add(&self, draft: Draft, now: Timestamp) -> Result<Added> {
        self.add_batch(vec![draft], now).pop().unwrap_or_else(|| Err(lost()))
    }

    /// Adds many memories with few syncs; one that fails does not stop the others. The results are
    /// in the order of the drafts.
    pub fn add_batch(&self, drafts: Vec<Draft>, now: Timestamp) -> Vec<Result<Added>> {
        self.add_prepared(self.prepare_adds(drafts, now))
    }

    /// The part of [`Store::add_batch`] that needs no writer: checks and analyses the drafts.
    pub fn prepare_adds(&self, drafts: Vec<Draft>, now: Timestamp) -> PreparedAdds {
        let checked: Vec<Result<Checked>> =
            drafts.into_iter().map(|it| Checked::new(it, now)).collect();
        let mut refused = Vec::with_capacity(checked.len());
        let mut commands = Vec::new();
        for checked in checked {
            match checked {
                Ok(checked) => {
                    commands.push(checked.command(&self.index, now));
                    refused.push(None);
                }
                Err(error) => refused.push(Some(error)),
            }
        }
        PreparedAdds { commands, refused }
    }

    /// The rest of [`Store::add_batch`].
    pub fn add_prepared(&self, ready: PreparedAdds) -> Vec<Result<Added>> {
        let PreparedAdds { commands, refused } = ready;
        let mut outcomes = self.writer.submit(commands).into_iter();
        let mut added = || added(&self.index, outcomes.next().unwrap_or_else(|| Err(lost())));
        refused.into_iter().map(|it| it.map_or_else(&mut added, Err)).collect()
    }

    /// Like [`Store::add`] for a thread that must not wait: queues the add. The thread that writes
    /// it calls `then` with the result once it is on disk; `then` must be fast and must not wait.
    /// Some thread must call [`Store::write_queued`] afterwards.
    pub fn add_later(
        &self,
        draft: Draft,
        now: Timestamp,
        then: impl FnOnce(Result<Added>) + Send + 'static,
    ) {
        match Checked::new(draft, now) {
            Ok(checked) => {
                let command = checked.command(&self.index, now);
                let index = Arc::clone(&self.index);
                self.writer.submit_later(command, move |it| then(added(&index, it)));
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

/// A valid draft.
struct Checked {
    body: Body,
    note: Option<Vec<u8>>,
    key: Option<RequestKey>,
}

impl Checked {
    fn new(mut draft: Draft, now: Timestamp) -> Result<Self> {
        let (note, key) = (draft.note.take(), draft.key.take());
        Ok(Self { body: check::draft(draft, now)?, note, key })
    }

    fn command(self, index: &Index, at: Timestamp) -> Command {
        let Self { body, note, key } = self;
        let document = Some(Arc::new(index.document(&body)));
        Command::Add { body, document, at, note }.once(key, at)
    }
}
