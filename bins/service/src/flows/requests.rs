//! Requests to flows: reads, changes, approvals.

use std::path::Path;
use std::sync::Arc;

use parking_lot::MutexGuard;
use waypost_api::AllowRequest;
use waypost_flows::{
    ApprovalError, Engine, Error, FileStatus, FlowEntry, FlowName, Loader, Plan, Problem, plan,
};
use waypost_time::Timestamp;

use super::Flows;
use super::actions::file_name;
use super::files::load;
use super::halt::Halt;
use crate::clock::now;

impl Flows {
    /// Why the engine makes no decisions, if it does not.
    pub(crate) fn halt(&self) -> Option<Halt> {
        *self.halt.lock()
    }

    /// Locks the engine for reading; it makes no decisions meanwhile.
    pub(crate) fn engine(&self) -> MutexGuard<'_, Engine> {
        self.engine.lock()
    }

    /// The flow files as of the last load.
    pub(crate) fn file_status(&self) -> Arc<[FileStatus]> {
        Arc::clone(&self.file_status.lock())
    }

    /// Locks the loader of flow files, for reading.
    pub(crate) fn loader(&self) -> MutexGuard<'_, Loader> {
        self.loader.lock()
    }

    /// Runs a command on the engine; its result is on disk when this returns.
    pub(crate) fn change<T>(
        &self,
        decide: impl FnOnce(&mut Engine, Timestamp) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let decided = decide(&mut self.engine.lock(), now())?;
        self.settle()?;
        // There may be past events to read, or an earlier time to wake up.
        self.wake.flowing();
        Ok(decided)
    }

    /// What a flow would do for an event.
    pub(crate) fn plan(
        &self,
        name: &FlowName,
        event: &waypost_events::Event,
    ) -> Result<Plan, Error> {
        const HIDDEN: &str = "***";

        let engine = self.engine.lock();
        let flow = Arc::clone(&engine.flow(name)?.flow);
        drop(engine);
        let secret = |name: &str| self.actions.place.secret(name).map(|_| HIDDEN.to_owned());
        Ok(plan(&flow, event, &self.actions.place.context(HIDDEN, &secret)))
    }

    /// Approves the content of a file that has this hash, and puts it in force. Returns nothing if
    /// the file no longer exists.
    pub(crate) fn allow(
        &self,
        name: &str,
        asked: &AllowRequest,
    ) -> Result<Option<FileStatus>, ApprovalError> {
        let mut loader = self.loader.lock();
        loader.allow(name, &asked.hash, &asked.programs)?;
        drop(loader);
        load(self);
        Ok(self.file_status().iter().find(|status| status.name == name).cloned())
    }

    /// The keys of values that must be plain in a flow that an earlier release approved, which
    /// allowed any text in commands.
    pub(crate) fn now_plain(&self, entry: &FlowEntry) -> Vec<String> {
        match &self.approvals {
            Some(approvals) if !approvals.knows_plain(entry.hash.as_str()) => {
                entry.flow.undeclared().into_iter().map(str::to_owned).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The flow files that are pending approval.
    pub(crate) fn pending(&self) -> Vec<String> {
        let waits = |status: &&FileStatus| matches!(status.problem, Some(Problem::Unapproved(_)));
        self.file_status().iter().filter(waits).map(|status| status.name.clone()).collect()
    }

    /// The stored output of an attempt: standard output and error.
    pub(crate) fn output(folder: &Path, step: u16, attempt: u32) -> [Option<String>; 2] {
        ["out", "err"].map(|stream| {
            let bytes = std::fs::read(folder.join(file_name(step, attempt, stream))).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        })
    }
}
