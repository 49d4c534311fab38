//! Writing a batch: its commands are decided, written to the log at once, and applied.

use std::collections::BTreeMap;

use crate::index::graph::Graph;
use crate::log_error::log_error;
use crate::record::RECORD_VERSION;
use crate::records::Records;
use crate::state::found::{FoundState, applied};
use crate::state::txn::Touched;
use crate::writer::batch::Batch;
use crate::writer::command::Command;
use crate::writer::{Outcomes, Writer, WriterState};
use crate::{Error, OpenReport, Result};

/// One batch of commands stops when it has so many bytes.
const BATCH_BYTES_MAX: usize = 8 * 1024 * 1024;

impl Writer {
    /// Writes the first commands, as many as one batch takes.
    pub(super) fn write_batch(
        &self,
        commands: &mut dyn Iterator<Item = Command>,
        writer: &mut WriterState,
        outcomes: &mut Outcomes,
    ) {
        let mut batch = Batch::new(&self.records);
        let first = outcomes.len();
        while batch.bytes < BATCH_BYTES_MAX {
            let Some(command) = commands.next() else { break };
            outcomes.push(batch.decide(command));
        }
        if let Err(error) = self.commit(batch, writer) {
            // A command that was refused stays refused.
            for outcome in outcomes[first..].iter_mut().filter(|it| it.is_ok()) {
                *outcome = Err(error());
            }
        }
    }

    /// Log, then state, then index. The error is made anew for everybody who waits.
    fn commit(
        &self,
        batch: Batch<'_>,
        writer: &mut WriterState,
    ) -> std::result::Result<(), Box<dyn Fn() -> Error + '_>> {
        let Batch { txn, records, first_sequence, bodies, documents, notices, told, .. } = batch;
        if records.is_empty() {
            return Ok(());
        }
        let entries: Vec<waypost_log::Record<'_>> = records
            .iter()
            .map(|(kind, payload)| waypost_log::Record {
                kind: *kind,
                version: RECORD_VERSION,
                payload,
            })
            .collect();
        if self.free_bytes().is_some_and(|it| it < self.options.free_bytes_min) {
            // The log may have room yet where the state, which must follow it, has none.
            return Err(Box::new(|| Error::Full("too little free space".to_owned())));
        }
        let range = match self.records.log.append_batch(&entries) {
            Ok(range) => range,
            Err(error) => return Err(Box::new(move || log_error(&error, &self.records.dir))),
        };
        let (chunks, touched) = txn.finish();
        let applied = if range.start == first_sequence {
            // They are on disk, whatever the state makes of it.
            self.outbox.noted(notices);
            if let Some((through, record)) = told {
                self.outbox.note_saved(through, record);
            }
            chunks.iter().try_for_each(|writes| self.records.state.write(writes))
        } else {
            Err(Error::Unavailable("another process wrote to the log".into()))
        };
        if let Err(error) = applied {
            // The log has it; only a new start can bring the state after it.
            let fault = format!("failed to apply a record of the log to the state: {error}");
            writer.fault = Some(fault.clone());
            *self.fault.lock() = Some(fault.clone());
            return Err(Box::new(move || Error::Unavailable(fault.clone())));
        }
        self.index.publish(&touched, &bodies, documents);
        Ok(())
    }

    /// Bytes that are free where the store is; `None` if the system does not say.
    fn free_bytes(&self) -> Option<u64> {
        let stat = rustix::fs::statvfs(&self.records.dir).ok()?;
        Some(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    /// Opens the state again after it did not take a change, if there is room, and brings it and
    /// the index up to the log.
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
        let Records { log, state, .. } = &*self.records;
        let before = applied(state).unwrap_or(0);
        let before = writing_after.map_or(before, |it| it.min(before));
        state.release();
        let found = FoundState::in_folder(&self.folders, &self.options)?;
        let mut report = OpenReport::default();
        let fresh = found.bring_up(&self.folders, log, &self.options, &mut report)?;
        state.adopt(&fresh);
        let graph = Graph::load(state)?;
        let memories = self.records.changed_after(before)?;
        let touched = Touched { memories, ..Touched::default() };
        self.index.publish(&touched, &BTreeMap::new(), BTreeMap::new());
        self.index.view.write().graph = graph;
        Ok(())
    }
}
