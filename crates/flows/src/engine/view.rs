//! Views of the engine's state.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use waypost_time::Timestamp;

use super::Engine;
use super::error::Error;
use crate::record::{Record, StoredEvent};
use crate::{Backfill, End, Event, Flow, FlowName, Phase, Run, RunId, Stage, Start};

/// The status of a flow in force.
#[derive(Debug, Clone)]
pub struct FlowStatus {
    /// Its name.
    pub name: FlowName,
    /// Why it is paused, if it is.
    pub paused: Option<String>,
    /// When its breaker opened.
    pub throttled_since: Option<Timestamp>,
    /// Runs waiting for their turn.
    pub queued: usize,
    /// Runs waiting because of a debounce or for their next attempt.
    pub waiting: usize,
    /// Runs with a running action.
    pub running: usize,
    /// The run that has waited longest.
    pub oldest_waiting: Option<RunId>,
    /// Past events still to be evaluated for it.
    pub backfills: Vec<Backfill>,
    /// Runs in the history, by how they ended.
    pub ended: BTreeMap<End, usize>,
    /// The run that failed last; the history may no longer have it.
    pub last_failure: Option<Failure>,
}

/// A run that ended as `failed`, or as `dead` in an earlier release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The run.
    pub run: RunId,
    /// Why.
    pub why: String,
    /// When it ended.
    pub at: Timestamp,
}

impl Engine {
    /// A run.
    ///
    /// # Errors
    /// [`Error::UnknownRun`].
    pub fn run(&self, id: &RunId) -> Result<&Run, Error> {
        self.machine.runs.get(id).ok_or_else(|| Error::UnknownRun(id.clone()))
    }

    /// The number of known runs in each stage. The cost does not depend on their number.
    pub fn stages(&self) -> &BTreeMap<Stage, u64> {
        &self.machine.stages
    }

    /// How many runs have ended since the engine was opened, by how they ended.
    pub fn ends(&self) -> &BTreeMap<End, u64> {
        &self.machine.ended_now
    }

    /// The known runs, of a flow or of all flows, newest first.
    pub fn runs(&self, flow: Option<&FlowName>) -> Vec<&Run> {
        let mut runs: Vec<&Run> = match flow {
            Some(flow) => self.machine.runs_of(flow).collect(),
            None => self.machine.runs.values().collect(),
        };
        runs.sort_unstable_by_key(|run| Reverse((run.created, &run.id)));
        runs
    }

    /// The event that a run is for.
    ///
    /// # Errors
    /// [`Error::UnknownRun`], also for a run that was skipped before it was created, and
    /// [`Error::Log`].
    pub fn event_of(&self, id: &RunId) -> Result<Event, Error> {
        let run = self.run(id)?;
        if let Some(event) = &run.event {
            return Ok(Event::clone(event));
        }
        let unknown = || Error::UnknownRun(id.clone());
        let entry = self.files.log().read(run.place)?.ok_or_else(unknown)?;
        match Record::decode(&entry)? {
            Record::Seen(event) => Ok(StoredEvent::into(event)),
            _ => Err(unknown()),
        }
    }

    /// The status of each flow in force, in the order of the files.
    pub fn status(&self) -> Vec<FlowStatus> {
        let machine = &self.machine;
        let flows = machine.set.iter().map(|entry| {
            let name = entry.flow.name.clone();
            let state = machine.flows.get(&name);
            let mut open: Vec<&Run> = Vec::new();
            let mut ended = BTreeMap::new();
            let mut last_failure: Option<Failure> = None;
            for run in machine.runs_of(&name) {
                let Phase::Ended { end, why, at } = &run.phase else {
                    open.push(run);
                    continue;
                };
                *ended.entry(*end).or_default() += 1;
                if matches!(end, End::Failed | End::Dead)
                    && last_failure.as_ref().is_none_or(|it| it.at <= *at)
                {
                    let (run, why) = (run.id.clone(), why.clone());
                    last_failure = Some(Failure { run, why, at: *at });
                }
            }
            let running =
                open.iter().filter(|it| matches!(it.phase, Phase::Running { .. })).count();
            let queued = machine.queued(&name);
            let oldest = open.iter().find(|it| !matches!(it.phase, Phase::Running { .. }));
            FlowStatus {
                paused: state.and_then(|it| it.paused.clone()),
                throttled_since: state.and_then(|it| it.open),
                queued,
                waiting: open.len() - running - queued,
                running,
                oldest_waiting: oldest.map(|it| it.id.clone()),
                backfills: machine.fillings.iter().filter(|it| it.flow == name).cloned().collect(),
                ended,
                last_failure,
                name,
            }
        });
        flows.collect()
    }

    /// Runs with a running action: a stopping service ends them before it exits. It reports nothing
    /// about them; the next opening finds them interrupted.
    pub fn running(&self) -> BTreeSet<RunId> {
        let running = self.machine.runs.values();
        running
            .filter(|it| matches!(it.phase, Phase::Running { .. }))
            .map(|it| it.id.clone())
            .collect()
    }

    /// Why a flow that wants an event has no run for it.
    pub(crate) fn missed(&self, flow: &Flow, event: u64) -> String {
        let machine = &self.machine;
        let from = machine.flows.get(&flow.name).map_or(machine.cursor, |it| it.from);
        let will_be_read = machine.fillings.iter().any(|it| {
            it.flow == flow.name && it.replay == 0 && it.after < event && event <= it.until
        });
        if event > machine.cursor || will_be_read {
            return "the event has not been evaluated yet".to_owned();
        }
        match flow.start {
            Start::Latest if event <= from => format!(
                "the flow was approved or added after the event: with `start: latest`, its first event is the next one after {from}"
            ),
            Start::After(id) if event <= id => format!("`start` is `after {id}`"),
            _ => "the flow has changed since the event, or the history no longer has the run"
                .to_owned(),
        }
    }
}
