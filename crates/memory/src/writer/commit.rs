//! Writing a batch: its commands are decided, appended to the journal at once, and applied.

use std::collections::{BTreeMap, BTreeSet};

use waypost_log::{AppendMax, Refused, SharedError, free_bytes};

use crate::index::graph::Graph;
use crate::journal::{CHANGE_RECORDS, Journal};
use crate::records::Records;
use crate::state::recovery::FoundState;
use crate::state::txn::Touched;
use crate::writer::batch::Batch;
use crate::writer::command::Command;
use crate::writer::{Outcomes, Writer, WriterState};
use crate::{Error, MemoryId, OpenReport, Result};

/// A batch ends when it has this many bytes.
const BATCH_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Why a batch was not written.
pub(super) enum Failed {
    Full,
    Refused(Refused),
    /// Why no more writes are taken until the store recovers. The journal may have the batch.
    Fault(String),
}

impl Failed {
    /// The error, made anew for each command.
    pub(super) fn error(&self, journal: &Journal) -> Error {
        match self {
            Self::Full => Error::Full("too little free space".to_owned()),
            Self::Refused(refused) => journal.error(refused),
            Self::Fault(fault) => Error::Unavailable(fault.clone()),
        }
    }
}

impl Writer {
    /// Decides and writes the first commands, as many as one batch takes. If others have appended
    /// to the journal, decides them again on top of that.
    pub(super) fn write_batch(&self, commands: &[Command], writer: &mut WriterState) -> Outcomes {
        let journal = &self.records.journal;
        writer.writing_after = Some(self.records.state.applied().unwrap_or(0));
        let mut outcomes = Outcomes::new();
        let mut written = self.decide_and_commit(commands, &mut outcomes, writer);
        let mut held = None;
        while journal.is_shared() && matches!(written, Err(Failed::Refused(Refused::Moved))) {
            held.get_or_insert_with(|| journal.hold());
            written = match self.catch_up(writer) {
                Ok(0) => {
                    let why = "it refused an append because of later records, and has none";
                    let why = SharedError::Unavailable(why.to_owned());
                    Err(Failed::Refused(Refused::Shared(why)))
                }
                Ok(_) => self.decide_and_commit(commands, &mut outcomes, writer),
                Err(failed) => Err(failed),
            };
        }
        drop(held);
        if !matches!(written, Err(Failed::Fault(_))) {
            writer.writing_after = None;
        }
        if let Err(failed) = written {
            // What was refused because of itself stays refused, and what was refused because of the
            // state, unless others may have changed that.
            let stays =
                |error: &Error| !journal.is_shared() || matches!(error, Error::Invalid { .. });
            for outcome in &mut outcomes {
                if outcome.as_ref().err().is_none_or(|outcome| !stays(outcome)) {
                    *outcome = Err(failed.error(journal));
                }
            }
        }
        outcomes
    }

    fn decide_and_commit(
        &self,
        commands: &[Command],
        outcomes: &mut Outcomes,
        writer: &mut WriterState,
    ) -> std::result::Result<(), Failed> {
        let batch = self.decide(commands, outcomes);
        self.commit(batch, writer)
    }

    /// Decides the first commands, as many as one batch takes, but one at least.
    fn decide(&self, mut commands: &[Command], outcomes: &mut Outcomes) -> Batch<'_> {
        let max = self.records.journal.append_max();
        loop {
            let mut batch = Batch::new(&self.records, self.options.append_bytes_max);
            outcomes.clear();
            for command in commands {
                if is_full(&batch, command, max) {
                    break;
                }
                outcomes.push(batch.decide(command));
            }
            if outcomes.len() < 2 || !max.is_some_and(|it| exceeds(&batch, it)) {
                return batch;
            }
            // The records of the last command are too many for the rest of this append.
            commands = &commands[..outcomes.len() - 1];
        }
    }

    /// Journal, then state, then index.
    fn commit(
        &self,
        batch: Batch<'_>,
        writer: &mut WriterState,
    ) -> std::result::Result<(), Failed> {
        let journal = &self.records.journal;
        if batch.records.is_empty() {
            if !journal.is_shared() {
                return Ok(());
            }
            // What was decided must hold for the whole cluster.
            return journal.append(batch.last_sequence(), &[]).map_err(Failed::Refused);
        }
        self.check_space()?;
        self.append(&batch, writer)?;
        self.put_in_place(batch, writer)
    }

    /// The journal may still have space when the state, which must follow it, has none.
    pub(super) fn check_space(&self) -> std::result::Result<(), Failed> {
        if free_bytes(&self.records.dir).is_ok_and(|bytes| bytes < self.options.free_bytes_min) {
            return Err(Failed::Full);
        }
        Ok(())
    }

    /// Applies a batch, which the journal has, to everything else.
    pub(super) fn put_in_place(
        &self,
        batch: Batch<'_>,
        writer: &mut WriterState,
    ) -> std::result::Result<(), Failed> {
        let last = batch.last_sequence();
        let Batch { txn, bodies, documents, notices, told, forgotten, .. } = batch;
        // The records are durable, even if the state fails.
        self.outbox.noted(notices);
        if let Some((through, record)) = told {
            self.outbox.note_saved(through, record);
        }
        if !forgotten.is_empty() {
            self.outbox.forget(&forgotten);
        }
        let (chunks, touched, digests) = txn.finish();
        chunks
            .iter()
            .try_for_each(|writes| self.records.state.write(writes))
            .map_err(|error| self.fail(writer, &error))?;
        self.digests.add(digests);
        self.index.publish(&touched, &bodies, documents);
        self.position.advance(last);
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
                Err(refused @ Refused::Behind(_)) => {
                    return Err(self.fail(writer, &journal.error(&refused)));
                }
                Err(refused) if done == 0 => return Err(Failed::Refused(refused)),
                // The journal has the first records of the batch.
                Err(refused) => return Err(self.fail(writer, &journal.error(&refused))),
            }
        }
        Ok(())
    }

    /// Takes no more writes until the store recovers: the state lacks a record of the journal.
    pub(super) fn fail(&self, writer: &mut WriterState, error: &Error) -> Failed {
        let fault = format!("failed to apply a record of the log to the state: {error}");
        writer.fault = Some(fault.clone());
        *self.fault.lock() = Some(fault.clone());
        Failed::Fault(fault)
    }

    /// Reopens the state after a failed write, if there is space, and brings it and the index up to
    /// the journal.
    pub(super) fn recover(&self, writer: &mut WriterState) {
        if self.check_space().is_err() {
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
        let state = &self.records.state;
        let applied = state.applied().unwrap_or(0);
        let indexed = writing_after.map_or(applied, |after| after.min(applied));
        state.release();
        let found = FoundState::in_folder(&self.folders, &self.options)?;
        self.bring_up(found, indexed)
    }

    /// Sets the state aside and rebuilds it from the journal.
    pub(crate) fn rebuild(&self) -> Result<()> {
        let mut writer = self.state.lock();
        self.records.state.release();
        let rebuilt = self.bring_up(FoundState::Unusable("it differs".to_owned()), 0);
        if let Err(error) = &rebuilt {
            self.fail(&mut writer, error);
        }
        rebuilt
    }

    /// Replaces the state, and brings the index, which has the records up to `indexed`, up to it.
    fn bring_up(&self, found: FoundState, indexed: u64) -> Result<()> {
        let Records { journal, state, .. } = &*self.records;
        let mut report = OpenReport::default();
        let (fresh, replayed) =
            found.bring_up(&self.folders, journal, indexed, &self.options, &mut report)?;
        state.adopt(&fresh);
        self.digests.clear();
        self.reload(replayed.changed)?;
        self.position.advance(state.applied()?);
        Ok(())
    }

    /// Brings the index and the outbox up to the state, in which these memories have changed.
    fn reload(&self, memories: BTreeSet<MemoryId>) -> Result<()> {
        let graph = Graph::load(&self.records.state)?;
        let touched = Touched { memories, ..Touched::default() };
        self.index.publish(&touched, &BTreeMap::new(), BTreeMap::new());
        self.index.view.write().graph = graph;
        self.outbox.catch_up(&self.records)
    }
}

/// Whether a batch should end before a command.
fn is_full(batch: &Batch<'_>, next: &Command, max: Option<AppendMax>) -> bool {
    if batch.records.is_empty() {
        return false;
    }
    let bytes = max.map_or(BATCH_BYTES_MAX, |it| it.bytes.min(BATCH_BYTES_MAX));
    let records = CHANGE_RECORDS + usize::from(matches!(next, Command::Once { .. }));
    batch.bytes >= bytes || max.is_some_and(|it| batch.records.len() + records > it.records)
}

fn exceeds(batch: &Batch<'_>, max: AppendMax) -> bool {
    batch.records.len() > max.records || batch.bytes > max.bytes
}
