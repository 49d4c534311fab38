//! How a run goes from action to action.

use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use waypost_time::Timestamp;

use super::decide::millis;
use super::{INTERRUPTIONS_MAX, Machine};
use crate::effect::{Attempt, Effect, Orphan};
use crate::record::{Record, Then};
use crate::set::{FlowEntry, FlowFile, FlowSet};
use crate::task::{named, unready};
use crate::{
    Action, AttemptId, ContentHash, End, OnInterrupt, Outcome, Phase, Report, Retry, RetryOn, RunId,
};

impl Machine {
    /// Starts every run that may start.
    pub(super) fn schedule(&mut self, now: Timestamp) {
        while let Some(run) = self.next_to_begin() {
            self.advance(&run, now);
        }
    }

    /// Starts a run's next action, or ends the run if there is none.
    fn advance(&mut self, id: &RunId, now: Timestamp) {
        let Some(run) = self.runs.get(id) else { return };
        let (Some(entry), Some(event)) = (run.entry.clone(), run.event.clone()) else {
            // The journal has both for every run; without them the run must not wait forever.
            let why = "its event or its definition no longer exists".to_owned();
            self.end(id, now, End::Failed, why);
            return;
        };
        // Nothing is started for an event that lacks a value of a later action.
        let is_new = run.attempt == 0 && run.tries.is_empty();
        let unready = if is_new { unready(&entry.flow, &event) } else { None };
        if let Some(why) = unready {
            self.end(id, now, End::Failed, why);
            return;
        }
        let actions = entry.flow.actions.iter().enumerate().skip(usize::from(run.step));
        let Some((step, _)) = actions.into_iter().find(|(_, it)| it.runs_for(&event)) else {
            let (end, why) = (End::Succeeded, String::new());
            self.end(id, now, end, why);
            return;
        };
        let step = step as u16;
        let attempt = if step == run.step { run.attempt + 1 } else { 1 };
        let lineage = run.lineage.clone();
        // Other machines know by it that a process is not theirs.
        let is_shared = self.options.shared_journal.is_some();
        let machine = self.options.machine.clone().filter(|_| is_shared);
        self.record(Record::Begun { run: id.clone(), step, attempt, at: now, machine });
        self.effects.push(Effect::Start(Attempt {
            id: AttemptId { run: id.clone(), step, attempt },
            event,
            lineage,
            idempotency_key: self.idempotency_key(id, step),
            entry,
        }));
    }

    /// Reports the result of an attempt. Ignored if the attempt is not running.
    pub(crate) fn ended(&mut self, id: &AttemptId, report: Report, now: Timestamp) {
        let Some(run) = self.runs.get(&id.run) else { return };
        let is_it = matches!(run.phase, Phase::Running { .. })
            && (run.step, run.attempt) == (id.step, id.attempt);
        let Some(entry) = run.entry.clone().filter(|_| is_it) else { return };
        let Some(action) = entry.flow.actions.get(usize::from(id.step)) else { return };
        let (then, end) = match (&run.cancelling, report.outcome) {
            (Some(why), _) => (Then::End, Some((End::Cancelled, why.clone()))),
            (None, Outcome::Succeeded) => (Then::Next, None),
            (None, Outcome::Interrupted) => interrupted(action, run.interruptions + 1),
            (None, _) => failed(action, id, &report, run.failures, now),
        };
        let step = id.step;
        let attempt = id.attempt;
        let machine = run.machine.clone();
        let run = id.run.clone();
        self.record(Record::Tried { run, step, attempt, at: now, report, then, machine });
        match (then, end) {
            (Then::End, Some((end, why))) => self.end(&id.run, now, end, why),
            (Then::Next, _) => self.advance(&id.run, now),
            (Then::Retry(_) | Then::Again | Then::End, _) => {}
        }
        self.schedule(now);
    }

    pub(super) fn end(&mut self, id: &RunId, at: Timestamp, end: End, why: String) {
        self.record(Record::Ended { run: id.clone(), at, end, why });
        self.announce(id);
    }

    /// Resumes work after the journal was replayed: actions that an earlier process started are
    /// interrupted.
    pub(crate) fn recover(&mut self, identity: &str, now: Timestamp) {
        self.live = true;
        if self.identity.is_empty() {
            self.record(Record::Journal { identity: identity.to_owned() });
            // After a repair only the identity may be lost.
            if self.cursor == 0 {
                self.cursor = self.options.head;
                self.record(Record::Cursor { event: self.cursor });
            }
        }
        let ids: Vec<RunId> = self.runs.keys().cloned().collect();
        for id in &ids {
            let Some(run) = self.runs.get(id) else { continue };
            if matches!(run.phase, Phase::Ended { .. }) {
                self.announce(id);
                continue;
            }
            let entry = self.definition(&run.definition.clone(), id);
            let Some(entry) = entry else {
                let why = "its flow's definition can no longer be read".to_owned();
                self.end(id, now, End::Failed, why);
                continue;
            };
            self.runs.get_mut(id).expect("it is in the list").entry = Some(entry);
            self.cut_off(id, now);
        }
        self.retain_texts();
        let groups: Vec<_> = self.groups.keys().cloned().collect();
        for group in groups {
            self.refresh(&group);
        }
        self.schedule(now);
    }

    /// Handles an action that was running when the service stopped.
    ///
    /// The number of a process means something only on the machine that started it: it is passed on
    /// only if that is known to be this one. What another machine started is not running here.
    fn cut_off(&mut self, id: &RunId, now: Timestamp) {
        let Some(run) = self.runs.get(id) else { return };
        let Phase::Running { leader, .. } = &run.phase else { return };
        if let (Some(there), Some(here)) = (&run.machine, &self.options.machine)
            && there != here
        {
            let detail = format!("another machine took over the flows while it ran on {there}");
            return self.interrupt(id, &detail, now);
        }
        let is_here = run.machine == self.options.machine;
        let action =
            run.entry.as_ref().and_then(|entry| entry.flow.actions.get(usize::from(run.step)));
        let has_process = action.is_some_and(|action| action.kind.runs_program());
        let is_gone = leader.as_ref().is_some_and(|leader| leader.boot != self.options.boot);
        if has_process && !is_gone {
            self.effects.push(Effect::EndOrphan(Orphan {
                run: id.clone(),
                leader: leader.clone().filter(|_| is_here),
                idempotency_key: self.idempotency_key(id, run.step),
            }));
        } else {
            self.interrupt(id, STOPPED, now);
        }
    }

    /// Nothing remains of what an earlier process started for a run.
    pub(crate) fn orphan_ended(&mut self, id: &RunId, now: Timestamp) {
        self.interrupt(id, STOPPED, now);
    }

    fn interrupt(&mut self, id: &RunId, detail: &str, now: Timestamp) {
        let Some(run) = self.runs.get(id) else { return };
        let attempt = AttemptId { run: id.clone(), step: run.step, attempt: run.attempt };
        self.ended(&attempt, Report::new(Outcome::Interrupted, detail), now);
    }

    /// The flow of a run as of when the run was created.
    pub(super) fn definition(&self, hash: &ContentHash, id: &RunId) -> Option<Arc<FlowEntry>> {
        if let Some(entry) = self.set.get(&id.flow).filter(|set| set.hash == *hash) {
            return Some(Arc::clone(entry));
        }
        let (file, text) = self.texts.get(hash)?;
        let file = FlowFile::new(file, text).ok()?;
        FlowSet::new([&file]).get(&id.flow).map(Arc::clone)
    }
}

/// Why an action was interrupted.
const STOPPED: &str = "the service stopped while it ran";

type Next = (Then, Option<(End, String)>);

fn interrupted(action: &Action, interruptions: u32) -> Next {
    if action.on_interrupt == OnInterrupt::Fail {
        let why = "interrupted, and on_interrupt is fail".to_owned();
        return (Then::End, Some((End::Failed, why)));
    }
    if interruptions >= INTERRUPTIONS_MAX {
        return (Then::End, Some((End::Failed, format!("interrupted {interruptions} times"))));
    }
    (Then::Again, None)
}

fn failed(action: &Action, id: &AttemptId, report: &Report, failures: u32, now: Timestamp) -> Next {
    let wanted = match report.outcome {
        Outcome::Failed => Some(RetryOn::Failure),
        Outcome::TimedOut => Some(RetryOn::Timeout),
        Outcome::Succeeded | Outcome::Refused | Outcome::Cancelled | Outcome::Interrupted => None,
    };
    let may_retry = wanted.is_some_and(|wanted| action.retry.on.contains(&wanted));
    if may_retry && failures < action.retry.max {
        return (Then::Retry(now.saturating_add(wait(&action.retry, id, failures))), None);
    }
    if action.continue_on_error {
        return (Then::Next, None);
    }
    let mut why = format!("{}: {}", named(action, id.step), report.detail);
    if may_retry && action.retry.max > 0 {
        let tries = failures + 1;
        why = format!("{why}, after {tries} attempts");
    }
    (Then::End, Some((End::Failed, why)))
}

/// The delay before an attempt: random up to the growing limit ("full jitter"; Brooker,
/// "Exponential Backoff And Jitter", 2015), the same for the same attempt of the same run.
fn wait(retry: &Retry, id: &AttemptId, failures: u32) -> Duration {
    let grown = millis(retry.initial) as f64 * retry.factor.powi(failures.min(1000) as i32);
    let limit = grown.min(millis(retry.cap) as f64);
    let part = fraction(&format!("{}.{}.{}", id.run, id.step, id.attempt));
    Duration::from_millis((limit * part) as u64)
}

/// A pseudo-random number from 0 to 1.
fn fraction(text: &str) -> f64 {
    let [a, b, c, d, ..] = <[u8; 32]>::from(Sha256::digest(text));
    f64::from(u32::from_le_bytes([a, b, c, d])) / f64::from(u32::MAX)
}
