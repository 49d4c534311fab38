//! The writer: commands come from many threads, and one takes them all, decides them, and writes.

mod batch;
pub(crate) mod command;
mod commit;
mod decide;
pub(crate) mod import;
pub(crate) mod outbox;
pub(crate) mod queue;

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::index::Index;
use crate::layout::Folders;
use crate::records::Records;
use crate::state::found::applied;
use crate::writer::command::{Command, Outcome};
use crate::writer::outbox::Outbox;
use crate::writer::queue::{Queued, Reply, Then, Ticket, lost};
use crate::{Error, Result, StoreOptions};

/// One batch takes so many commands at most.
const BATCH_COMMANDS_MAX: usize = 1024;

/// Decides commands and writes them: to the log, then to the state, then to the index.
pub(crate) struct Writer {
    records: Arc<Records>,
    index: Arc<Index>,
    pub(crate) outbox: Outbox,
    folders: Folders,
    options: Arc<StoreOptions>,
    queue: Mutex<VecDeque<Queued>>,
    state: Mutex<WriterState>,
    /// A copy of the writer's fault that can be read without waiting for a writer.
    fault: Mutex<Option<String>>,
}

/// What only the thread that writes may touch.
#[derive(Debug, Default)]
pub(crate) struct WriterState {
    /// Why nothing is written any more.
    fault: Option<String>,
    /// While a batch is written, the log's last sequence before it. It stays when that panics, and
    /// then the state and the index may lack what the log has.
    writing_after: Option<u64>,
}

impl Writer {
    pub(crate) fn new(
        records: Arc<Records>,
        index: Arc<Index>,
        outbox: Outbox,
        folders: Folders,
        options: Arc<StoreOptions>,
    ) -> Self {
        Self {
            records,
            index,
            outbox,
            folders,
            options,
            queue: Mutex::default(),
            state: Mutex::default(),
            fault: Mutex::default(),
        }
    }

    /// Waits for a write that goes on; nothing is written while this is held.
    pub(crate) fn lock(&self) -> MutexGuard<'_, WriterState> {
        self.state.lock()
    }

    /// Why no more writes are taken, if so. Waits for no write.
    pub(crate) fn fault(&self) -> Option<String> {
        self.fault.lock().clone()
    }

    /// Carries out commands, together with those of other threads, and returns when they are on
    /// disk.
    pub(crate) fn submit(&self, commands: Vec<Command>) -> Vec<Result<Outcome>> {
        let mut tickets = Vec::with_capacity(commands.len());
        {
            let mut queue = self.queue.lock();
            for command in commands {
                let ticket = Arc::new(Ticket::default());
                tickets.push(Arc::clone(&ticket));
                queue.push_back(Queued { command, reply: Reply::Ticket(ticket) });
            }
        }
        tickets.into_iter().map(|ticket| self.wait(&ticket)).collect()
    }

    pub(crate) fn submit_one(&self, command: Command) -> Result<Outcome> {
        self.submit(vec![command]).pop().unwrap_or_else(|| Err(lost()))
    }

    /// Queues a command for whoever writes next; `then` gets its answer.
    pub(crate) fn queue(&self, command: Command, then: Then) {
        self.queue.lock().push_back(Queued { command, reply: Reply::Then(then) });
    }

    /// Writes what [`Self::queue`] queued, in batches, until nothing waits. Threads that
    /// write for themselves get their turn in between.
    pub(crate) fn write_queued(&self) {
        loop {
            let mut writer = self.state.lock();
            if !self.write_some(&mut writer) {
                return;
            }
            MutexGuard::unlock_fair(writer);
        }
    }

    fn wait(&self, ticket: &Ticket) -> Result<Outcome> {
        loop {
            if let Some(answer) = ticket.0.lock().take() {
                return answer;
            }
            let mut writer = self.state.lock();
            if let Some(answer) = ticket.0.lock().take() {
                return answer;
            }
            if !self.write_some(&mut writer) {
                // The thread that took the command went down with it.
                return Err(lost());
            }
        }
    }

    /// Takes what is queued and writes it. Returns whether there was anything.
    fn write_some(&self, writer: &mut WriterState) -> bool {
        let queued = {
            let mut queue = self.queue.lock();
            let count = queue.len().min(BATCH_COMMANDS_MAX);
            queue.drain(..count).collect::<Vec<_>>()
        };
        if queued.is_empty() {
            return false;
        }
        if writer.fault.is_some()
            || writer.writing_after.is_some()
            || self.records.state.is_broken()
        {
            self.recover(writer);
        }
        if let Some(fault) = &writer.fault {
            for queued in queued {
                self.answer(queued.reply, Err(Error::Unavailable(fault.clone())));
            }
            return true;
        }
        let mut queued = queued.into_iter().peekable();
        while queued.peek().is_some() {
            writer.writing_after = Some(self.records.log.last_sequence());
            self.write_batch(&mut queued, writer);
            writer.writing_after = None;
        }
        true
    }

    fn answer(&self, reply: Reply, outcome: Result<Outcome>) {
        match reply {
            Reply::Ticket(ticket) => *ticket.0.lock() = Some(outcome),
            Reply::Then(then) => then(&self.index, outcome),
        }
    }

    /// Writes down how far was told, if that has moved. Returns whether it has.
    pub(crate) fn save_told(&self) -> Result<bool> {
        let unsaved = {
            // Held, so that no change is on disk whose note does not wait yet.
            let _no_writer = self.state.lock();
            self.outbox.unsaved(self.records.log.last_sequence())
        };
        let Some(through) = unsaved else { return Ok(false) };
        match self.submit_one(Command::Told { through })? {
            Outcome::Told => Ok(true),
            _ => Err(Error::Unavailable("failed to record published notices".to_owned())),
        }
    }

    /// Syncs the state with all that the log has. Whoever removes records from the log because of
    /// what the state says does this first, and holds the writer's lock from then on: a state that
    /// is older, as a crash may leave it, would not hear of them any more.
    pub(crate) fn bring_to_disk(&self, writer: &mut WriterState) -> Result<()> {
        if writer.fault.is_some()
            || writer.writing_after.is_some()
            || self.records.state.is_broken()
        {
            self.recover(writer);
        }
        if let Some(fault) = &writer.fault {
            return Err(Error::Unavailable(fault.clone()));
        }
        if writer.writing_after.is_some() {
            return Err(Error::Full("too little free space to update the state".to_owned()));
        }
        self.records.state.sync()?;
        let (applied, last) = (applied(&self.records.state)?, self.records.log.last_sequence());
        if applied == last {
            return Ok(());
        }
        Err(Error::Unavailable(format!("the state has record {applied}, and the log {last}")))
    }
}
