//! Which runs an event leads to.

use std::sync::Arc;

use waypost_time::Timestamp;

use super::{DEPTH_MAX, Machine};
use crate::effect::Backfill;
use crate::record::{Created, Keyed, Record, StoredEvent};
use crate::set::FlowEntry;
use crate::{DataKey, Event, Flow, FlowName, FlowSet, RunId, Span, Start, Truth};

/// A backfill waits while this many runs of its flow are waiting.
const FILL_QUEUED_MAX: usize = 256;

/// In place of the last event that was evaluated for a flow: no event before it is in force again is
/// for it. Ids are smaller.
const NEVER: u64 = (1 << 53) - 1;

/// What a run would be created for.
pub(super) struct Case<'a> {
    pub(super) entry: &'a Arc<FlowEntry>,
    pub(super) event: &'a Arc<Event>,
    pub(super) replay: u32,
    /// Whether the event is a current one, not a past one.
    pub(super) is_live: bool,
    pub(super) now: Timestamp,
}

impl Machine {
    /// Replaces the flows in force. New ones start where they say; those that were absent catch up.
    pub(crate) fn install(&mut self, set: FlowSet) {
        let gone: Vec<FlowName> = self
            .flows
            .iter()
            .filter(|(name, state)| state.left.is_none() && set.get(name).is_none())
            .map(|(name, _)| name.clone())
            .collect();
        for flow in gone {
            self.record(Record::Left { flow, at: self.cursor });
        }
        let cursor = self.cursor;
        let joins_lost = self.joins_lost;
        for entry in set.iter() {
            let flow = entry.flow.name.clone();
            let state = self.flows.get(&flow);
            let (from, after) = match state.map(|state| state.left) {
                Some(None) if !joins_lost => continue,
                // It is no longer known which past events were evaluated for it.
                _ if joins_lost => {
                    let from = state
                        .filter(|state| state.left.is_none())
                        .map_or(cursor, |state| state.from);
                    (from, cursor)
                }
                Some(None) => continue,
                Some(Some(left)) => (cursor, left),
                None => match entry.flow.start {
                    Start::Latest => (cursor.max(self.options.head), cursor),
                    Start::Earliest => (cursor, 0),
                    Start::After(id) => (cursor.max(id), id),
                },
            };
            self.record(Record::Joined { flow: flow.clone(), from });
            if after < cursor {
                self.record(Record::Filling { flow, replay: 0, after, until: cursor });
            }
        }
        self.set = set;
    }

    /// Lets a flow that is not in force miss the events until it is.
    pub(crate) fn withhold(&mut self, flow: &FlowName) {
        let left = self.flows.get(flow).and_then(|flow| flow.left);
        if left.is_some_and(|left| left != NEVER) {
            self.record(Record::Left { flow: flow.clone(), at: NEVER });
        }
    }

    /// Evaluates an event. Events come in the order of their ids; one that was evaluated before has
    /// no effect.
    pub(crate) fn offer(&mut self, event: &Event, now: Timestamp) {
        if event.id <= self.cursor {
            return;
        }
        self.cursor = event.id;
        let wanting: Vec<Arc<FlowEntry>> = self
            .set
            .wanting(&event.kind)
            .filter(|wanting| wants(wanting, event))
            .map(Arc::clone)
            .collect();
        if wanting.is_empty() {
            return;
        }
        let event = Arc::new(event.clone());
        for entry in &wanting {
            if self.flows.get(&entry.flow.name).is_some_and(|flow| event.id > flow.from) {
                self.consider(&Case { entry, event: &event, replay: 0, is_live: true, now });
            }
        }
        self.schedule(now);
    }

    /// The next past events to read, if any, and if the flow has room for their runs.
    pub(crate) fn backfill(&self) -> Option<Backfill> {
        let ready = |backfill: &&Backfill| {
            self.set.get(&backfill.flow).is_some() && self.queued(&backfill.flow) < FILL_QUEUED_MAX
        };
        self.fillings.iter().find(ready).cloned()
    }

    /// Evaluates past events for a backfill; `through` is the last one that was read.
    pub(crate) fn fill(&mut self, it: &Backfill, events: &[Event], through: u64, now: Timestamp) {
        let Some(entry) = self.set.get(&it.flow).map(Arc::clone) else { return };
        let pattern = &entry.flow.trigger.pattern;
        for event in events.iter().filter(|event| event.id > it.after && event.id <= it.until) {
            if pattern.matches(&event.kind) && wants(&entry, event) {
                let event = Arc::new(event.clone());
                let replay = it.replay;
                self.consider(&Case { entry: &entry, event: &event, replay, is_live: false, now });
            }
        }
        self.record(Record::Filled {
            flow: it.flow.clone(),
            replay: it.replay,
            through: through.min(it.until),
            until: it.until,
        });
        self.schedule(now);
    }

    fn consider(&mut self, case: &Case<'_>) {
        let flow = &case.entry.flow;
        let run = RunId { flow: flow.name.clone(), event: case.event.id, replay: case.replay };
        if self.runs.contains_key(&run) {
            return;
        }
        let hash = case.entry.hash.clone();
        let at = case.now;
        let key = value_of(flow.concurrency.key.as_ref(), case.event);
        let rate = flow.rate_limit.as_ref().map(|limit| Keyed {
            key: value_of(limit.key.as_ref(), case.event),
            per_ms: millis(limit.per),
        });
        let why = guarded(flow, case.event)
            .or_else(|| self.over_rate(case, rate.as_ref()))
            .or_else(|| self.no_room(&flow.concurrency, &run, key.as_ref()));
        if let Some(why) = why {
            let kind = case.event.kind.clone();
            self.record(Record::Skipped { run, hash, kind, at, why });
            return;
        }
        let quiet = self.hush(case, &run);
        if self.seen.as_ref().is_none_or(|(seen, _)| seen.id != run.event) {
            self.record(Record::Seen(StoredEvent::from(case.event.as_ref())));
        }
        if !self.texts.contains_key(&hash) {
            let (file, text) = (case.entry.file.clone(), case.entry.text.as_ref().to_owned());
            self.record(Record::Defined { hash: hash.clone(), file, text });
        }
        let waits = quiet.is_some();
        let created =
            Created { run: run.clone(), hash, at, key, rate, quiet, counts: case.is_live };
        self.record(Record::Created(created));
        if let Some(it) = self.runs.get_mut(&run) {
            it.entry = Some(Arc::clone(case.entry));
            let group = (run.flow.clone(), it.key.clone());
            self.refresh(&group);
        }
        if !waits {
            self.make_room(&run, at);
        }
        if case.is_live {
            self.watch_breaker(case);
        }
    }
}

/// Whether the flow is enabled and its condition holds.
fn wants(entry: &FlowEntry, event: &Event) -> bool {
    let trigger = &entry.flow.trigger;
    let condition = trigger.condition.as_ref();
    entry.flow.enabled
        && trigger.data.admit(&event.data)
        && condition.is_none_or(|condition| condition.holds(event) == Truth::True)
}

/// Why the chain of runs that led to an event may not continue here.
pub(crate) fn guarded(flow: &Flow, event: &Event) -> Option<String> {
    let lineage = &event.lineage;
    let chain = || format!("{} > {}", lineage.flows.join(" > "), flow.name);
    if lineage.depth > DEPTH_MAX {
        return Some(format!(
            "a chain of {} runs led to the event; the limit is {DEPTH_MAX}: {}",
            lineage.depth,
            chain()
        ));
    }
    let times = lineage.flows.iter().filter(|other| *other == flow.name.as_str()).count();
    if times > flow.allow_recursion as usize {
        return Some(format!(
            "the flow is in the chain of runs that led to the event, and allow_recursion is {}: {}",
            flow.allow_recursion,
            chain()
        ));
    }
    None
}

pub(super) fn value_of(key: Option<&DataKey>, event: &Event) -> Option<String> {
    event.data.get(key?.as_str()).map(ToString::to_string)
}

pub(super) fn millis(span: Span) -> u64 {
    // A span is at most a year.
    span.0.as_millis() as u64
}
