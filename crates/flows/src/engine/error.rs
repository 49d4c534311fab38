//! The engine's errors.

use std::path::PathBuf;

use waypost_log::SharedError;

use crate::{FlowName, RunId};

/// The engine's errors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The journal's log cannot be opened, read or written.
    #[error("the journal of flows: {0}")]
    Log(#[from] waypost_log::Error),
    /// The journal is damaged: [`repair`](crate::repair) keeps what remains.
    #[error("the journal of flows in {} is damaged: {message}", path.display())]
    Damaged {
        /// The engine's folder.
        path: PathBuf,
        /// The damage and its position.
        message: String,
    },
    /// A newer release wrote a part of the journal.
    #[error("a newer release wrote {what}: {message}")]
    Newer {
        /// The part.
        what: String,
        /// How this is known.
        message: String,
    },
    /// The journal knows events that no longer exist.
    #[error(
        "flows have processed events up to {cursor}, but the last event is {last}: the events after it are lost"
    )]
    EventsLost {
        /// The last event evaluated by flows.
        cursor: u64,
        /// The last existing event.
        last: u64,
    },
    /// A record of the journal cannot be read.
    #[error("record {sequence} of the journal of flows: {message}")]
    Record {
        /// Its sequence number.
        sequence: u64,
        /// The reason.
        message: String,
    },
    /// [`Options::identity`](crate::Options::identity) is not a valid identity.
    #[error("{0:?} is not a valid project id: use 1 to 16 letters and digits")]
    Identity(String),
    /// [`Options::machine`](crate::Options::machine) is not a valid name of a machine.
    #[error(
        "{0:?} is not a valid name of a machine: use 1 to 64 letters, digits, `-`, `_` and `.`"
    )]
    Machine(String),
    /// This machine does not run the flows: another one does, or took over meanwhile. Nothing was
    /// decided, and nothing may be started.
    #[error("this machine does not run the flows at the moment; ask the machine that does")]
    NotLeading,
    /// The shared journal did not take or return records. The message says whether they may have
    /// been written.
    #[error("the shared journal of flows: {0}")]
    SharedJournal(SharedError),
    /// The run does not exist (any more).
    #[error("no run {0}")]
    UnknownRun(RunId),
    /// No flow of this name is in force.
    #[error("no flow {0}")]
    UnknownFlow(FlowName),
    /// The flow is not in force, because its file is pending approval.
    #[error("flow {0} is pending approval")]
    PendingApproval(FlowName),
    /// Only failed or cancelled runs can be retried.
    #[error("run {0} did not fail; only failed or cancelled runs can be retried")]
    NotFailed(RunId),
}

impl Error {
    /// Whether the disk is full: free some space, and commit again, or, on a replica,
    /// [lead](crate::Engine::lead) again.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Log(waypost_log::Error::Full))
    }
}
