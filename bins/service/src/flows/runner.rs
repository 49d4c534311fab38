//! The thread that drives the engine, and the messages to it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use waypost_events::{Bus, Event, Pattern, Query};
use waypost_flows::{AttemptId, Backfill, Engine, Leader, Report, RunEnd, RunId};
use waypost_time::Timestamp;

use super::Flows;
use super::halt::Halt;
use crate::clock::now;
use crate::wake::Wake;

/// Maximum number of events decided at once, which share one batch on disk.
const EVENTS_AT_ONCE: usize = 256;
/// The pause after a failure.
const FAILURE_PAUSE: Duration = Duration::from_secs(5);

/// The pause after the database of the cluster did not answer.
const CLUSTER_PAUSE: Duration = Duration::from_secs(1);

/// Runs flows until the service stops, then ends running actions. The next start finds these
/// interrupted and runs them again.
pub(crate) fn run(flows: &Flows) {
    flows.wake.register_flows_thread();
    while !flows.wake.is_stopping() {
        let halt = match catch_unwind(AssertUnwindSafe(|| step(flows))) {
            Ok(Ok(has_more)) => {
                *flows.halt.lock() = None;
                if !has_more {
                    rest(flows);
                }
                continue;
            }
            Ok(Err(error)) => {
                let (halt, error) = (Halt::of(&error), format!("{error:#}"));
                match halt {
                    Halt::Cluster => tracing::warn!(error, "flows have stopped on this machine"),
                    Halt::Full | Halt::Fault => tracing::error!(error, "flows have stopped"),
                }
                halt
            }
            Err(_) => {
                tracing::error!("the flow engine panicked");
                Halt::Fault
            }
        };
        *flows.halt.lock() = Some(halt);
        flows.wake.rest(if halt == Halt::Cluster { CLUSTER_PAUSE } else { FAILURE_PAUSE });
    }
    flows.running.end_all();
}

/// Waits until something happens or is due.
fn rest(flows: &Flows) {
    let due = flows.engine.lock().next_wake();
    let due = due.map(|due| {
        // At least a millisecond: the engine's time is in whole ones.
        Instant::now() + due.saturating_duration_since(now()).max(Duration::from_millis(1))
    });
    flows.wake.wait_flowing(due);
}

/// Does the pending work; returns whether there is more.
fn step(flows: &Flows) -> anyhow::Result<bool> {
    if !flows.take_role()? {
        return Ok(false);
    }
    // Records that could not be written before go first, so that their number does not grow.
    flows.settle()?;
    let mut engine = flows.engine.lock();
    let now = now();
    for message in flows.inbox.take() {
        match message {
            Message::Spawned(attempt, leader) => engine.spawned(&attempt, leader),
            Message::Ended(attempt, report) => engine.ended(&attempt, report, now),
            Message::OrphanEnded(run) => engine.orphan_ended(&run, now),
            Message::Announced(end) => engine.announced(&end),
        }
    }
    let offered = offer(&flows.events, &mut engine, now);
    let filled = fill(&flows.events, &mut engine, now);
    engine.wake(now);
    drop(engine);
    flows.settle()?;
    Ok(offered? | filled?)
}

/// Gives the engine the next events; returns whether there were any.
fn offer(bus: &Bus, engine: &mut Engine, now: Timestamp) -> waypost_events::Result<bool> {
    let cursor = engine.cursor();
    let read = read(bus, None, cursor, u64::MAX)?;
    if read.skipped > 0 {
        let (from, to) = (cursor + 1, cursor + read.skipped);
        tracing::warn!(from, to, "flows missed events that were dropped by retention");
    }
    for event in &read.events {
        engine.offer(event, now);
    }
    Ok(!read.events.is_empty())
}

/// Gives the engine past events that it requests; returns whether it requested any.
fn fill(bus: &Bus, engine: &mut Engine, now: Timestamp) -> waypost_events::Result<bool> {
    let Some(backfill) = engine.backfill() else { return Ok(false) };
    let Backfill { flow, after, until, .. } = &backfill;
    let Some(entry) = engine.flows().get(flow) else { return Ok(false) };
    let pattern = entry.flow.trigger.pattern.clone();
    let read = read(bus, Some(pattern), *after, *until)?;
    engine.fill(&backfill, &read.events, read.through, now);
    Ok(true)
}

#[derive(Debug, Default)]
struct Read {
    events: Vec<Event>,
    /// The last event that was examined.
    through: u64,
    /// Events after the cursor that retention has removed.
    skipped: u64,
}

/// Events after `after`, up to `until`.
fn read(
    bus: &Bus,
    pattern: Option<Pattern>,
    after: u64,
    until: u64,
) -> waypost_events::Result<Read> {
    let kept_after = after.max(bus.first().saturating_sub(1));
    let skipped = kept_after - after;
    if kept_after >= bus.last() || kept_after >= until {
        return Ok(Read { through: until, skipped, ..Read::default() });
    }
    let mut query = Query::default().with_after(kept_after).with_limit(EVENTS_AT_ONCE);
    (query.pattern, query.before) = (pattern, until.checked_add(1));
    let page = bus.read(&query)?;
    Ok(Read { events: page.events, through: page.next_after, skipped })
}

/// An event of an action or a run.
#[derive(Debug)]
pub(super) enum Message {
    /// An action's process has started.
    Spawned(AttemptId, Leader),
    /// An action has ended.
    Ended(AttemptId, Report),
    /// No process of an earlier service remains for a run.
    OrphanEnded(RunId),
    /// A run's end was published.
    Announced(RunEnd),
}

/// Messages for the runner, in order.
#[derive(Debug)]
pub(super) struct Inbox {
    messages: Mutex<Vec<Message>>,
    wake: Arc<Wake>,
}

impl Inbox {
    pub(super) fn new(wake: &Arc<Wake>) -> Self {
        Self { messages: Mutex::default(), wake: Arc::clone(wake) }
    }

    pub(super) fn put(&self, message: Message) {
        self.messages.lock().push(message);
        self.wake.flowing();
    }

    pub(super) fn take(&self) -> Vec<Message> {
        std::mem::take(&mut *self.messages.lock())
    }
}
