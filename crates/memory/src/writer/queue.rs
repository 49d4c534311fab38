//! The queue of commands: they come from many threads, and one takes them all and writes.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::index::Index;
use crate::writer::command::{Command, Outcome};
use crate::{Error, Result};

/// Where a command's answer will be.
#[derive(Debug, Default)]
pub(crate) struct Ticket(pub(crate) Mutex<Option<Result<Outcome>>>);

/// Called with a command's answer by the thread that wrote it.
pub(crate) type Then = Box<dyn FnOnce(&Index, Result<Outcome>) + Send>;

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

pub(crate) fn lost() -> Error {
    Error::Unavailable("the writing thread stopped".into())
}
