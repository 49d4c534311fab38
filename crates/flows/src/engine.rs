//! The engine: the core, and its journal on disk.

mod commit;
mod compaction;
mod error;
mod files;
mod view;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use waypost_log::Log;
use waypost_time::{SkipDetector, Timestamp};

pub use self::commit::Commit;
pub use self::compaction::Compaction;
pub use self::error::Error;
pub(crate) use self::error::decoded;
pub use self::files::Files;
pub use self::view::{Failure, FlowStatus, RunFilter};
use crate::effect::{Backfill, Effect, RunEnd};
use crate::journal::JournalDir;
use crate::machine::{Decided, Machine};
use crate::record::log_options;
use crate::set::{FlowEntry, FlowSet};
use crate::{AttemptId, End, Event, FlowName, Leader, Options, Phase, Report, RunId};

/// Runs flows: takes events and the results of actions, and returns effects.
///
/// Every method decides and returns at once; [`commit`](Self::commit) writes the decisions to disk,
/// and only then returns the effects. So one sync serves many events, and nothing is done that a
/// crash could forget. The engine starts no threads or processes and has no clock: one thread of
/// the caller owns it, passes it events and reports, commits, and hands the effects to other
/// threads.
///
/// After a crash, [`open`](Self::open) knows every run. A step whose end was recorded never runs
/// again; a step that was running runs again, or its run has failed, as its flow says.
#[derive(Debug)]
pub struct Engine {
    machine: Machine,
    files: Files,
    pending: Decided,
    /// Flows whose definition is pending approval.
    withheld: BTreeSet<FlowName>,
    clock: Clock,
    /// When runs were last checked for their age; at first, the time of the last record.
    skips: SkipDetector,
    /// Records kept by the last compaction of the journal, or read when it was opened.
    kept: u64,
    /// The journal's last record at that time.
    compacted_at: u64,
}

impl Engine {
    /// Opens the journal in `dir`, creating it if needed, and continues the work of an earlier
    /// process. `dir` belongs to the engine: the journal is in `log`, output in `output`.
    ///
    /// Costs one pass over the journal, whose length [`maintain`](Self::maintain) limits to that of
    /// the history.
    ///
    /// # Errors
    /// [`Error::Log`], [`Error::Damaged`], [`Error::Newer`], [`Error::EventsLost`],
    /// [`Error::Record`] and [`Error::Identity`]; no record is changed then.
    pub fn open(dir: &Path, options: Options, now: Timestamp) -> Result<Self, Error> {
        let identity = options.identity.clone();
        let is_part = |it: u8| it.is_ascii_alphanumeric();
        if !(1..=16).contains(&identity.len()) || !identity.bytes().all(is_part) {
            return Err(Error::Identity(identity));
        }
        let folder = JournalDir::new(dir);
        let lock = folder.lock()?;
        folder.check()?;
        let (log, _) = Log::open(&folder.log(), &log_options(options.reached))
            .map_err(|it| folder.error(it))?;
        folder.mark()?;
        let last_event = options.last_event;
        let mut machine = Machine::new(options);
        let mut kept = 0;
        for entry in log.entries_after(0) {
            let entry = entry.map_err(|it| folder.error(it))?;
            machine.apply(&decoded(&entry)?, entry.sequence);
            kept += 1;
        }
        if let Some(last) = last_event.filter(|it| *it < machine.cursor) {
            return Err(Error::EventsLost { cursor: machine.cursor, last });
        }
        let skips = SkipDetector::since(machine.latest);
        let mut clock = Clock { latest: machine.latest, ahead: Duration::ZERO };
        machine.recover(&identity, clock.read(now));
        let compacted_at = log.last_sequence();
        let files = Files::new(log, dir.to_path_buf(), lock);
        let (pending, withheld) = (Decided::default(), BTreeSet::new());
        Ok(Self { machine, files, pending, withheld, clock, skips, kept, compacted_at })
    }

    /// Replaces the flows in force. Existing runs keep the definition with which they were created;
    /// runs of a removed flow continue.
    pub fn install(&mut self, flows: FlowSet) {
        self.machine.install(flows);
    }

    /// Notes that no approved definition of these flows exists: those that are not in force never
    /// evaluate the events until they are, as opposed to flows whose file was removed for a while. Call
    /// it after [`install`](Self::install), with all of these flows.
    pub fn withhold(&mut self, flows: BTreeSet<FlowName>) {
        for flow in &flows {
            self.machine.withhold(flow);
        }
        self.withheld = flows;
    }

    /// A flow in force.
    ///
    /// # Errors
    /// [`Error::UnknownFlow`] and [`Error::PendingApproval`].
    pub fn flow(&self, name: &FlowName) -> Result<&Arc<FlowEntry>, Error> {
        let missing =
            if self.withheld.contains(name) { Error::PendingApproval } else { Error::UnknownFlow };
        self.machine.set.get(name).ok_or_else(|| missing(name.clone()))
    }

    /// The flows in force.
    pub fn flows(&self) -> &FlowSet {
        &self.machine.set
    }

    /// The last evaluated event: pass the events after it to [`offer`](Self::offer).
    pub fn cursor(&self) -> u64 {
        self.machine.cursor
    }

    /// The last record of the journal that is known to be on disk, for [`Options::reached`] of a later
    /// opening.
    pub fn reached(&self) -> u64 {
        self.files.log().reached()
    }

    /// Evaluates an event. Events must come in the order of their ids, each once; one that was
    /// evaluated before has no effect. Commit at least every 256 events: they are written to disk
    /// in one batch.
    ///
    /// The cost depends on the flows that match this type, not on the number of flows.
    pub fn offer(&mut self, event: &Event, now: Timestamp) {
        self.machine.offer(event, self.clock.read(now));
    }

    /// Past events to read for a flow: one that is new and starts early, was absent for a while, or
    /// is being replayed. None while the flow has enough to do.
    pub fn backfill(&self) -> Option<Backfill> {
        self.machine.backfill()
    }

    /// Evaluates past events. `through` is the last event that was read, `until` if there are no
    /// more.
    pub fn fill(&mut self, backfill: &Backfill, events: &[Event], through: u64, now: Timestamp) {
        self.machine.fill(backfill, events, through, self.clock.read(now));
    }

    /// When to call [`wake`](Self::wake) next.
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.machine.next_wake().map(|it| it.saturating_sub(self.clock.ahead))
    }

    /// Handles what is due: ended debounce periods, retries, breakers that close.
    pub fn wake(&mut self, now: Timestamp) {
        self.machine.wake(self.clock.read(now));
    }

    /// Records an action's process, so that a later process can end it.
    pub fn spawned(&mut self, attempt: &AttemptId, leader: Leader) {
        self.machine.spawned(attempt, leader);
    }

    /// Reports the result of an action. Ignored if the action is no longer running.
    pub fn ended(&mut self, attempt: &AttemptId, report: Report, now: Timestamp) {
        self.machine.ended(attempt, report, self.clock.read(now));
    }

    /// Reports that nothing remains of what an earlier process started for a run.
    pub fn orphan_ended(&mut self, run: &RunId, now: Timestamp) {
        self.machine.interrupt(run, self.clock.read(now));
    }

    /// Reports that a run's end was published. If the run was retried meanwhile, its new end is
    /// still to be published.
    pub fn announced(&mut self, end: &RunEnd) {
        self.machine.end_published(end);
    }

    /// Ends a run, whatever it does or waits for. Returns whether there was anything to end.
    ///
    /// # Errors
    /// [`Error::UnknownRun`].
    pub fn cancel(&mut self, run: &RunId, why: &str, now: Timestamp) -> Result<bool, Error> {
        self.run(run)?;
        Ok(self.machine.cancel(run, why, self.clock.read(now)))
    }

    /// Ends all waiting runs of a flow, whatever they wait for, and returns their number.
    pub fn purge(&mut self, flow: &FlowName, now: Timestamp) -> usize {
        self.machine.purge(flow, self.clock.read(now))
    }

    /// Pauses a flow until it is resumed; new runs are created and wait.
    ///
    /// # Errors
    /// [`Error::UnknownFlow`] and [`Error::PendingApproval`].
    pub fn pause(&mut self, flow: &FlowName, why: &str) -> Result<(), Error> {
        self.flow(flow)?;
        self.machine.pause(flow, why);
        Ok(())
    }

    /// Resumes a paused flow.
    ///
    /// # Errors
    /// [`Error::UnknownFlow`] and [`Error::PendingApproval`].
    pub fn resume(&mut self, flow: &FlowName, now: Timestamp) -> Result<(), Error> {
        self.flow(flow)?;
        self.machine.resume(flow, self.clock.read(now));
        Ok(())
    }

    /// Resumes a failed or cancelled run at the action where it ended, with the definition with
    /// which it was created. Actions that succeeded are not repeated.
    ///
    /// # Errors
    /// [`Error::UnknownRun`], [`Error::NotFailed`], and [`Error::Log`] if its event cannot be read.
    pub fn retry(&mut self, run: &RunId, now: Timestamp) -> Result<(), Error> {
        let known = self.run(run)?;
        let Phase::Ended { end: End::Failed | End::Dead | End::Cancelled, .. } = known.phase else {
            return Err(Error::NotFailed(run.clone()));
        };
        let event = self.event_of(run)?;
        self.machine.retry(run, &event, self.clock.read(now));
        Ok(())
    }

    /// Evaluates the events after `after` up to `until` again for a flow, with its definition in
    /// force: each matching event gets a run with the returned number. [`backfill`](Self::backfill)
    /// requests the events.
    ///
    /// # Errors
    /// [`Error::UnknownFlow`] and [`Error::PendingApproval`].
    pub fn replay(&mut self, flow: &FlowName, after: u64, until: u64) -> Result<u32, Error> {
        self.flow(flow)?;
        Ok(self.machine.replay(flow, after, until))
    }

    /// Writes all decisions to disk, and returns the effects, in order.
    ///
    /// It waits for the disk. With the engine behind a lock, use
    /// [`begin_commit`](Self::begin_commit), which does not.
    ///
    /// # Errors
    /// [`Error::Log`]. If the disk is full, nothing is lost: free some space and commit again.
    /// After any other error, open the engine again.
    pub fn commit(&mut self) -> Result<Vec<Effect>, Error> {
        let mut commit = self.begin_commit();
        let written = commit.write();
        let effects = self.end_commit(commit);
        written.map(|()| effects)
    }

    /// Takes the pending decisions, to be written without a lock on the engine. Return them to
    /// [`end_commit`](Self::end_commit); no other commit may begin before that.
    pub fn begin_commit(&mut self) -> Commit {
        let decided = self.machine.take();
        self.pending.records.extend(decided.records);
        self.pending.effects.extend(decided.effects);
        Commit::new(self.files.clone(), std::mem::take(&mut self.pending))
    }

    /// Ends a commit, and returns its effects in order; if the commit was not written, returns
    /// nothing, and the next commit contains it.
    pub fn end_commit(&mut self, commit: Commit) -> Vec<Effect> {
        let (Decided { records, effects }, first) = commit.into_parts();
        let Some(first) = first else {
            let later = std::mem::replace(&mut self.pending, Decided { records, effects });
            self.pending.records.extend(later.records);
            self.pending.effects.extend(later.effects);
            return Vec::new();
        };
        self.machine.placed(&records, first);
        effects
    }

    /// Forgets ended runs that are too old or too many. Call it now and then, and commit. None counts
    /// as old on the first day after the clock has skipped more than the time that runs are kept: it
    /// may be wrong.
    pub fn forget(&mut self, now: Timestamp) {
        let is_believed = self.skips.believes(now, self.machine.options.kept, || None);
        self.machine.forget(if is_believed { now } else { Timestamp::MIN });
    }

    /// A compaction of the journal, if that would halve it and everything decided has been committed.
    pub fn compaction(&mut self, now: Timestamp) -> Option<Compaction> {
        const WORTH_IT: u64 = 4096;

        let added = self.files.log().last_sequence() - self.compacted_at;
        let is_worth_it = added >= self.kept + WORTH_IT;
        if !is_worth_it || self.machine.has_decided() || !self.pending.records.is_empty() {
            return None;
        }
        Some(Compaction::new(self.files.clone(), self.machine.needed(now)))
    }

    /// Ends a compaction.
    pub fn compacted(&mut self, compaction: &Compaction) {
        self.compacted_at = compaction.last();
        self.kept = compaction.kept();
    }

    /// Runs [`forget`](Self::forget) and, if it is worthwhile, a [`compaction`](Self::compaction), and
    /// waits for the disk.
    ///
    /// # Errors
    /// [`Error::Log`].
    pub fn maintain(&mut self, now: Timestamp) -> Result<(), Error> {
        self.forget(now);
        self.flush()?;
        if let Some(mut compaction) = self.compaction(now) {
            compaction.run()?;
            self.compacted(&compaction);
        }
        Ok(())
    }

    /// Drops the records that are no longer needed.
    ///
    /// # Errors
    /// [`Error::Log`].
    pub fn compact(&mut self, now: Timestamp) -> Result<(), Error> {
        // What is not on disk yet must not decide which records are dropped.
        self.flush()?;
        let mut compaction = Compaction::new(self.files.clone(), self.machine.needed(now));
        compaction.run()?;
        self.compacted(&compaction);
        Ok(())
    }

    /// Writes the pending decisions to disk; their effects wait for a commit.
    fn flush(&mut self) -> Result<(), Error> {
        let mut commit = self.begin_commit();
        let written = commit.write();
        let mut effects = self.end_commit(commit);
        effects.append(&mut self.pending.effects);
        self.pending.effects = effects;
        written
    }

    /// The engine's files, for use without a lock on the engine.
    pub fn files(&self) -> Files {
        self.files.clone()
    }
}

/// Time that never goes back: if the system's clock was set back, it continues from where it was,
/// so that delays and windows keep their length.
#[derive(Debug)]
struct Clock {
    latest: Timestamp,
    ahead: Duration,
}

impl Clock {
    fn read(&mut self, now: Timestamp) -> Timestamp {
        self.ahead = self.ahead.max(self.latest.saturating_duration_since(now));
        self.latest = now.saturating_add(self.ahead);
        self.latest
    }
}
