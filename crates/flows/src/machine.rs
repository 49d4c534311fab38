//! The core: turns what has happened into records and effects.
//!
//! It has no clock, no files and no processes. Commands read the state and create records; only
//! `apply` changes the state, from a record, so that replaying the journal gives the same state;
//! effects follow from the state.

mod apply;
mod breaker;
pub(crate) mod compaction;
mod concurrency;
mod control;
mod decide;
mod digest;
mod repair;
mod slots;
mod steps;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

pub(crate) use self::decide::guarded;
pub(crate) use self::repair::{Gap, Lost};
use waypost_time::Timestamp;

use self::slots::Slots;
use crate::effect::{Backfill, Effect, Notice, RunEnd};
use crate::record::Record;
use crate::{ContentHash, End, Event, FlowName, FlowSet, Options, Phase, Run, RunId, Stage};

/// An event that more runs than this led to starts nothing.
pub const DEPTH_MAX: u8 = 16;
/// A run that was interrupted this often has failed.
pub const INTERRUPTIONS_MAX: u32 = 3;
/// A flow whose breaker opened this often within an hour is paused.
pub const OPENINGS_MAX: usize = 10;
/// The cursor is recorded at least every this many events, with or without runs.
const CURSOR_STEP: u64 = 1024;
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);

/// The state of a flow besides its definition.
#[derive(Debug, Default)]
pub(crate) struct FlowState {
    /// Events up to this one do not concern it, or a backfill evaluates them.
    pub(crate) from: u64,
    /// Set while the flow is not in force: the last event that was evaluated for it.
    pub(crate) left: Option<u64>,
    pub(crate) paused: Option<String>,
    /// Set while the breaker is open: since when.
    pub(crate) open: Option<Timestamp>,
    pub(crate) openings: VecDeque<Timestamp>,
    /// When runs that count for the breaker were created, within a minute.
    recent: VecDeque<Timestamp>,
    last_created: Timestamp,
    replays: u32,
    /// When runs were created, by the value of the rate limit's key.
    rates: HashMap<Option<String>, VecDeque<Timestamp>>,
    /// The run that waits because of a debounce, by the value of the debounce's key.
    quiet: HashMap<Option<String>, RunId>,
}

impl FlowState {
    fn is_held(&self) -> bool {
        self.paused.is_some() || self.open.is_some()
    }
}

/// Runs of a flow with the same value of `concurrency.key`.
type Group = (FlowName, Option<String>);

/// Every flow and every run, and what derives from them.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    pub(crate) options: Options,
    pub(crate) set: FlowSet,
    identity: String,
    pub(crate) cursor: u64,
    recorded_cursor: u64,
    pub(crate) flows: BTreeMap<FlowName, FlowState>,
    /// Flows whose breaker is open.
    open: BTreeSet<FlowName>,
    pub(crate) runs: BTreeMap<RunId, Run>,
    /// The number of runs in each stage.
    pub(crate) stages: BTreeMap<Stage, u64>,
    /// How many have ended since the journal was replayed.
    pub(crate) ended_now: BTreeMap<End, u64>,
    groups: BTreeMap<Group, Slots>,
    /// Groups that have a run to start and room for it, the one with the oldest event first.
    hungry: BTreeSet<(u64, Group)>,
    /// When timed waits of runs are due.
    timers: BTreeSet<(Timestamp, RunId)>,
    running: usize,
    /// The latest time of any record.
    pub(crate) latest: Timestamp,
    /// Definitions that runs keep, by file hash, with the file's name.
    texts: HashMap<ContentHash, (String, String)>,
    /// Past events that are still to be evaluated.
    pub(crate) fillings: Vec<Backfill>,
    /// The event of the next runs, and its record's position in the journal.
    seen: Option<(Arc<Event>, u64)>,
    /// Replays get numbers above this one: those up to it may have been used.
    replays_lost: u32,
    /// Whether records about which flows are in force may be lost: until they are recorded again,
    /// no flow evaluates past events.
    joins_lost: bool,
    /// False while the journal is replayed: nothing is decided then.
    live: bool,
    records: Vec<Record>,
    effects: Vec<Effect>,
    /// As in [`Decided`]; only a replica needs them.
    cuts: Vec<usize>,
}

/// What to append, in one batch, before the effects are returned.
#[derive(Debug, Default)]
pub(crate) struct Decided {
    pub(crate) records: Vec<Record>,
    pub(crate) effects: Vec<Effect>,
    /// The numbers of records after which a commit could have ended, in ascending order.
    pub(crate) cuts: Vec<usize>,
}

impl Machine {
    pub(crate) fn new(options: Options) -> Self {
        Self { options, ..Self::default() }
    }

    /// Notes that a decision is complete: the next one may be lost without it.
    pub(crate) fn cut(&mut self) {
        let end = self.records.len();
        if self.options.shared_journal.is_some() && self.cuts.last() != Some(&end) {
            self.cuts.push(end);
        }
    }

    /// Does what [`recover`](Self::recover) does for the state of a machine that does not decide:
    /// drops the groups that have no run.
    pub(crate) fn drop_empty_groups(&mut self) {
        self.groups.retain(|_, it| !it.queue.is_empty() || !it.running.is_empty());
    }

    /// Whether there are decisions that no commit has taken.
    pub(crate) fn has_decided(&self) -> bool {
        !self.records.is_empty()
    }

    /// What has been decided since the last time.
    pub(crate) fn take(&mut self) -> Decided {
        let moved = self.cursor - self.recorded_cursor;
        if moved > 0 && (!self.records.is_empty() || moved >= CURSOR_STEP) {
            self.record(Record::Cursor { event: self.cursor });
        }
        self.seen = None;
        Decided {
            records: std::mem::take(&mut self.records),
            effects: std::mem::take(&mut self.effects),
            cuts: std::mem::take(&mut self.cuts),
        }
    }

    /// Records where in the journal the records from `take` are.
    pub(crate) fn placed(&mut self, records: &[Record], first: u64) {
        let mut place = 0;
        for (record, sequence) in records.iter().zip(first..) {
            match record {
                Record::Seen(_) => place = sequence,
                Record::Created(it) => {
                    if let Some(run) = self.runs.get_mut(&it.run) {
                        run.place = place;
                    }
                }
                _ => {}
            }
        }
    }

    /// The runs of a flow, in the order of the events.
    pub(crate) fn runs_of(&self, flow: &FlowName) -> impl Iterator<Item = &Run> + use<'_> {
        let flow = flow.clone();
        let first = RunId { flow: flow.clone(), event: 0, replay: 0 };
        self.runs.range(first..).take_while(move |(id, _)| id.flow == flow).map(|(_, run)| run)
    }

    fn record(&mut self, record: Record) {
        self.apply(&record, 0);
        self.records.push(record);
    }

    /// The key of every attempt of a step.
    fn idempotency_key(&self, run: &RunId, step: u16) -> String {
        format!("{}.{run}.{step}", self.identity)
    }

    /// The event that announces this end of a run, if any.
    fn announcement(end: End) -> Option<&'static str> {
        match end {
            End::Succeeded => Some("flow:succeeded"),
            End::Failed => Some("flow:failed"),
            // From an earlier release, which may have published it: the same event again.
            End::Dead => Some("flow:dead"),
            End::Skipped | End::Cancelled => None,
        }
    }

    /// Requests the announcement of a run's end.
    fn announce(&mut self, id: &RunId) {
        let Some(run) = self.runs.get(id) else { return };
        let Phase::Ended { end, why, .. } = &run.phase else { return };
        let Some(kind) = Self::announcement(*end).filter(|_| !run.is_end_published) else { return };
        let event = id.event.to_string();
        let run_text = id.to_string();
        let word = kind.trim_start_matches("flow:");
        let values =
            [("flow", id.flow.as_str()), ("run", &run_text), ("event", &event), ("why", why)];
        let key = format!("{}.{run_text}.{word}.{}", self.identity, run.tries.len());
        let end = Some(RunEnd { run: id.clone(), tries: run.tries.len() });
        let notice = Notice { end, ..Notice::new(kind, &values, run.lineage.clone(), key) };
        self.effects.push(Effect::Announce(notice));
    }
}
