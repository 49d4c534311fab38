//! Compares the records that the replicas of a machine have with the journal, before any of them
//! follows or appends.

use waypost_journal::{Journal, Until};
use waypost_log::{Entry, SharedError};

use crate::append::Stopped;
use crate::hub::Hub;
use crate::part::Part;
use crate::queues::Compared;
use crate::read::check_reached;

impl Hub {
    /// Whether the records of all [parts](crate::HubOptions::with_parts) were compared with the journal.
    pub fn is_compared(&self) -> bool {
        self.uncompared.is_empty()
    }

    /// Records of others could be those of another history, which one part does not show.
    pub(crate) fn check_compared(&self) -> Result<(), SharedError> {
        if self.is_compared() {
            return Ok(());
        }
        let why = "this machine has not compared its records with the journal of the cluster yet";
        Err(self.fault().unwrap_or_else(|| SharedError::Unavailable(why.to_owned())))
    }

    /// Compares the records of a part behind the base, whose last one is `last`. The base itself has
    /// the hash of everything before it.
    pub(crate) fn compare(
        &self,
        part: Part,
        last: u64,
        is_same: &mut dyn FnMut(&Entry) -> bool,
    ) -> Result<(), SharedError> {
        self.check_base(part, last)?;
        self.reading(|journal, until| self.compare_on(journal, (part, last), is_same, until))?;
        self.uncompared.remove(part);
        Ok(())
    }

    fn compare_on(
        &self,
        journal: &Journal,
        (part, last): (Part, u64),
        is_same: &mut dyn FnMut(&Entry) -> bool,
        until: &Until,
    ) -> Result<(), Stopped> {
        loop {
            let (compared, tail, place) = {
                let mut queues = self.queues.lock();
                (queues.compare(part, last, is_same), queues.tail(), queues.place(part))
            };
            match compared {
                Compared::Same => return Ok(()),
                Compared::Different(number) => {
                    return Err(SharedError::Diverged(format!(
                        "record {number} of {part} on this machine is another one in the journal"
                    ))
                    .into());
                }
                Compared::Dropped => self.rewind(),
                Compared::Unread => {
                    if self.fetch(journal, until)? == Some(tail) {
                        check_reached(part, last, place)?;
                    }
                }
            }
        }
    }
}
