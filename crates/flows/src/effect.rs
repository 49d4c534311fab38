//! What the engine wants done. It does none of it itself.

use std::sync::Arc;

use waypost_events::{Data, Draft, EventType};

use crate::set::FlowEntry;
use crate::{Action, AttemptId, ContentHash, Event, Flow, FlowName, Leader, Lineage, RunId};

/// Something that the engine wants done, after what led to it is on disk.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Effect {
    /// Do this action, and say what came of it by [`Engine::ended`](crate::Engine::ended).
    Start(Attempt),
    /// End this action's process group; [`Engine::ended`](crate::Engine::ended) is still to be
    /// called for it.
    Stop(AttemptId),
    /// An earlier process left this action behind. End what is still there of it
    /// ([`end_orphans`](crate::end_orphans)), then call
    /// [`Engine::orphan_ended`](crate::Engine::orphan_ended).
    EndOrphan(Orphan),
    /// Publish an event of the service's own. When that is done, and `end` is given, call
    /// [`Engine::announced`](crate::Engine::announced): until then it is asked for again after
    /// each start.
    Announce(Notice),
    /// The run is forgotten: remove its output.
    RemoveOutput(RunId),
}

/// One try of one action.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// Its name.
    pub id: AttemptId,
    /// What it is for.
    pub event: Arc<Event>,
    /// Where the chain of runs stands with it: for what it publishes.
    pub lineage: Lineage,
    /// The same for every try of this step, and unlike any other project's: what it publishes or
    /// posts carries it, so that a second try does nothing twice.
    pub idempotency_key: String,
    pub(crate) entry: Arc<FlowEntry>,
}

impl Attempt {
    /// The flow, as it was when the run was created.
    pub fn flow(&self) -> &Flow {
        &self.entry.flow
    }

    /// The name of the flow file that the flow was read from.
    pub fn file(&self) -> &str {
        &self.entry.file
    }

    /// Of the text that the flow was read from: of the file, or of what the run's journal has of it.
    pub fn hash(&self) -> &ContentHash {
        &self.entry.hash
    }

    /// The action.
    pub fn action(&self) -> &Action {
        &self.entry.flow.actions[usize::from(self.id.step)]
    }

    /// An event that the action publishes ([`Task::Publish`](crate::Task::Publish)), to be given to
    /// the bus: the same one for every try.
    pub fn draft(&self, kind: EventType, data: Data) -> Draft {
        Draft {
            kind,
            data,
            source: format!("flow {}", self.id.run.flow),
            lineage: self.lineage.clone(),
            space: None,
            key: self.idempotency_key.parse().ok(),
        }
    }
}

/// An action that an earlier process of the service left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    /// Its run.
    pub run: RunId,
    /// Its process, if it came to be recorded.
    pub leader: Option<Leader>,
    /// What its processes have in their environment as `WAYPOST_IDEMPOTENCY_KEY`.
    pub idempotency_key: String,
}

/// An event that the service publishes about flows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// `flow:succeeded`, `flow:failed`, `flow:throttled`, `flow:invalid` or
    /// `flow:approval-needed`; `flow:dead` for a run that an earlier release ended.
    pub kind: EventType,
    /// What it says.
    pub data: Data,
    /// Where the chain of runs stands with it.
    pub lineage: Lineage,
    /// Published twice with it, it is one event.
    pub idempotency_key: String,
    /// The end of a run that it tells.
    pub end: Option<RunEnd>,
}

/// One end of a run, which has more than one if it is tried again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnd {
    /// The run.
    pub run: RunId,
    /// Tries of its actions that it took.
    pub tries: usize,
}

impl Notice {
    /// To be given to the bus.
    pub fn draft(self) -> Draft {
        Draft {
            kind: self.kind,
            data: self.data,
            source: "flows".to_owned(),
            lineage: self.lineage,
            space: None,
            key: self.idempotency_key.parse().ok(),
        }
    }
}

/// Events of the past that are to be decided for one flow: read those of its pattern after `after`
/// and give them to [`Engine::fill`](crate::Engine::fill).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backfill {
    /// The flow.
    pub flow: FlowName,
    /// 0 for a flow that catches up, 1 and more for replays.
    pub replay: u32,
    /// Read what comes after this event,
    pub after: u64,
    /// up to and with this one.
    pub until: u64,
}

/// The lineage of what a run publishes.
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

/// The data of a notice; texts are cut to what an event may hold.
pub(crate) fn notice_data(values: &[(&str, &str)]) -> Data {
    const TEXT_CHARS_MAX: usize = 1000;

    let mut data = Data::default();
    for (name, text) in values {
        let text: String = text.chars().filter(|it| *it != '\0').take(TEXT_CHARS_MAX).collect();
        data.insert(name, text).expect("a few short texts under names that are names");
    }
    data
}

/// A type of the service's own.
pub(crate) fn notice_kind(text: &str) -> EventType {
    text.parse().expect("flow: and a name are a type")
}
