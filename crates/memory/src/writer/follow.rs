//! Following: applying what other replicas have appended to the shared journal.

use waypost_log::{Entry, Refused, SharedError};

use crate::Result;
use crate::writer::batch::Batch;
use crate::writer::commit::Failed;
use crate::writer::{Writer, WriterState};

impl Writer {
    /// Applies what the shared journal has beyond this replica, and returns how many records that
    /// were. Waits for a write in progress only if there is something.
    pub(crate) fn follow(&self) -> Result<u64> {
        let journal = &self.records.journal;
        let mut count = 0;
        loop {
            // Without the writer's lock: nobody waits for the shared journal because of this.
            let applied = self.records.state.applied()?;
            let page = journal.page(applied).map_err(|error| journal.error(&error))?;
            if page.is_empty() {
                return Ok(count);
            }
            let mut writer = self.state.lock();
            self.make_usable(&mut writer)?;
            let after = self.records.state.applied()?;
            let taken = self.take_page(after, page, &mut writer);
            if !matches!(taken, Err(Failed::Fault(_))) {
                writer.writing_after = None;
            }
            count += taken.map_err(|error| error.error(journal))?;
        }
    }

    /// The same for the thread that has the writer's lock.
    pub(super) fn catch_up(&self, writer: &mut WriterState) -> std::result::Result<u64, Failed> {
        let mut count = 0;
        loop {
            let after = self.records.state.applied().map_err(|error| self.fail(writer, &error))?;
            let page = self.records.journal.page(after).map_err(Failed::Refused)?;
            if page.is_empty() {
                return Ok(count);
            }
            count += self.take_page(after, page, writer)?;
        }
    }

    /// Applies the records of a page behind the position `after`: log, then state, then index.
    fn take_page(
        &self,
        after: u64,
        page: Vec<Entry>,
        writer: &mut WriterState,
    ) -> std::result::Result<u64, Failed> {
        let mut batch = Batch::new(&self.records, self.options.append_bytes_max);
        for entry in page.into_iter().filter(|page| page.sequence > after) {
            if entry.sequence != batch.last_sequence() + 1 {
                // The thread that held the lock meanwhile has recovered to an earlier position.
                break;
            }
            let taken = batch.take_in(entry);
            taken.map_err(|error| {
                Failed::Refused(Refused::Shared(SharedError::Diverged(error.to_string())))
            })?;
        }
        if batch.records.is_empty() {
            return Ok(0);
        }
        self.check_space()?;
        writer.writing_after.get_or_insert(after);
        let journal = &self.records.journal;
        match journal.copy(after, &batch.records) {
            Ok(()) => {}
            Err(refused @ Refused::Behind(_)) => {
                return Err(self.fail(writer, &journal.error(&refused)));
            }
            Err(refused) => return Err(Failed::Refused(refused)),
        }
        let count = batch.records.len() as u64;
        self.put_in_place(batch, writer)?;
        Ok(count)
    }
}
