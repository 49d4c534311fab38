//! The limits of the history and of the journal. A compaction does not lock the engine.

use waypost_log::{Keep, Upstream};
use waypost_time::Timestamp;

use super::error::Error;
use super::files::Files;
use super::{Engine, Role};
use crate::machine::compaction::Needed;
use crate::record::Record;

impl Engine {
    /// Forgets ended runs that are too old or too many. Call it now and then, and commit. None counts
    /// as old on the first day after the clock has skipped more than the time that runs are kept: it
    /// may be wrong.
    pub fn forget(&mut self, now: Timestamp) {
        if self.check_decides().is_err() {
            return;
        }
        let is_believed = self.skips.believes(now, self.machine.options.kept, || None);
        let now = if is_believed { now } else { Timestamp::MIN };
        if let Some(machine) = self.deciding() {
            machine.forget(now);
        }
    }

    /// A compaction of the journal, if that would halve it and everything decided has been committed.
    /// Each replica compacts its own.
    pub fn compaction(&mut self, now: Timestamp) -> Option<Compaction> {
        const WORTH_IT: u64 = 4096;

        let is_stale = matches!(self.role, Role::Following { is_stale: true });
        if is_stale || self.is_committing {
            return None;
        }
        let added = self.files.log().last_sequence() - self.compacted_at;
        let is_worth_it = added >= self.kept + WORTH_IT;
        if !is_worth_it || self.machine.has_decided() || !self.pending.records.is_empty() {
            return None;
        }
        Some(Compaction::new(self.files.clone(), self.machine.needed(now)))
    }

    /// Ends a compaction.
    pub fn compacted(&mut self, compaction: &Compaction) {
        self.compacted_at = compaction.last;
        self.kept = compaction.kept;
    }

    /// Runs [`forget`](Self::forget) and, if it is worthwhile, a [`compaction`](Self::compaction), and
    /// waits for the disk.
    ///
    /// # Errors
    /// As for [`Commit::write`](crate::Commit::write).
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
    /// As for [`Commit::write`](crate::Commit::write).
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
        if !self.decides() {
            return self.can_follow().map(|_| ());
        }
        let mut commit = self.begin_commit();
        let written = commit.write();
        let mut effects = self.end_commit(commit);
        effects.append(&mut self.pending.effects);
        self.pending.effects = effects;
        written
    }
}

/// A compaction of the journal: drops the records that the engine did not need when the compaction was
/// created. The engine may continue meanwhile.
#[derive(Debug)]
pub struct Compaction {
    files: Files,
    needed: Needed,
    kept: u64,
    last: u64,
}

impl Compaction {
    fn new(files: Files, needed: Needed) -> Self {
        let last = files.log().last_sequence();
        Self { files, needed, kept: 0, last }
    }

    /// Rewrites the journal, and waits for the disk.
    ///
    /// # Errors
    /// [`Error::Log`]; the journal has the records that it had, or fewer.
    pub fn run(&mut self) -> Result<(), Error> {
        // The next start compares what is behind the base with the shared journal.
        let base = self.files.upstream().map_or(u64::MAX, Upstream::base);
        let (needed, last) = (&self.needed, self.last.min(base));
        let mut kept = 0;
        self.files.log().compact(&mut |entry| {
            let is_newer = entry.sequence > last;
            let keep = is_newer || Record::decode(entry).map_or(true, |record| needed.has(&record));
            kept += u64::from(keep);
            if keep { Keep::Yes } else { Keep::No }
        })?;
        self.kept = kept;
        Ok(())
    }
}
