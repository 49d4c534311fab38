//! The queue of commands: they come from many threads, and one takes them all and writes.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::commit::{Command, Outcome, WriterState};
use crate::store::Store;
use crate::{Error, Result};

/// One batch takes so many commands at most.
const BATCH_COMMANDS_MAX: usize = 1024;

/// Where a command's answer will be.
#[derive(Debug, Default)]
pub(crate) struct Ticket(Mutex<Option<Result<Outcome>>>);

/// Called with a command's answer by the thread that wrote it.
pub(crate) type Then = Box<dyn FnOnce(&Store, Result<Outcome>) + Send>;

/// Where a command's answer goes.
pub(crate) enum Reply {
    /// To a thread that waits.
    Ticket(Arc<Ticket>),
    Then(Then),
}

/// A command that waits, and where its answer goes.
pub(crate) struct Queued {
    pub(crate) command: Command,
    pub(crate) reply: Reply,
}

impl Store {
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

    /// Writes what [`Store::add_later`] queued, in batches, until nothing waits. Threads that
    /// write for themselves get their turn in between.
    pub fn write_queued(&self) {
        loop {
            let mut writer = self.writer.lock();
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
            let mut writer = self.writer.lock();
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
        if writer.fault.is_some() || writer.writing_after.is_some() || self.state.is_broken() {
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
            writer.writing_after = Some(self.log.last_sequence());
            self.write_batch(&mut queued, writer);
            writer.writing_after = None;
        }
        true
    }

    pub(crate) fn answer(&self, reply: Reply, outcome: Result<Outcome>) {
        match reply {
            Reply::Ticket(ticket) => *ticket.0.lock() = Some(outcome),
            Reply::Then(then) => then(self, outcome),
        }
    }
}

pub(crate) fn lost() -> Error {
    Error::Unavailable("the writing thread stopped".into())
}
