//! The digest of the state that the records give.

use serde::Serialize;
use sha2::{Digest, Sha256};
use waypost_time::{Timestamp, millis};

use super::{FlowState, Machine};
use crate::record::StoredEvent;
use crate::run::Try;
use crate::{ContentHash, End, FlowName, Leader, Phase, Report, Run, RunId};

/// What is the same on all replicas that have the same records, in the order of its fields. What
/// compaction drops, or only the machine that decides knows, is no part of it.
#[derive(Serialize)]
struct Journal<'a> {
    identity: &'a str,
    cursor: u64,
    replays_lost: u32,
    joins_lost: bool,
}

#[derive(Serialize)]
struct Flow<'a> {
    name: &'a FlowName,
    from: u64,
    left: Option<u64>,
    paused: Option<&'a str>,
    #[serde(with = "millis::optional")]
    open: Option<Timestamp>,
    replays: u32,
}

#[derive(Serialize)]
struct Filling<'a> {
    flow: &'a FlowName,
    replay: u32,
    through: u64,
    until: u64,
}

#[derive(Serialize)]
struct OneRun<'a> {
    run: &'a RunId,
    definition: &'a ContentHash,
    kind: &'a str,
    #[serde(with = "millis")]
    created: Timestamp,
    key: Option<&'a str>,
    root: Option<u64>,
    cause: Option<&'a str>,
    depth: u8,
    flows: &'a [String],
    tries: Vec<OneTry<'a>>,
    ended: Option<Ended<'a>>,
    open: Option<Open<'a>>,
}

#[derive(Serialize)]
struct OneTry<'a> {
    step: u16,
    attempt: u32,
    #[serde(with = "millis")]
    at: Timestamp,
    report: &'a Report,
    machine: Option<&'a str>,
}

#[derive(Serialize)]
struct Ended<'a> {
    end: End,
    why: &'a str,
    #[serde(with = "millis")]
    at: Timestamp,
    is_published: bool,
}

/// Of a run that has not ended. Compaction drops parts of it afterwards.
#[derive(Serialize)]
struct Open<'a> {
    event: Option<StoredEvent>,
    step: u16,
    attempt: u32,
    failures: u32,
    interruptions: u32,
    cancelling: Option<&'a str>,
    machine: Option<&'a str>,
    /// Since when it runs, and its process. That a wait is over is in no record: all that wait are
    /// the same here.
    #[serde(with = "millis::optional")]
    since: Option<Timestamp>,
    leader: Option<&'a Leader>,
}

impl Machine {
    pub(crate) fn digest(&self) -> [u8; 32] {
        let mut hasher = Sha256::new();
        add(
            &mut hasher,
            &Journal {
                identity: &self.identity,
                cursor: self.recorded_cursor,
                replays_lost: self.replays_lost,
                joins_lost: self.joins_lost,
            },
        );
        for (name, state) in &self.flows {
            let FlowState { from, left, paused, open, replays, .. } = state;
            let (from, left, open, replays) = (*from, *left, *open, *replays);
            let paused = paused.as_deref();
            // Compaction may drop the only record that mentions a flow.
            let is_known =
                (from, replays) != (0, 0) || (left, open) != (None, None) || paused.is_some();
            if is_known {
                add(&mut hasher, &Flow { name, from, left, paused, open, replays });
            }
        }
        for it in &self.fillings {
            let super::Filling { flow, replay, through, until } = it;
            let (replay, through, until) = (*replay, *through, *until);
            add(&mut hasher, &Filling { flow, replay, through, until });
        }
        for run in self.runs.values() {
            add(&mut hasher, &one_run(run));
        }
        hasher.finalize().into()
    }
}

fn one_run(run: &Run) -> OneRun<'_> {
    let (ended, since, leader) = match &run.phase {
        Phase::Ended { end, why, at } => {
            let is_published = run.is_end_published;
            (Some(Ended { end: *end, why, at: *at, is_published }), None, None)
        }
        Phase::Running { since, leader } => (None, Some(*since), leader.as_ref()),
        Phase::Quiet { .. } | Phase::Retrying { .. } | Phase::Queued => (None, None, None),
    };
    let open = ended.is_none().then(|| Open {
        event: run.event.as_deref().map(StoredEvent::from),
        step: run.step,
        attempt: run.attempt,
        failures: run.failures,
        interruptions: run.interruptions,
        cancelling: run.cancelling.as_deref(),
        machine: run.machine.as_deref(),
        since,
        leader,
    });
    OneRun {
        run: &run.id,
        definition: &run.definition,
        kind: run.kind.as_str(),
        created: run.created,
        key: run.key.as_deref(),
        root: run.lineage.root,
        cause: run.lineage.cause.as_deref(),
        depth: run.lineage.depth,
        flows: &run.lineage.flows,
        tries: run.tries.iter().map(one_try).collect(),
        ended,
        open,
    }
}

fn one_try(it: &Try) -> OneTry<'_> {
    let Try { step, attempt, at, report, machine } = it;
    OneTry { step: *step, attempt: *attempt, at: *at, report, machine: machine.as_deref() }
}

/// Adds an object and a newline, which is in no object.
fn add(hasher: &mut Sha256, it: &impl Serialize) {
    hasher.update(serde_json::to_vec(it).expect("names, texts and numbers always become JSON"));
    hasher.update(b"\n");
}
