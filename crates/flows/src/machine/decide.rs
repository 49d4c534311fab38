//! Which runs an event leads to.

use std::sync::Arc;

use super::{DEPTH_MAX, Filling, MINUTE_MS, Machine, OPENINGS_MAX};
use crate::effect::{Backfill, Effect, Notice, notice_data, notice_kind};
use crate::record::{Created, Keyed, Quiet, Record, StoredEvent};
use crate::set::FlowEntry;
use crate::{
    Concurrency, DataKey, End, Event, Facts, Flow, FlowName, FlowSet, Mode, Phase, RunId, Span,
    Start, Truth,
};

/// A backfill waits while so many runs of its flow do.
const FILL_QUEUED_MAX: usize = 256;

/// For what a run would be created.
struct Case<'a> {
    entry: &'a Arc<FlowEntry>,
    event: &'a Arc<Event>,
    replay: u32,
    /// Whether the event is of now, not of the past.
    is_live: bool,
    now_ms: u64,
}

impl Machine {
    /// Puts flows in force. New ones begin where they say; those that were away for a while catch
    /// up.
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
        for entry in set.iter() {
            let flow = entry.flow.name.clone();
            let (from, after) = match self.flows.get(&flow).map(|it| it.left) {
                Some(None) => continue,
                Some(Some(left)) => (cursor, left),
                None => match entry.flow.start {
                    Start::Latest => (cursor, cursor),
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

    /// Decides what an event leads to. Events come in the order of their ids; one that was decided
    /// before leads to nothing.
    pub(crate) fn offer(&mut self, event: &Event, now_ms: u64) {
        if event.id <= self.cursor {
            return;
        }
        self.cursor = event.id;
        let wanting: Vec<Arc<FlowEntry>> =
            self.set.wanting(&event.kind).filter(|it| wants(it, event)).map(Arc::clone).collect();
        if wanting.is_empty() {
            return;
        }
        let event = Arc::new(event.clone());
        for entry in &wanting {
            if self.flows.get(&entry.flow.name).is_some_and(|it| event.id > it.from) {
                self.consider(&Case { entry, event: &event, replay: 0, is_live: true, now_ms });
            }
        }
        self.schedule(now_ms);
    }

    /// The next events of the past to read, if there are any and the flow has room for their runs.
    pub(crate) fn backfill(&self) -> Option<Backfill> {
        let ready = |it: &&Filling| {
            self.set.get(&it.flow).is_some() && self.queued(&it.flow) < FILL_QUEUED_MAX
        };
        self.fillings.iter().find(ready).map(Into::into)
    }

    /// Decides events of the past for a backfill; `through` is the last one that was looked at.
    pub(crate) fn fill(&mut self, it: &Backfill, events: &[Event], through: u64, now_ms: u64) {
        let Some(entry) = self.set.get(&it.flow).map(Arc::clone) else { return };
        let pattern = &entry.flow.trigger.pattern;
        for event in events.iter().filter(|event| event.id > it.after && event.id <= it.until) {
            if pattern.matches(&event.kind) && wants(&entry, event) {
                let event = Arc::new(event.clone());
                let replay = it.replay;
                self.consider(&Case {
                    entry: &entry,
                    event: &event,
                    replay,
                    is_live: false,
                    now_ms,
                });
            }
        }
        self.record(Record::Filled {
            flow: it.flow.clone(),
            replay: it.replay,
            through: through.min(it.until),
            until: it.until,
        });
        self.schedule(now_ms);
    }

    fn consider(&mut self, case: &Case<'_>) {
        let flow = &case.entry.flow;
        let run = RunId { flow: flow.name.clone(), event: case.event.id, replay: case.replay };
        if self.runs.contains_key(&run) {
            return;
        }
        let hash = case.entry.hash.clone();
        let at_ms = case.now_ms;
        let key = value_of(flow.concurrency.key.as_ref(), case.event);
        let rate = flow
            .rate_limit
            .as_ref()
            .map(|it| Keyed { key: value_of(it.key.as_ref(), case.event), per_ms: millis(it.per) });
        let why = guarded(flow, case.event)
            .or_else(|| self.over_rate(case, rate.as_ref()))
            .or_else(|| self.no_room(&flow.concurrency, &run, key.as_ref()));
        if let Some(why) = why {
            let kind = case.event.kind.clone();
            self.record(Record::Skipped { run, hash, kind, at_ms, why });
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
            Created { run: run.clone(), hash, at_ms, key, rate, quiet, counts: case.is_live };
        self.record(Record::Created(created));
        if let Some(it) = self.runs.get_mut(&run) {
            it.entry = Some(Arc::clone(case.entry));
            let group = (run.flow.clone(), it.key.clone());
            self.refresh(&group);
        }
        if !waits {
            self.ready(&run, at_ms);
        }
        if case.is_live {
            self.watch_breaker(case);
        }
    }

    fn over_rate(&self, case: &Case<'_>, rate: Option<&Keyed>) -> Option<String> {
        let limit = case.entry.flow.rate_limit.as_ref()?;
        let rate = rate?;
        let times = self.flows.get(&case.entry.flow.name)?.rates.get(&rate.key)?;
        let since = case.now_ms.saturating_sub(rate.per_ms);
        let count = times.iter().filter(|it| **it > since).count();
        let is_over = count >= limit.runs as usize;
        is_over.then(|| format!("rate_limit: {} runs in {} are allowed", limit.runs, limit.per))
    }

    fn no_room(
        &self,
        concurrency: &Concurrency,
        run: &RunId,
        key: Option<&String>,
    ) -> Option<String> {
        let slots = self.groups.get(&(run.flow.clone(), key.cloned()))?;
        let (running, queued) = (slots.running.len(), slots.queue.len());
        let limit = concurrency.limit as usize;
        let queued_max = concurrency.max_queued as usize;
        match concurrency.mode {
            Mode::Skip if running + queued >= limit => {
                Some(format!("concurrency.mode is skip, and {} runs go on", running + queued))
            }
            Mode::Queue if queued >= queued_max && running + queued >= limit => {
                Some(format!("concurrency.max_queued: {queued} runs wait already"))
            }
            Mode::Skip | Mode::Queue | Mode::Restart => None,
        }
    }

    /// What the run waits for if its flow has a debounce. The run that waited before it is skipped.
    fn hush(&mut self, case: &Case<'_>, run: &RunId) -> Option<Quiet> {
        let debounce = case.entry.flow.debounce.as_ref().filter(|_| case.replay == 0)?;
        let key = value_of(debounce.key.as_ref(), case.event);
        let earlier = self.flows.get(&run.flow).and_then(|it| it.quiet.get(&key)).cloned();
        let first_deadline =
            earlier.as_ref().and_then(|it| self.runs.get(it)?.quiet.as_ref()?.deadline_ms);
        let deadline_ms = debounce
            .max
            .map(|max| first_deadline.unwrap_or(case.now_ms.saturating_add(millis(max))));
        if let Some(earlier) = earlier {
            let why = format!("debounce: event {} came after it", run.event);
            self.record(Record::Ended { run: earlier, at_ms: case.now_ms, end: End::Skipped, why });
        }
        let until_ms = case.now_ms.saturating_add(millis(debounce.quiet));
        let until_ms = deadline_ms.map_or(until_ms, |it| until_ms.min(it));
        Some(Quiet { key, until_ms, deadline_ms })
    }

    /// A run waits for its turn from now on. With `mode: restart` the others make room for it.
    pub(super) fn ready(&mut self, id: &RunId, now_ms: u64) {
        let Some(run) = self.runs.get(id) else { return };
        let Some(entry) = &run.entry else { return };
        if entry.flow.concurrency.mode != Mode::Restart {
            return;
        }
        let limit = entry.flow.concurrency.limit as usize;
        let group = (id.flow.clone(), run.key.clone());
        let Some(slots) = self.groups.get(&group) else { return };
        let others = |places: &std::collections::BTreeSet<(u64, u32)>| -> Vec<RunId> {
            places
                .iter()
                .map(|it| super::slots::run_id(&id.flow, *it))
                .filter(|it| it != id)
                .collect()
        };
        let (waiting, running) = (others(&slots.queue), others(&slots.running));
        let why = format!("concurrency.mode is restart, and event {} came", id.event);
        for run in waiting {
            self.record(Record::Ended { run, at_ms: now_ms, end: End::Skipped, why: why.clone() });
        }
        let going_on = |it: &&RunId| self.runs.get(*it).is_some_and(|it| it.cancelling.is_none());
        let too_many = (running.len() + 1).saturating_sub(limit);
        let oldest: Vec<RunId> = running.iter().filter(going_on).take(too_many).cloned().collect();
        for run in oldest {
            self.stop(&run, &why);
        }
    }

    /// Opens the breaker of a flow that runs too often, and pauses it if that happens too often.
    fn watch_breaker(&mut self, case: &Case<'_>) {
        let flow = &case.entry.flow;
        let Some(state) = self.flows.get(&flow.name) else { return };
        if flow.breaker == 0 || state.open.is_some() || state.recent.len() <= flow.breaker as usize
        {
            return;
        }
        self.record(Record::Opened { flow: flow.name.clone(), at_ms: case.now_ms });
        let mut chain = case.event.lineage.flows.clone();
        chain.push(flow.name.as_str().to_owned());
        let why =
            format!("more than {} runs in a minute; chain: {}", flow.breaker, chain.join(" > "));
        self.throttled(case, &why);
        let often = self.flows.get(&flow.name).is_some_and(|it| it.openings.len() >= OPENINGS_MAX);
        if often {
            let why = format!("its breaker opened {OPENINGS_MAX} times within an hour");
            self.record(Record::Paused { flow: flow.name.clone(), why: why.clone() });
            self.throttled(case, &why);
        }
    }

    fn throttled(&mut self, case: &Case<'_>, why: &str) {
        let flow = &case.entry.flow.name;
        let event = case.event.id.to_string();
        let kind = "flow:throttled";
        let id = RunId { flow: flow.clone(), event: case.event.id, replay: 0 };
        self.effects.push(Effect::Announce(Notice {
            kind: notice_kind(kind),
            data: notice_data(&[("flow", flow.as_str()), ("event", &event), ("why", why)]),
            lineage: crate::effect::lineage_after(&id, case.event),
            idempotency_key: format!("{}.{flow}.{kind}.{event}.{}", self.identity, why.len()),
            run: None,
        }));
    }

    /// When [`wake`](Self::wake) has something to do next.
    pub(crate) fn next_wake_ms(&self) -> Option<u64> {
        let breakers = self.open.iter().filter_map(|it| self.flows.get(it));
        let closing = breakers.map(|it| it.last_created.saturating_add(MINUTE_MS)).min();
        let timer = self.timers.first().map(|(at, _)| *at);
        timer.into_iter().chain(closing).min()
    }

    /// Does what time brings: quiet that has come, tries that are due, breakers that close.
    pub(crate) fn wake(&mut self, now_ms: u64) {
        while let Some((_, run)) = self.timers.first().filter(|(at, _)| *at <= now_ms).cloned() {
            // No record: that its time has come follows from the time, also after a crash.
            self.set_phase(&run, &Phase::Queued);
            self.ready(&run, now_ms);
        }
        let is_quiet = |flow: &&FlowName| {
            self.flows.get(*flow).is_some_and(|it| it.last_created + MINUTE_MS <= now_ms)
        };
        let quiet: Vec<FlowName> = self.open.iter().filter(is_quiet).cloned().collect();
        for flow in quiet {
            self.record(Record::Closed { flow });
        }
        self.schedule(now_ms);
    }
}

/// Whether the flow is on and its condition holds.
fn wants(entry: &FlowEntry, event: &Event) -> bool {
    let condition = entry.flow.trigger.condition.as_ref();
    entry.flow.enabled && condition.is_none_or(|it| it.holds(&Facts::from(event)) == Truth::True)
}

/// Why the chain of runs that led to an event may not go on here.
pub(crate) fn guarded(flow: &Flow, event: &Event) -> Option<String> {
    let lineage = &event.lineage;
    let chain = || format!("{} > {}", lineage.flows.join(" > "), flow.name);
    if lineage.depth > DEPTH_MAX {
        return Some(format!(
            "{} runs led to the event; {DEPTH_MAX} may: {}",
            lineage.depth,
            chain()
        ));
    }
    let times = lineage.flows.iter().filter(|it| *it == flow.name.as_str()).count();
    if times > flow.allow_recursion as usize {
        return Some(format!(
            "the flow is in the chain that led to the event, and allow_recursion is {}: {}",
            flow.allow_recursion,
            chain()
        ));
    }
    None
}

fn value_of(key: Option<&DataKey>, event: &Event) -> Option<String> {
    event.data.get(key?.as_str()).map(ToString::to_string)
}

pub(super) fn millis(span: Span) -> u64 {
    // A span is a year at most.
    span.0.as_millis() as u64
}
