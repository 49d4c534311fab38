//! The engine: the core, and its journal on disk.

mod clock;
mod commit;
mod error;
mod files;
mod replica;
mod requests;
mod upkeep;
mod view;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use waypost_log::{Log, Upstream};
use waypost_time::{SkipDetector, Timestamp};

use self::clock::Clock;
pub use self::commit::Commit;
pub use self::error::Error;
pub use self::files::{Files, Page};
pub use self::upkeep::Compaction;
pub use self::view::{Failure, FlowStatus};
use crate::effect::{Backfill, Effect, RunEnd};
use crate::journal::JournalDir;
use crate::machine::{Decided, Machine};
use crate::record::{Record, log_options};
use crate::set::{FlowEntry, FlowSet};
use crate::{AttemptId, Event, FlowName, Leader, Options, Report, RunId};

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
///
/// With [`Options::shared_journal`], several engines are replicas: see [Replicas](#replicas).
#[derive(Debug)]
pub struct Engine {
    machine: Machine,
    files: Files,
    role: Role,
    pending: Decided,
    /// Whether a commit was begun and is not ended.
    is_committing: bool,
    /// Whether the caller has said which flows are in force.
    is_installed: bool,
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

/// Who decides.
#[derive(Debug, Clone, Copy)]
enum Role {
    /// The only engine of its journal.
    Alone,
    /// Another replica. The state is stale if it has changes that are not in the log.
    Following { is_stale: bool },
    /// This one of several replicas.
    Leading,
}

impl Engine {
    /// Opens the journal in `dir`, creating it if needed, and continues the work of an earlier
    /// process. `dir` belongs to the engine: the journal is in `log`, output in `output`. A replica
    /// opens as a follower, and does not use the shared journal yet.
    ///
    /// Costs one pass over the journal, whose length [`maintain`](Self::maintain) limits to that of
    /// the history.
    ///
    /// # Errors
    /// [`Error::Log`], [`Error::Damaged`], [`Error::Newer`], [`Error::EventsLost`],
    /// [`Error::Record`], [`Error::Identity`] and [`Error::Machine`]; no record is changed then.
    pub fn open(dir: &Path, options: Options, now: Timestamp) -> Result<Self, Error> {
        check_names(&options)?;
        let folder = JournalDir::new(dir);
        let lock = folder.lock()?;
        folder.check()?;
        let (log, _) = Log::open(&folder.log(), &log_options(options.reached))
            .map_err(|error| folder.error(error))?;
        folder.mark()?;
        let upstream =
            options.shared_journal.clone().map(|journal| Upstream::new(journal, |a, b| a == b));
        let role = match &upstream {
            Some(_) => Role::Following { is_stale: false },
            None => Role::Alone,
        };
        let files = Files::new(log, upstream, dir.to_path_buf(), lock);
        let (identity, last_event) = (options.identity.clone(), options.last_event);
        let mut machine = Machine::new(options);
        let kept = replay(&files, &mut machine)?;
        let skips = SkipDetector::since(machine.latest);
        let mut clock = Clock::since(machine.latest);
        if matches!(role, Role::Alone) {
            if let Some(last) = last_event.filter(|event| *event < machine.cursor) {
                return Err(Error::EventsLost { cursor: machine.cursor, last });
            }
            machine.recover(&identity, clock.read(now));
        }
        let compacted_at = files.log().last_sequence();
        Ok(Self {
            machine,
            files,
            role,
            pending: Decided::default(),
            is_committing: false,
            is_installed: false,
            withheld: BTreeSet::new(),
            clock,
            skips,
            kept,
            compacted_at,
        })
    }

    /// Replaces the flows in force. Existing runs keep the definition with which they were created;
    /// runs of a removed flow continue. On a replica that does not decide, they come into force when
    /// it [leads](Self::lead).
    pub fn install(&mut self, flows: FlowSet) {
        self.is_installed = true;
        match self.deciding() {
            Some(machine) => machine.install(flows),
            None => self.machine.set = flows,
        }
    }

    /// Notes that no approved definition of these flows exists: those that are not in force never
    /// evaluate the events until they are, as opposed to flows whose file was removed for a while. Call
    /// it after [`install`](Self::install), with all of these flows.
    pub fn withhold(&mut self, flows: BTreeSet<FlowName>) {
        if let Some(machine) = self.deciding() {
            for flow in &flows {
                machine.withhold(flow);
            }
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
        self.tell(now, |machine, now| machine.offer(event, now));
    }

    /// Past events to read for a flow: one that is new and starts early, was absent for a while, or
    /// is being replayed. None while the flow has enough to do.
    pub fn backfill(&self) -> Option<Backfill> {
        self.machine.backfill().filter(|_| self.decides())
    }

    /// Evaluates past events. `through` is the last event that was read, `until` if there are no
    /// more.
    pub fn fill(&mut self, backfill: &Backfill, events: &[Event], through: u64, now: Timestamp) {
        self.tell(now, |machine, now| machine.fill(backfill, events, through, now));
    }

    /// When to call [`wake`](Self::wake) next.
    pub fn next_wake(&self) -> Option<Timestamp> {
        let next = self.machine.next_wake().filter(|_| self.decides());
        next.map(|next| self.clock.of_system(next))
    }

    /// Handles what is due: ended debounce periods, retries, breakers that close.
    pub fn wake(&mut self, now: Timestamp) {
        self.tell(now, |machine, now| machine.wake(now));
    }

    /// Records an action's process, so that a later process can end it.
    pub fn spawned(&mut self, attempt: &AttemptId, leader: Leader) {
        if let Some(machine) = self.deciding() {
            machine.spawned(attempt, leader);
        }
    }

    /// Reports the result of an action. Ignored if the action is no longer running.
    pub fn ended(&mut self, attempt: &AttemptId, report: Report, now: Timestamp) {
        self.tell(now, |machine, now| machine.ended(attempt, report, now));
    }

    /// Reports that nothing remains of what an earlier process started for a run.
    pub fn orphan_ended(&mut self, run: &RunId, now: Timestamp) {
        self.tell(now, |machine, now| machine.orphan_ended(run, now));
    }

    /// Reports that a run's end was published. If the run was retried meanwhile, its new end is
    /// still to be published.
    pub fn announced(&mut self, end: &RunEnd) {
        if let Some(machine) = self.deciding() {
            machine.end_published(end);
        }
    }

    /// Writes all decisions to disk, and returns the effects, in order.
    ///
    /// It waits for the disk. With the engine behind a lock, use
    /// [`begin_commit`](Self::begin_commit), which does not.
    ///
    /// # Errors
    /// As for [`Commit::write`].
    pub fn commit(&mut self) -> Result<Vec<Effect>, Error> {
        let mut commit = self.begin_commit();
        let written = commit.write();
        let effects = self.end_commit(commit);
        written.map(|()| effects)
    }

    /// Takes the pending decisions, to be written without a lock on the engine. Return them to
    /// [`end_commit`](Self::end_commit); no other commit may begin before that.
    pub fn begin_commit(&mut self) -> Commit {
        let is_replica = !matches!(self.role, Role::Alone);
        if is_replica && (self.is_committing || !self.decides()) {
            return Commit::refused(self.files.clone());
        }
        self.is_committing = true;
        let decided = self.machine.take();
        self.pending.records.extend(decided.records);
        self.pending.effects.extend(decided.effects);
        // A replica has no pending records: what it does not write, it forgets.
        self.pending.cuts = decided.cuts;
        Commit::new(self.files.clone(), std::mem::take(&mut self.pending))
    }

    /// Ends a commit, and returns its effects in order; if the commit was not written, returns
    /// nothing, and the next commit contains it. A replica then [steps down](Self::step_down)
    /// instead: its records may exist. As their effects were never returned, nothing has started,
    /// whether they do or not; if they do, the machine that leads next finds actions that began, and
    /// treats them as interrupted.
    pub fn end_commit(&mut self, commit: Commit) -> Vec<Effect> {
        if commit.is_refused() {
            return Vec::new();
        }
        self.is_committing = false;
        let (Decided { records, effects, cuts }, first) = commit.into_parts();
        if !matches!(self.role, Role::Alone) && (first.is_none() || !self.decides()) {
            self.step_down();
            return Vec::new();
        }
        self.files.reach();
        let Some(first) = first else {
            let later = std::mem::replace(&mut self.pending, Decided { records, effects, cuts });
            self.pending.records.extend(later.records);
            self.pending.effects.extend(later.effects);
            return Vec::new();
        };
        self.machine.placed(&records, first);
        effects
    }

    /// Lets the core decide something at that time, if this engine decides.
    fn tell(&mut self, now: Timestamp, decide: impl FnOnce(&mut Machine, Timestamp)) {
        self.order(now, decide).unwrap_or_default();
    }

    /// The same with a result, for what only the engine that decides may do.
    fn order<T>(
        &mut self,
        now: Timestamp,
        decide: impl FnOnce(&mut Machine, Timestamp) -> T,
    ) -> Result<T, Error> {
        let now = self.clock.read(now);
        let machine = self.deciding().ok_or(Error::NotLeading)?;
        Ok(decide(machine, now))
    }

    /// The engine's files, for use without a lock on the engine.
    pub fn files(&self) -> Files {
        self.files.clone()
    }
}

/// Refuses names that records and keys cannot have.
fn check_names(options: &Options) -> Result<(), Error> {
    let identity = &options.identity;
    let is_part = |byte: u8| byte.is_ascii_alphanumeric();
    if !(1..=16).contains(&identity.len()) || !identity.bytes().all(is_part) {
        return Err(Error::Identity(identity.clone()));
    }
    let machine = options.machine.as_deref();
    let is_missing = machine.is_none() && options.shared_journal.is_some();
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_name = |text: &&str| (1..=64).contains(&text.len()) && text.bytes().all(is_part);
    if is_missing || machine.is_some_and(|machine| !is_name(&machine)) {
        return Err(Error::Machine(machine.unwrap_or_default().to_owned()));
    }
    Ok(())
}

/// Applies every record of the log, and returns their number.
fn replay(files: &Files, machine: &mut Machine) -> Result<u64, Error> {
    let mut count = 0;
    for entry in files.log().entries_after(0) {
        let entry = entry.map_err(|error| files.error(error))?;
        machine.apply(&Record::decode(&entry)?, entry.sequence);
        count += 1;
    }
    Ok(count)
}
