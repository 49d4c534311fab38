//! Why flows have stopped, if they have.

/// Why the engine makes no decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Halt {
    /// The disk is full; flows continue when there is space.
    Full,
    /// The database of the cluster does not answer; flows continue when it does, here or on another
    /// machine.
    Cluster,
    /// A fault that a restart may repair.
    Fault,
}

impl Halt {
    pub(super) fn of(error: &anyhow::Error) -> Self {
        match error.downcast_ref::<waypost_flows::Error>() {
            Some(it) if it.is_full() => Self::Full,
            Some(waypost_flows::Error::NotLeading | waypost_flows::Error::SharedJournal(_)) => {
                Self::Cluster
            }
            _ => Self::Fault,
        }
    }

    /// The reason for HTTP clients, without internals.
    pub(crate) fn why(self) -> &'static str {
        match self {
            Self::Full => {
                "the disk is full and flows have stopped: they continue when there is free space"
            }
            Self::Cluster => {
                "the database of the cluster does not answer and flows have stopped: they continue when it does, here or on another machine"
            }
            Self::Fault => {
                "flows have stopped after a fault: check the service's log, then restart it"
            }
        }
    }
}
