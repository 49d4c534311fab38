//! Why flows stand still, if they do.

/// Why nothing is decided any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Halt {
    /// There is no room for the journal; they go on when there is.
    Full,
    /// Something failed that a start of the service may mend.
    Fault,
}

impl Halt {
    pub(super) fn of(error: &anyhow::Error) -> Self {
        match error.downcast_ref::<waypost_flows::Error>() {
            Some(it) if it.is_full() => Self::Full,
            _ => Self::Fault,
        }
    }

    /// For who asks over HTTP: nothing of the inside.
    pub(crate) fn why(self) -> &'static str {
        match self {
            Self::Full => {
                "the disk is full and flows have stopped: they continue when there is free space"
            }
            Self::Fault => {
                "flows have stopped after a fault: check the service's log, then restart it"
            }
        }
    }
}
