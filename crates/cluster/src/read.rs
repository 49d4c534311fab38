//! Reads the journal into the queues of the parts.

use waypost_journal::{FetchOptions, Journal, Position, Until};
use waypost_log::{Entry, SharedError};

use crate::append::{CUTS_MAX, Stopped};
use crate::hub::Hub;
use crate::part::Part;
use crate::queues::Page;

impl Hub {
    /// Some records of a part after the number `after`, which the part has applied.
    pub(crate) fn read(&self, part: Part, after: u64) -> Result<Vec<Entry>, SharedError> {
        self.check_compared()?;
        if let Some(page) = self.queued(part, after)? {
            return Ok(page);
        }
        self.reading(|journal, until| self.read_on(journal, part, after, until))
    }

    /// Calls `read` with the journal, and again if a connection ends.
    pub(crate) fn reading<T>(
        &self,
        mut read: impl FnMut(&Journal, &Until) -> Result<T, Stopped>,
    ) -> Result<T, SharedError> {
        let until = self.within(self.options.read_time);
        let journal = self.connected(&until)?;
        let mut cut = 0;
        loop {
            match self.settle(&journal, &until).and_then(|()| read(&journal, &until)) {
                Err(Stopped::Cut(_)) if cut < CUTS_MAX => cut += 1,
                outcome => return Ok(outcome?),
            }
        }
    }

    /// What is in the part's queue, without the database: nothing, too, if this machine has read up to
    /// the end that its follower has seen last.
    fn queued(&self, part: Part, after: u64) -> Result<Option<Vec<Entry>>, SharedError> {
        if self.unsettled.lock().is_some() {
            return Ok(None);
        }
        let mut queues = self.queues.lock();
        match queues.page(part, after) {
            Page::Rows(page) => Ok(Some(page)),
            Page::Unread if queues.is_read(part) => {
                check_reached(part, after, queues.place(part))?;
                Ok(Some(Vec::new()))
            }
            Page::Unread | Page::Dropped => Ok(None),
        }
    }

    fn read_on(
        &self,
        journal: &Journal,
        part: Part,
        after: u64,
        until: &Until,
    ) -> Result<Vec<Entry>, Stopped> {
        let mut has_rewound = false;
        loop {
            let (page, tail, place) = {
                let mut queues = self.queues.lock();
                (queues.page(part, after), queues.tail(), queues.place(part))
            };
            match page {
                Page::Rows(page) => return Ok(page),
                Page::Dropped => {
                    let lacks = self.queues.lock().lacks(part, after);
                    if has_rewound || !lacks {
                        return Ok(Vec::new());
                    }
                    self.check_base(part, after)?;
                    has_rewound = true;
                    self.rewind();
                }
                Page::Unread => {
                    // Otherwise, another thread has read on, or begun again.
                    if self.fetch(journal, until)? == Some(tail) {
                        check_reached(part, after, place)?;
                        return Ok(Vec::new());
                    }
                }
            }
        }
    }

    /// The part lacks records that it had on disk when the base was set.
    pub(crate) fn check_base(&self, part: Part, after: u64) -> Result<(), SharedError> {
        let first = self.queues.lock().base().places[part.index()];
        if after >= first {
            return Ok(());
        }
        Err(SharedError::Excluded(format!(
            "this machine has {part} up to record {after}, and had record {first} on disk before; \
             join the cluster again"
        )))
    }

    /// Reads from the base again: the part went back to an earlier record, or its queue was dropped.
    pub(crate) fn rewind(&self) {
        let _no_reader = self.reading.lock();
        self.queues.lock().rewind();
    }

    /// Reads what follows the tail, or returns the tail if the journal ends there.
    pub(crate) fn fetch(
        &self,
        journal: &Journal,
        until: &Until,
    ) -> Result<Option<Position>, Stopped> {
        let _one_at_a_time = self.reading.lock();
        let tail = self.queues.lock().tail();
        let fetched = journal.fetch(tail, &FetchOptions::default(), until);
        let fetched = fetched.map_err(|error| self.stopped(&error))?;
        self.contact.succeeded();
        let is_end = fetched.rows.is_empty();
        let taken = self.queues.lock().take(fetched.rows, fetched.head.position.seq);
        taken.map_err(|error| SharedError::Diverged(error.0))?;
        Ok(is_end.then_some(tail))
    }
}

/// The part has no more records than the journal, whose last one of the part is `place`.
pub(crate) fn check_reached(part: Part, after: u64, place: u64) -> Result<(), SharedError> {
    if place >= after {
        return Ok(());
    }
    Err(SharedError::Diverged(format!(
        "this machine has record {after} of {part}, and the journal ends at record {place} of it"
    )))
}
