//! The writer: decides the commands of many threads and writes them by
//! [group commit](waypost_log::group_commit).

mod batch;
pub(crate) mod command;
mod commit;
mod decide;
mod follow;
mod idempotency;
pub(crate) mod import;
pub(crate) mod outbox;
pub(crate) mod position;

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use waypost_log::group_commit::{Lead, Pending, Queue};

use crate::index::Index;
use crate::layout::Folders;
use crate::records::Records;
use crate::state::digest::Digests;
use crate::writer::command::{Command, Outcome};
use crate::writer::outbox::Outbox;
use crate::writer::position::Position;
use crate::{Error, Result, StoreOptions};

/// Maximum number of commands that one leader takes, unless one request has more.
const GROUP_COMMANDS_MAX: usize = 1024;

/// The outcomes of the commands of one request, in order.
pub(crate) type Outcomes = Vec<Result<Outcome>>;

/// Decides commands and writes them: to the log, then to the state, then to the index.
pub(crate) struct Writer {
    records: Arc<Records>,
    index: Arc<Index>,
    pub(crate) outbox: Outbox,
    pub(crate) position: Position,
    pub(crate) digests: Digests,
    folders: Folders,
    options: Arc<StoreOptions>,
    queue: Queue<Vec<Command>, Outcomes>,
    state: Mutex<WriterState>,
    /// A copy of the writer's fault that can be read without waiting for a writer.
    fault: Mutex<Option<String>>,
}

/// What only the leader uses.
#[derive(Debug, Default)]
pub(crate) struct WriterState {
    /// Why writes fail, if they do.
    fault: Option<String>,
    /// While a batch is written, the position in the journal before it. It stays set after a panic:
    /// then the state and the index may lack records of the journal.
    writing_after: Option<u64>,
}

impl Writer {
    pub(crate) fn new(
        records: Arc<Records>,
        index: Arc<Index>,
        outbox: Outbox,
        folders: Folders,
        options: Arc<StoreOptions>,
    ) -> Result<Self> {
        let position = Position::new(records.state.applied()?);
        Ok(Self {
            records,
            index,
            outbox,
            position,
            digests: Digests::default(),
            folders,
            options,
            queue: Queue::default(),
            state: Mutex::default(),
            fault: Mutex::default(),
        })
    }

    /// Waits for a write in progress; nothing is written while this is held.
    pub(crate) fn lock(&self) -> MutexGuard<'_, WriterState> {
        self.state.lock()
    }

    /// Why writes fail, if they do. Waits for no write.
    pub(crate) fn fault(&self) -> Option<String> {
        self.fault.lock().clone()
    }

    /// Executes commands, together with those of other threads, and returns when they are on disk.
    pub(crate) fn submit(&self, commands: Vec<Command>) -> Outcomes {
        let count = commands.len();
        let outcomes = self.queue.submit(commands, &|lead| self.lead(lead));
        outcomes.unwrap_or_else(|| (0..count).map(|_| Err(lost())).collect())
    }

    pub(crate) fn submit_one(&self, command: Command) -> Result<Outcome> {
        only(self.submit(vec![command]))
    }

    /// Queues a command for the next leader, which calls `then` with its outcome.
    pub(crate) fn submit_later(
        &self,
        command: Command,
        then: impl FnOnce(Result<Outcome>) + Send + 'static,
    ) {
        self.queue.submit_later(vec![command], |outcomes| then(only(outcomes)));
    }

    /// Writes what [`Self::submit_later`] queued before this call.
    pub(crate) fn write_queued(&self) {
        // An empty request is answered when everything before it has been.
        self.submit(Vec::new());
    }

    /// Writes a group of requests.
    fn lead(&self, lead: &Lead<'_, Vec<Command>, Outcomes>) {
        let mut writer = self.state.lock();
        let mut count = 0;
        let group = lead.take(|next| {
            count += next.len();
            count <= GROUP_COMMANDS_MAX
        });
        let (mut commands, mut replies) = (Vec::new(), Vec::new());
        for Pending { mut request, reply } in group {
            replies.push((request.len(), reply));
            commands.append(&mut request);
        }
        let mut outcomes = self.write(&commands, &mut writer).into_iter();
        drop(writer);
        for (count, reply) in replies {
            reply.answer(outcomes.by_ref().take(count).collect());
        }
    }

    fn write(&self, commands: &[Command], writer: &mut WriterState) -> Outcomes {
        if commands.is_empty() {
            return Vec::new();
        }
        if self.make_usable(writer).is_err() {
            let fault = writer.fault.clone().unwrap_or_default();
            return commands.iter().map(|_| Err(Error::Unavailable(fault.clone()))).collect();
        }
        let mut outcomes = Vec::with_capacity(commands.len());
        while outcomes.len() < commands.len() {
            outcomes.append(&mut self.write_batch(&commands[outcomes.len()..], writer));
        }
        outcomes
    }

    /// Recovers from an earlier fault, if there was one.
    fn make_usable(&self, writer: &mut WriterState) -> Result<()> {
        if writer.fault.is_some()
            || writer.writing_after.is_some()
            || self.records.state.is_broken()
        {
            self.recover(writer);
        }
        match &writer.fault {
            Some(fault) => Err(Error::Unavailable(fault.clone())),
            None => Ok(()),
        }
    }

    /// Records how far notes have been published, if that has changed. Returns whether it has.
    pub(crate) fn save_told(&self) -> Result<bool> {
        let unsaved = {
            // Held, so that the note of every change on disk is in the outbox.
            let _no_writer = self.state.lock();
            self.outbox.unsaved(self.records.state.applied()?)
        };
        let Some(through) = unsaved else { return Ok(false) };
        match self.submit_one(Command::Told { through })? {
            Outcome::Told => Ok(true),
            _ => Err(Error::Unavailable("failed to record published notices".to_owned())),
        }
    }

    /// Syncs the state with everything in the journal. Call it, and hold the writer's lock, before
    /// records are removed from the journal because of the state: after a crash, an older state
    /// could no longer replay them.
    pub(crate) fn bring_to_disk(&self, writer: &mut WriterState) -> Result<()> {
        self.make_usable(writer)?;
        if writer.writing_after.is_some() {
            return Err(Error::Full("too little free space to update the state".to_owned()));
        }
        self.records.journal.sync()?;
        self.records.state.sync()?;
        let (applied, last) = (self.records.state.applied()?, self.records.journal.last());
        if applied == last {
            return Ok(());
        }
        Err(Error::Unavailable(format!("the state has record {applied}, and the log {last}")))
    }
}

/// The outcome of a request of one command.
fn only(mut outcomes: Outcomes) -> Result<Outcome> {
    outcomes.pop().unwrap_or_else(|| Err(lost()))
}

pub(crate) fn lost() -> Error {
    Error::Unavailable("the writing thread stopped".into())
}
