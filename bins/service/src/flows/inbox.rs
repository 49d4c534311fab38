//! Messages to the runner.

use std::sync::Arc;

use parking_lot::Mutex;
use waypost_flows::{AttemptId, Leader, Report, RunEnd, RunId};

use crate::wake::Wake;

/// An event of an action or a run.
#[derive(Debug)]
pub(super) enum Message {
    /// An action's process has started.
    Spawned(AttemptId, Leader),
    /// An action has ended.
    Ended(AttemptId, Report),
    /// No process of an earlier service remains for a run.
    OrphanEnded(RunId),
    /// A run's end was published.
    Announced(RunEnd),
}

/// Messages for the runner, in order.
#[derive(Debug)]
pub(super) struct Inbox {
    messages: Mutex<Vec<Message>>,
    wake: Arc<Wake>,
}

impl Inbox {
    pub(super) fn new(wake: &Arc<Wake>) -> Self {
        Self { messages: Mutex::default(), wake: Arc::clone(wake) }
    }

    pub(super) fn put(&self, message: Message) {
        self.messages.lock().push(message);
        self.wake.flowing();
    }

    pub(super) fn take(&self) -> Vec<Message> {
        std::mem::take(&mut *self.messages.lock())
    }
}
