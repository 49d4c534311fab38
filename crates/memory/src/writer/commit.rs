//! Writing a batch: its commands are decided, appended to the journal at once, and applied.

use std::collections::{BTreeMap, BTreeSet};

use crate::index::graph::Graph;
use crate::journal::{Journal, Refused};
use crate::records::Records;
use crate::state::found::FoundState;
use crate::state::replay::replay;
use crate::state::txn::Touched;
use crate::writer::batch::Batch;
use crate::writer::command::Command;
use crate::writer::{Outcomes, Writer, WriterState};
use crate::{Error, MemoryId, OpenReport, Result};

/// A batch ends when it has this many bytes.
const BATCH_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Why a batch was not written.
enum Failed {
    Full,
    Refused(Refused),
    /// Why no more writes are taken until the store recovers. The journal may have the batch.
    Fault(String),
}

impl Failed {
    /// The error, made anew for each command.
    fn error(&self, journal: &Journal) -> Error {
        match self {
            Self::Full => Error::Full("too little free space".to_owned()),
            Self::Refused(refused) => refused.error(journal),
            Self::Fault(fault) => Error::Unavailable(fault.clone()),
        }
    }
}

impl Writer {
    /// Decides and writes the first commands, as many as one batch takes. If others have appended
    /// to the journal, decides them again on top of that. Commands that change nothing are answered
    /// from the state of this machine, as reads are.
    pub(super) fn write_batch(
        &self,
        commands: &mut [Command],
        writer: &mut WriterState,
    ) -> Outcomes {
        writer.writing_after = Some(self.records.state.applied().unwrap_or(0));
        let mut outcomes = Outcomes::new();
        let mut written = self.decide_and_commit(commands, &mut outcomes, writer);
        while let Err(Failed::Refused(Refused::Moved)) = written {
            written = match self.follow() {
                Ok(()) => self.decide_and_commit(commands, &mut outcomes, writer),
                Err(error) => Err(self.fail(writer, &error)),
            };
        }
        writer.writing_after = None;
        if let Err(failed) = written {
            // A command that was refused stays refused.
            for outcome in outcomes.iter_mut().filter(|it| it.is_ok()) {
                *outcome = Err(failed.error(&self.records.journal));
            }
        }
        outcomes
    }

    fn decide_and_commit(
        &self,
        commands: &mut [Command],
        outcomes: &mut Outcomes,
        writer: &mut WriterState,
    ) -> std::result::Result<(), Failed> {
        let mut batch = Batch::new(&self.records, self.options.append_bytes_max);
        outcomes.clear();
        for command in commands {
            if batch.bytes >= BATCH_BYTES_MAX {
                break;
            }
            outcomes.push(batch.decide(command));
        }
        self.commit(batch, writer)
    }

    /// Journal, then state, then index.
    fn commit(
        &self,
        batch: Batch<'_>,
        writer: &mut WriterState,
    ) -> std::result::Result<(), Failed> {
        if batch.records.is_empty() {
            return Ok(());
        }
        if self.free_bytes().is_some_and(|it| it < self.options.free_bytes_min) {
            // The journal may still have space when the state, which must follow it, has none.
            return Err(Failed::Full);
        }
        self.append(&batch, writer)?;
        let Batch { txn, bodies, documents, notices, told, .. } = batch;
        // The records are on disk, even if the state fails.
        self.outbox.noted(notices);
        if let Some((through, record)) = told {
            self.outbox.note_saved(through, record);
        }
        let (chunks, touched) = txn.finish();
        chunks
            .iter()
            .try_for_each(|writes| self.records.state.write(writes))
            .map_err(|it| self.fail(writer, &it))?;
        self.index.publish(&touched, &bodies, documents);
        Ok(())
    }

    /// Appends the records of a batch to the journal.
    fn append(
        &self,
        batch: &Batch<'_>,
        writer: &mut WriterState,
    ) -> std::result::Result<(), Failed> {
        let journal = &self.records.journal;
        let mut done = 0;
        for end in batch.appends.iter().copied().chain([batch.records.len()]) {
            let after = batch.first_sequence - 1 + done as u64;
            match journal.append(after, &batch.records[done..end]) {
                Ok(()) => done = end,
                Err(refused) if done == 0 => return Err(Failed::Refused(refused)),
                // The journal has the first records of the batch.
                Err(refused) => return Err(self.fail(writer, &refused.error(journal))),
            }
        }
        Ok(())
    }

    /// Takes no more writes until the store recovers: the state lacks a record of the journal.
    fn fail(&self, writer: &mut WriterState, error: &Error) -> Failed {
        let fault = format!("failed to apply a record of the log to the state: {error}");
        writer.fault = Some(fault.clone());
        *self.fault.lock() = Some(fault.clone());
        Failed::Fault(fault)
    }

    /// Free bytes on the store's disk; `None` if unknown.
    fn free_bytes(&self) -> Option<u64> {
        let stat = rustix::fs::statvfs(&self.records.dir).ok()?;
        Some(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    /// Reopens the state after a failed write, if there is space, and brings it and the index up to
    /// the journal.
    pub(super) fn recover(&self, writer: &mut WriterState) {
        if self.free_bytes().is_some_and(|it| it < self.options.free_bytes_min) {
            return;
        }
        if let Err(error) = self.open_state_again(writer.writing_after) {
            writer.fault = Some(error.to_string());
            self.fault.lock().clone_from(&writer.fault);
            return;
        }
        writer.fault = None;
        writer.writing_after = None;
        *self.fault.lock() = None;
    }

    fn open_state_again(&self, writing_after: Option<u64>) -> Result<()> {
        let Records { journal, state, .. } = &*self.records;
        let applied = state.applied().unwrap_or(0);
        let indexed = writing_after.map_or(applied, |it| it.min(applied));
        state.release();
        let found = FoundState::in_folder(&self.folders, &self.options)?;
        let mut report = OpenReport::default();
        let (fresh, replayed) =
            found.bring_up(&self.folders, journal, indexed, &self.options, &mut report)?;
        state.adopt(&fresh);
        self.take_in(replayed.changed)
    }

    /// Brings everything up to a journal that others have appended to.
    fn follow(&self) -> Result<()> {
        let Records { journal, state, .. } = &*self.records;
        let replayed = replay(state, journal, state.applied()?, &self.options)?;
        self.take_in(replayed.changed)
    }

    /// Brings the index and the outbox up to the state, in which these memories have changed.
    fn take_in(&self, memories: BTreeSet<MemoryId>) -> Result<()> {
        let graph = Graph::load(&self.records.state)?;
        let touched = Touched { memories, ..Touched::default() };
        self.index.publish(&touched, &BTreeMap::new(), BTreeMap::new());
        self.index.view.write().graph = graph;
        self.outbox.catch_up(&self.records)
    }
}
