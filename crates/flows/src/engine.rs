//! The engine: the core, and its journal on disk.

mod view;

use std::path::{Path, PathBuf};

use waypost_log::{FolderLock, Keep, Log};

pub use self::view::{Failure, FlowStatus, RunFilter};
use crate::effect::{Backfill, Effect, RunEnd};
use crate::journal::JournalDir;
use crate::machine::{Decided, Machine, Options};
use crate::record::{Record, Unreadable, log_options};
use crate::set::FlowSet;
use crate::{AttemptId, End, Event, FlowName, Leader, Phase, Report, RunId};

/// Runs flows: events and what came of actions in, effects out.
///
/// Every method decides and returns at once; [`commit`](Self::commit) brings to disk what was
/// decided, and only then gives out what is to be done. So one sync serves many events, and nothing
/// is done that a crash could forget. It starts no threads, no processes and has no clock: one
/// thread of the caller's owns it, gives it events and reports, commits, and hands the effects to
/// others.
///
/// After a crash, [`open`](Self::open) knows every run. What a step's end was recorded of is not
/// done again; a step that was going on is done again, or its run has failed, as its flow says.
#[derive(Debug)]
pub struct Engine {
    machine: Machine,
    log: Log,
    dir: PathBuf,
    pending: Decided,
    clock: Clock,
    /// Records that were kept when the journal was last compacted, or read when it was opened.
    kept: u64,
    /// The journal's last record then.
    compacted_at: u64,
    _lock: FolderLock,
}

/// Why the engine did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The journal's log cannot be opened, read or written.
    #[error("the journal of flows: {0}")]
    Log(#[from] waypost_log::Error),
    /// The journal is damaged: [`repair`](crate::repair) keeps what is left.
    #[error("the journal of flows in {} is damaged: {message}", path.display())]
    Damaged {
        /// The engine's folder.
        path: PathBuf,
        /// What is damaged, and where.
        message: String,
    },
    /// A newer release wrote a part of the journal.
    #[error("a newer release wrote {what}: {message}")]
    Newer {
        /// Which part.
        what: String,
        /// How that is known.
        message: String,
    },
    /// The journal knows of events that are not there any more.
    #[error(
        "flows have decided the events up to {cursor}, but the last event is {last}: the events after it are lost"
    )]
    EventsLost {
        /// The last event that flows have decided.
        cursor: u64,
        /// The last event that there is.
        last: u64,
    },
    /// A record of the journal cannot be understood.
    #[error("record {sequence} of the journal of flows: {message}")]
    Record {
        /// Which.
        sequence: u64,
        /// Why not.
        message: String,
    },
    /// [`Options::identity`] is no identity.
    #[error("{0:?} is no identity of a project: 1 to 16 letters and digits")]
    Identity(String),
    /// There is no such run, or no more.
    #[error("there is no run {0}")]
    UnknownRun(RunId),
    /// There is no such flow in force.
    #[error("there is no flow {0}")]
    UnknownFlow(FlowName),
    /// Only what failed or was cancelled can be tried again.
    #[error("run {0} did not fail; only a run that failed or was cancelled can be retried")]
    NotFailed(RunId),
}

impl Error {
    /// Whether there is no room on the disk: make some, and commit again.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Log(waypost_log::Error::Full))
    }
}

impl Engine {
    /// Opens the journal in `dir`, making it if need be, and takes up what an earlier process left.
    /// `dir` is the engine's own: the journal is in `log`, output in `output`.
    ///
    /// Costs one pass over the journal, which [`maintain`](Self::maintain) keeps as long as the
    /// history is.
    ///
    /// # Errors
    /// [`Error::Log`], [`Error::Damaged`], [`Error::Newer`], [`Error::EventsLost`], [`Error::Record`]
    /// and [`Error::Identity`]; no record is changed then.
    pub fn open(dir: &Path, options: Options, now_ms: u64) -> Result<Self, Error> {
        let identity = options.identity.clone();
        let is_part = |it: u8| it.is_ascii_alphanumeric();
        if !(1..=16).contains(&identity.len()) || !identity.bytes().all(is_part) {
            return Err(Error::Identity(identity));
        }
        let folder = JournalDir::new(dir);
        let lock = folder.lock()?;
        folder.check()?;
        let (log, _) = Log::open(&folder.log(), &log_options()).map_err(|it| folder.error(it))?;
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
        let mut clock = Clock { latest_ms: machine.latest_ms, ahead_ms: 0 };
        machine.recover(&identity, clock.read(now_ms));
        let compacted_at = log.last_sequence();
        let dir = dir.to_path_buf();
        let pending = Decided::default();
        Ok(Self { machine, log, dir, pending, clock, kept, compacted_at, _lock: lock })
    }

    /// Puts flows in force in place of the ones before. Runs that exist keep to the definition that
    /// they were created with; those of a flow that is gone go on.
    pub fn install(&mut self, flows: FlowSet) {
        self.machine.install(flows);
    }

    /// The flows in force.
    pub fn flows(&self) -> &FlowSet {
        &self.machine.set
    }

    /// The last event that was decided: give [`offer`](Self::offer) what comes after it.
    pub fn cursor(&self) -> u64 {
        self.machine.cursor
    }

    /// Decides what an event leads to. Events come in the order of their ids, each one once; one
    /// that was decided before leads to nothing. Commit at least every 256 events: they go to disk
    /// in one batch.
    ///
    /// Costs what the flows cost that want events of this type, not how many flows there are.
    pub fn offer(&mut self, event: &Event, now_ms: u64) {
        self.machine.offer(event, self.clock.read(now_ms));
    }

    /// Events of the past to read for a flow: one that is new and begins early, was away for a
    /// while, or is to be replayed. None while the flow has enough to do.
    pub fn backfill(&self) -> Option<Backfill> {
        self.machine.backfill()
    }

    /// Decides events of the past. `through` is the last event that was looked at, `until` if there
    /// are no more.
    pub fn fill(&mut self, backfill: &Backfill, events: &[Event], through: u64, now_ms: u64) {
        self.machine.fill(backfill, events, through, self.clock.read(now_ms));
    }

    /// When [`wake`](Self::wake) is to be called next, in milliseconds since 1970.
    pub fn next_wake_ms(&self) -> Option<u64> {
        self.machine.next_wake_ms().map(|it| it.saturating_sub(self.clock.ahead_ms))
    }

    /// Does what time brings: quiet that has come, tries that are due, breakers that close.
    pub fn wake(&mut self, now_ms: u64) {
        self.machine.wake(self.clock.read(now_ms));
    }

    /// Records an action's process, so that it can be ended if this process is not there to do so.
    pub fn spawned(&mut self, attempt: &AttemptId, leader: Leader) {
        self.machine.spawned(attempt, leader);
    }

    /// Says what came of an action. What is not going on any more is left alone.
    pub fn ended(&mut self, attempt: &AttemptId, report: Report, now_ms: u64) {
        self.machine.ended(attempt, report, self.clock.read(now_ms));
    }

    /// Says that nothing is left of what an earlier process began for a run.
    pub fn orphan_ended(&mut self, run: &RunId, now_ms: u64) {
        self.machine.interrupt(run, self.clock.read(now_ms));
    }

    /// Says that a run's end was published. One that was tried again meanwhile has yet to be told of.
    pub fn announced(&mut self, end: &RunEnd) {
        self.machine.told(end);
    }

    /// Ends a run, whatever it does or waits for. Whether there was anything to end.
    ///
    /// # Errors
    /// [`Error::UnknownRun`].
    pub fn cancel(&mut self, run: &RunId, why: &str, now_ms: u64) -> Result<bool, Error> {
        self.run(run)?;
        Ok(self.machine.cancel(run, why, self.clock.read(now_ms)))
    }

    /// Ends all runs of a flow that wait, whatever they wait for, and returns how many.
    pub fn purge(&mut self, flow: &FlowName, now_ms: u64) -> usize {
        self.machine.purge(flow, self.clock.read(now_ms))
    }

    /// Begins nothing of a flow until it is resumed. Its runs are created and wait.
    ///
    /// # Errors
    /// [`Error::UnknownFlow`].
    pub fn pause(&mut self, flow: &FlowName, why: &str) -> Result<(), Error> {
        self.known(flow)?;
        self.machine.pause(flow, why);
        Ok(())
    }

    /// Takes a paused flow up again.
    ///
    /// # Errors
    /// [`Error::UnknownFlow`].
    pub fn resume(&mut self, flow: &FlowName, now_ms: u64) -> Result<(), Error> {
        self.known(flow)?;
        self.machine.resume(flow, self.clock.read(now_ms));
        Ok(())
    }

    /// Has a run that failed or was cancelled go on with the action that it was at, by the
    /// definition that it was created with. What succeeded is not done again.
    ///
    /// # Errors
    /// [`Error::UnknownRun`], [`Error::NotFailed`], and [`Error::Log`] if its event cannot be read.
    pub fn retry(&mut self, run: &RunId, now_ms: u64) -> Result<(), Error> {
        let known = self.run(run)?;
        let Phase::Ended { end: End::Failed | End::Dead | End::Cancelled, .. } = known.phase else {
            return Err(Error::NotFailed(run.clone()));
        };
        let event = self.event_of(run)?;
        self.machine.retry(run, &event, self.clock.read(now_ms));
        Ok(())
    }

    /// Decides the events after `after` up to `until` once more for a flow, by its definition in
    /// force: each that it wants gets a run with the number that is returned. The events are asked
    /// for by [`backfill`](Self::backfill).
    ///
    /// # Errors
    /// [`Error::UnknownFlow`].
    pub fn replay(&mut self, flow: &FlowName, after: u64, until: u64) -> Result<u32, Error> {
        self.known(flow)?;
        Ok(self.machine.replay(flow, after, until))
    }

    /// Brings what was decided to disk, and returns what is to be done, in order.
    ///
    /// # Errors
    /// [`Error::Log`]. When the disk is full, nothing is forgotten: make room and commit again.
    /// After any other error open the engine anew.
    pub fn commit(&mut self) -> Result<Vec<Effect>, Error> {
        self.flush()?;
        Ok(std::mem::take(&mut self.pending.effects))
    }

    /// Brings what was decided to disk; what is to be done waits for a commit.
    fn flush(&mut self) -> Result<(), Error> {
        let decided = self.machine.take();
        self.pending.records.extend(decided.records);
        self.pending.effects.extend(decided.effects);
        let records = &self.pending.records;
        if records.is_empty() {
            return Ok(());
        }
        let payloads: Vec<Vec<u8>> = records.iter().map(Record::encode).collect();
        let entries = records.iter().zip(&payloads);
        let batch: Vec<_> = entries.map(|(record, payload)| record.entry(payload)).collect();
        let range = if records.iter().all(Record::can_wait) {
            self.log.append_batch_unsynced(&batch)?
        } else {
            self.log.append_batch(&batch)?
        };
        self.machine.placed(records, range.start);
        self.pending.records.clear();
        Ok(())
    }

    /// Forgets ended runs that are too old or too many, and drops their records when that halves the
    /// journal. Call it now and then, and commit.
    ///
    /// # Errors
    /// [`Error::Log`].
    pub fn maintain(&mut self, now_ms: u64) -> Result<(), Error> {
        const WORTH_IT: u64 = 4096;

        self.machine.forget(self.clock.read(now_ms));
        let added = self.log.last_sequence() - self.compacted_at;
        if added < self.kept + WORTH_IT {
            return Ok(());
        }
        self.compact(now_ms)
    }

    /// Drops the records that are not needed any more.
    ///
    /// # Errors
    /// [`Error::Log`].
    pub fn compact(&mut self, now_ms: u64) -> Result<(), Error> {
        // What is not on disk yet must not decide what goes.
        self.flush()?;
        let needed = self.machine.needed(now_ms);
        let mut kept = 0;
        self.log.compact(&mut |entry| {
            let keep = decoded(entry).map_or(true, |it| needed.has(&it));
            kept += u64::from(keep);
            if keep { Keep::Yes } else { Keep::No }
        })?;
        self.compacted_at = self.log.last_sequence();
        self.kept = kept;
        Ok(())
    }

    /// The engine's files for a backup, by their paths in its folder: the journal with everything that
    /// was committed, and what programs wrote.
    ///
    /// # Errors
    /// [`Error::Log`].
    pub fn snapshot(&self) -> Result<waypost_log::Snapshot, Error> {
        let journal = self.log.snapshot()?.under("log");
        let output = waypost_log::Snapshot::default();
        let output = output.and_folder(&self.dir.join("output"), &|_| true)?;
        Ok(journal.and(output.under("output")))
    }

    /// Where the output of a run is.
    pub fn output_dir(&self, run: &RunId) -> PathBuf {
        self.dir.join("output").join(run.to_string())
    }

    fn known(&self, flow: &FlowName) -> Result<(), Error> {
        match self.machine.set.get(flow) {
            Some(_) => Ok(()),
            None => Err(Error::UnknownFlow(flow.clone())),
        }
    }
}

/// Time that never goes back: where the system's clock was set back, it goes on from where it was, so
/// that waits and windows stay as long as they are.
#[derive(Debug)]
struct Clock {
    latest_ms: u64,
    ahead_ms: u64,
}

impl Clock {
    fn read(&mut self, now_ms: u64) -> u64 {
        self.ahead_ms = self.ahead_ms.max(self.latest_ms.saturating_sub(now_ms));
        self.latest_ms = now_ms.saturating_add(self.ahead_ms);
        self.latest_ms
    }
}

pub(crate) fn decoded(entry: &waypost_log::Entry) -> Result<Record, Error> {
    let sequence = entry.sequence;
    Record::decode(entry).map_err(|it| match it {
        Unreadable::Malformed(message) => Error::Record { sequence, message },
        Unreadable::Newer(message) => {
            Error::Newer { what: format!("record {sequence} of the journal of flows"), message }
        }
    })
}
