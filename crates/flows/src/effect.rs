//! Effects that the engine requests. It carries out none itself.

use std::sync::Arc;

use waypost_events::{Data, Draft, EventType};

use crate::set::FlowEntry;
use crate::{Action, AttemptId, ContentHash, Event, Flow, FlowName, Leader, Lineage, RunId};

/// An effect to carry out, returned after the records that led to it are on disk.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Effect {
    /// Run this action, and report its result with [`Engine::ended`](crate::Engine::ended).
    Start(Attempt),
    /// End this action's process group; [`Engine::ended`](crate::Engine::ended) must still be
    /// called for it.
    Stop(AttemptId),
    /// An earlier process left this action running. End what remains of it
    /// ([`end_orphans`](crate::end_orphans)), then call
    /// [`Engine::orphan_ended`](crate::Engine::orphan_ended).
    EndOrphan(Orphan),
    /// Publish an event of the service's own. When that is done, and `end` is given, call
    /// [`Engine::announced`](crate::Engine::announced): until then it is requested again after each
    /// start.
    Announce(Notice),
    /// The run was dropped from the history: remove its output.
    RemoveOutput(RunId),
}

/// One attempt of one action.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// Its id.
    pub id: AttemptId,
    /// The event it is for.
    pub event: Arc<Event>,
    /// Its position in the chain of runs: for events that it publishes.
    pub lineage: Lineage,
    /// The same for every attempt of this step, and different from any other project's: whatever it
    /// publishes or posts carries it, so that a second attempt does nothing twice.
    pub idempotency_key: String,
    pub(crate) entry: Arc<FlowEntry>,
}

impl Attempt {
    /// The flow, as of when the run was created.
    pub fn flow(&self) -> &Flow {
        &self.entry.flow
    }

    /// The name of the flow file that the flow was read from.
    pub fn file(&self) -> &str {
        &self.entry.file
    }

    /// The hash of the text that the flow was read from: of the file, or of the copy in the run's
    /// journal.
    pub fn hash(&self) -> &ContentHash {
        &self.entry.hash
    }

    /// The action.
    pub fn action(&self) -> &Action {
        &self.entry.flow.actions[usize::from(self.id.step)]
    }

    /// An event that the action publishes ([`Task::Publish`](crate::Task::Publish)), for the bus:
    /// the same one for every attempt.
    pub fn draft(&self, kind: EventType, data: Data) -> Draft {
        let mut draft = Draft::new(kind, data, format!("flow {}", self.id.run.flow))
            .with_lineage(self.lineage.clone());
        draft.key = self.idempotency_key.parse().ok();
        draft
    }
}

/// An action that an earlier process of the service left running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    /// Its run.
    pub run: RunId,
    /// Its process, if it was recorded.
    pub leader: Option<Leader>,
    /// The value of `WAYPOST_IDEMPOTENCY_KEY` in its processes' environment.
    pub idempotency_key: String,
}

/// An event that the service publishes about flows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// `flow:succeeded`, `flow:failed`, `flow:throttled`, `flow:invalid` or
    /// `flow:approval-needed`; `flow:dead` for a run that an earlier release ended.
    pub kind: EventType,
    /// Its data.
    pub data: Data,
    /// Its position in the chain of runs.
    pub lineage: Lineage,
    /// Publishing twice with it gives one event.
    pub idempotency_key: String,
    /// The end of a run that it reports.
    pub end: Option<RunEnd>,
}

/// One end of a run; a run that is retried has more than one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnd {
    /// The run.
    pub run: RunId,
    /// The number of attempts of its actions.
    pub tries: usize,
}

impl Notice {
    /// One of the service's own types, and data whose texts are cut to an event's limits.
    pub(crate) fn new(
        kind: &str,
        values: &[(&str, &str)],
        lineage: Lineage,
        idempotency_key: String,
    ) -> Self {
        const TEXT_CHARS_MAX: usize = 1000;

        let kind = kind.parse().expect("flow: and a name are a type");
        let mut data = Data::default();
        for (name, text) in values {
            let text: String = text.chars().filter(|c| *c != '\0').take(TEXT_CHARS_MAX).collect();
            data.insert(name, text).expect("a few short texts under names that are names");
        }
        Self { kind, data, lineage, idempotency_key, end: None }
    }

    /// Converts it to a draft for the bus.
    pub fn draft(self) -> Draft {
        let mut draft = Draft::new(self.kind, self.data, "flows").with_lineage(self.lineage);
        draft.key = self.idempotency_key.parse().ok();
        draft
    }
}

/// Past events to evaluate for one flow: read those that match its pattern after `after`, and pass
/// them to [`Engine::fill`](crate::Engine::fill).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backfill {
    /// The flow.
    pub flow: FlowName,
    /// 0 for a flow that catches up, 1 and more for replays.
    pub replay: u32,
    /// Read the events after this one,
    pub after: u64,
    /// up to and including this one.
    pub until: u64,
}

/// The lineage of events that a run publishes.
pub(crate) fn lineage_after(run: &RunId, event: &Event) -> Lineage {
    let mut flows = event.lineage.flows.clone();
    flows.push(run.flow.as_str().to_owned());
    Lineage {
        root: Some(event.lineage.root.unwrap_or(event.id)),
        cause: Some(run.to_string()),
        depth: event.lineage.depth.saturating_add(1),
        flows,
    }
}
