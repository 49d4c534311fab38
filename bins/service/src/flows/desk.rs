//! What requests ask of flows.

use std::path::Path;
use std::sync::Arc;

use parking_lot::MutexGuard;
use waypost_api::AllowRequest;
use waypost_flows::{Engine, Error, FileStatus, FlowName, Loader, Plan, Problem, plan};

use super::files::load;
use super::{Flows, Halt};
use crate::app::App;
use crate::clock::event_time;
use crate::http::failure::Failure;

impl Flows {
    /// Why nothing is decided any more.
    pub(crate) fn halt(&self) -> Option<Halt> {
        *self.halt.lock()
    }

    /// The engine, to be looked at; nothing is decided meanwhile.
    pub(crate) fn engine(&self) -> MutexGuard<'_, Engine> {
        self.engine.lock()
    }

    /// The flow files, to be looked at.
    pub(crate) fn loader(&self) -> MutexGuard<'_, Loader> {
        self.loader.lock()
    }

    /// Has the engine decide something; it is on disk when this returns.
    pub(crate) fn change<T>(
        &self,
        app: &Arc<App>,
        decide: impl FnOnce(&mut Engine, u64) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut engine = self.engine.lock();
        let decided = decide(&mut engine, event_time())?;
        self.settle(app, &mut engine)?;
        // There may be past events to read, or another time to wake up.
        app.wake.flowing();
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
        let entry = engine.flows().get(name).ok_or_else(|| Error::UnknownFlow(name.clone()))?;
        let flow = Arc::clone(&entry.flow);
        drop(engine);
        let secret = |name: &str| self.place.secret(name).map(|_| HIDDEN.to_owned());
        Ok(plan(&flow, event, &self.place.surroundings(HIDDEN, &secret)))
    }

    /// Approves the content of a file that has this hash, and puts it in force.
    pub(crate) fn allow(
        &self,
        app: &Arc<App>,
        name: &str,
        asked: &AllowRequest,
    ) -> Result<FileStatus, Failure> {
        let mut loader = self.loader.lock();
        loader.allow(name, &asked.hash, &asked.programs)?;
        drop(loader);
        tracing::info!(file = name, hash = asked.hash, "a flow file was approved");
        load(app);
        let loader = self.loader.lock();
        let status = loader.status().iter().find(|it| it.name == name);
        status.cloned().ok_or_else(|| Failure::not_found(format!("{name} is not there any more")))
    }

    /// The flow files that wait for approval.
    pub(crate) fn pending(&self) -> Vec<String> {
        let loader = self.loader.lock();
        let waits = |it: &&FileStatus| matches!(it.problem, Some(Problem::Unapproved(_)));
        loader.status().iter().filter(waits).map(|it| it.name.clone()).collect()
    }

    /// What is kept of what the programs of a try wrote: standard output and error.
    pub(crate) fn output(folder: &Path, step: u16, attempt: u32) -> [Option<String>; 2] {
        ["out", "err"].map(|stream| {
            let bytes = std::fs::read(folder.join(file_name(step, attempt, stream))).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        })
    }
}

/// The file, in a run's folder, of what a try wrote.
pub(super) fn file_name(step: u16, attempt: u32, stream: &str) -> String {
    format!("{step}.{attempt}.{stream}")
}
