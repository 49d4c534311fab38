//! Views of the engine's state.

use std::cmp::Reverse;
use std::collections::BTreeMap;

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
    /// The number of its known runs in each stage.
    pub stages: BTreeMap<Stage, u64>,
    /// The run that has waited longest.
    pub oldest_waiting: Option<RunId>,
    /// Past events still to be evaluated for it.
    pub backfills: Vec<Backfill>,
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
            let (mut stages, mut oldest_waiting) = (BTreeMap::new(), None);
            let mut last_failure: Option<Failure> = None;
            for run in machine.runs_of(&name) {
                *stages.entry(run.phase.stage()).or_default() += 1;
                match &run.phase {
                    Phase::Quiet { .. } | Phase::Retrying { .. } | Phase::Queued => {
                        oldest_waiting.get_or_insert_with(|| run.id.clone());
                    }
                    Phase::Ended { end: End::Failed | End::Dead, why, at }
                        if last_failure.as_ref().is_none_or(|failure| failure.at <= *at) =>
                    {
                        let (run, why) = (run.id.clone(), why.clone());
                        last_failure = Some(Failure { run, why, at: *at });
                    }
                    Phase::Running { .. } | Phase::Ended { .. } => {}
                }
            }
            FlowStatus {
                paused: state.and_then(|state| state.paused.clone()),
                throttled_since: state.and_then(|state| state.open),
                stages,
                oldest_waiting,
                backfills: machine
                    .fillings
                    .iter()
                    .filter(|filling| filling.flow == name)
                    .cloned()
                    .collect(),
                last_failure,
                name,
            }
        });
        flows.collect()
    }

    /// Why a flow that wants an event has no run for it.
    pub(crate) fn missed(&self, flow: &Flow, event: u64) -> String {
        let machine = &self.machine;
        let from = machine.flows.get(&flow.name).map_or(machine.cursor, |flow| flow.from);
        let will_be_read = machine.fillings.iter().any(|filling| {
            filling.flow == flow.name
                && filling.replay == 0
                && filling.after < event
                && event <= filling.until
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
