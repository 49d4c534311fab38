//! The journal as one part sees it.

use std::fmt;
use std::sync::Arc;

use waypost_journal::{Error, ErrorKind};
use waypost_log::{AppendMax, Entry, Record, SharedError, SharedJournal};

use crate::hub::Hub;
use crate::part::Part;

/// One part's access to the hub.
pub(crate) struct PartJournal {
    hub: Arc<Hub>,
    part: Part,
}

impl PartJournal {
    pub(crate) fn new(hub: Arc<Hub>, part: Part) -> Self {
        Self { hub, part }
    }
}

impl fmt::Debug for PartJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartJournal").field("part", &self.part).finish_non_exhaustive()
    }
}

impl SharedJournal for PartJournal {
    fn compare(
        &self,
        last: u64,
        is_same: &mut dyn FnMut(&Entry) -> bool,
    ) -> Result<(), SharedError> {
        self.hub.compare(self.part, last, is_same)
    }

    fn base(&self) -> u64 {
        self.hub.queues.lock().base().places[self.part.index()]
    }

    fn append_max(&self) -> AppendMax {
        self.hub.append_max(self.part)
    }

    fn append(&self, after: u64, records: &[Record<'_>]) -> Result<(), SharedError> {
        self.hub.append(self.part, after, records)
    }

    fn release(&self) {
        self.hub.end_turn(self.part);
    }

    fn read(&self, after: u64) -> Result<Vec<Entry>, SharedError> {
        self.hub.read(self.part, after)
    }
}

/// An error of the journal as a part sees it.
pub(crate) fn shared(error: &Error) -> SharedError {
    match error.kind() {
        ErrorKind::Behind => SharedError::Excluded(error.to_string()),
        ErrorKind::Lost if matches!(error, Error::Incarnation { .. }) => {
            SharedError::Excluded(error.to_string())
        }
        ErrorKind::Lost | ErrorKind::Damaged => SharedError::Diverged(error.to_string()),
        ErrorKind::Unresolved => SharedError::Unknown(error.to_string()),
        ErrorKind::Setup => SharedError::Refused(error.to_string()),
        ErrorKind::Retry | ErrorKind::Invalid => SharedError::Unavailable(error.to_string()),
    }
}
