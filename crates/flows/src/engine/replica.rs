//! The engine as a replica: following, deciding and no longer deciding.

use waypost_log::{Digest, Refused, SharedError};
use waypost_time::{SkipDetector, Timestamp};

use super::clock::Clock;
use super::error::Error;
use super::files::Page;
use super::{Engine, Role, replay};
use crate::machine::{Decided, Machine};
use crate::record::Record;
use crate::{RunId, Try};

/// How often leading begins again because other machines have appended meanwhile.
const TRIES_MAX: usize = 16;

/// # Replicas
///
/// Engines with the same [shared journal](waypost_log::SharedJournal) are replicas: one of them
/// decides (it *leads*), and the others apply its records. An engine opens as a follower. Its reads
/// work; [`commit`](Self::commit) and everything that a person requests are refused with
/// [`Error::NotLeading`]; events, results and times that are passed to it are ignored, and it
/// returns no effects.
///
/// Who may lead is decided outside, by a lease: the shared journal refuses the appends of every
/// other machine. A machine that has the lease calls [`lead`](Self::lead). When it loses the lease,
/// or cannot renew it, it ends the programs that it has started, and calls
/// [`step_down`](Self::step_down).
///
/// No effect is returned before the shared journal has the records that led to it. After a commit
/// that failed for any reason, also if it is unknown whether its records exist, the engine has
/// stepped down by itself, and forgets what it had decided: the records say what is true.
impl Engine {
    /// Applies what another machine has decided, and returns the number of records. Call it at
    /// intervals and when others have written: it returns when the shared journal had nothing more.
    /// Without a shared journal, and on the machine that leads, there is nothing to apply.
    ///
    /// It waits for the shared journal. With the engine behind a lock, use [`Files::page`] and
    /// [`take_page`](Self::take_page), which do not.
    ///
    /// [`Files::page`]: crate::Files::page
    ///
    /// # Errors
    /// [`Error::SharedJournal`] if the shared journal cannot be read, if it is not the one that this
    /// engine has copied, or if it has a record that this release cannot read; [`Error::Log`]. What
    /// was applied until then stays, and the next call continues there.
    pub fn follow(&mut self) -> Result<u64, Error> {
        let mut count = 0;
        while self.can_follow()? {
            let page = self.files.page()?;
            if page.is_empty() {
                break;
            }
            count += self.take_page(&page)?;
        }
        Ok(count)
    }

    /// Applies the records of a page that are new, and returns their number.
    ///
    /// # Errors
    /// As for [`follow`](Self::follow).
    pub fn take_page(&mut self, page: &Page) -> Result<u64, Error> {
        if !self.can_follow()? {
            return Ok(0);
        }
        let Some(upstream) = self.files.upstream() else { return Ok(0) };
        let after = self.files.log().last_sequence();
        let taken = upstream.take(self.files.log(), &page.0, Record::decode);
        let records = taken.map_err(|error| self.files.refused(error))?;
        if records.is_empty() {
            return Ok(0);
        }
        for (sequence, record) in (after + 1..).zip(&records) {
            self.machine.apply(record, sequence);
        }
        self.machine.drop_empty_groups();
        self.files.reach();
        Ok(records.len() as u64)
    }

    /// Notes the last event of the bus, before this machine [leads](Self::lead): a flow that comes into
    /// force with `start: latest` begins after it. [`with_head`](crate::Options::with_head) is that of the opening.
    pub fn set_head(&mut self, head: u64) {
        self.machine.options.head = head;
    }

    /// Decides from now on: call it when this machine has the lease. Applies everything that the
    /// shared journal has, verifies by an empty append that it is everything, and continues like
    /// an engine that is opened after a crash: actions that were running are interrupted. Those of
    /// other machines have ended, because their lease has; for those of this machine, the next
    /// commit returns [`Effect::EndOrphan`](crate::Effect::EndOrphan). The flows that were
    /// [installed](Self::install) come into force.
    ///
    /// Without a shared journal, and on the machine that leads, it does nothing.
    ///
    /// # Errors
    /// As for [`follow`](Self::follow); [`Error::NotLeading`] if other machines append all the time,
    /// or if a commit was begun and is not ended.
    pub fn lead(&mut self, now: Timestamp) -> Result<(), Error> {
        if self.decides() {
            return Ok(());
        }
        if !self.can_follow()? {
            return Err(Error::NotLeading);
        }
        self.reach_end()?;
        self.clock = Clock::since(self.machine.latest);
        self.skips = SkipDetector::since(self.machine.latest);
        let identity = self.machine.options.identity.clone();
        let now = self.clock.read(now);
        self.machine.cut();
        self.machine.recover(&identity, now);
        self.role = Role::Leading;
        if self.is_installed {
            let (flows, withheld) = (self.machine.set.clone(), self.withheld.clone());
            self.install(flows);
            self.withhold(withheld);
        }
        Ok(())
    }

    /// Applies everything that the shared journal has at one moment.
    fn reach_end(&mut self) -> Result<(), Error> {
        let files = self.files.clone();
        let Some(upstream) = files.upstream() else { return Ok(()) };
        self.follow()?;
        let mut held = None;
        for _ in 0..TRIES_MAX {
            match upstream.append(files.log(), files.log().last_sequence(), &[]) {
                Ok(()) => return Ok(()),
                Err(Refused::Moved) => {
                    held.get_or_insert_with(|| upstream.hold());
                    if self.follow()? == 0 {
                        let why = "it refused an append because of later records, and has none";
                        return Err(Error::SharedJournal(SharedError::Unavailable(why.to_owned())));
                    }
                }
                Err(refused) => return Err(files.refused(refused)),
            }
        }
        Err(Error::NotLeading)
    }

    /// Decides no more: call it when the lease has ended, after all programs that this machine has
    /// started have ended. Forgets decisions that are not in the journal, and their effects; the
    /// state is that of the records. A commit that was begun has no effects.
    ///
    /// If the journal on this machine cannot be read, the next [`follow`](Self::follow) reports it.
    pub fn step_down(&mut self) {
        if matches!(self.role, Role::Leading) {
            self.role = Role::Following { is_stale: true };
        }
        // While a commit is being written, the log has some of its records or none.
        if !self.is_committing {
            self.renew().unwrap_or_default();
        }
    }

    /// Whether this engine decides: always without a shared journal.
    pub fn decides(&self) -> bool {
        matches!(self.role, Role::Alone | Role::Leading)
    }

    /// The position up to which this engine has the records of the journal. It never decreases.
    pub fn position(&self) -> u64 {
        self.files.position()
    }

    /// The digest of the state that the records up to the [position](Self::position) give: replicas
    /// with the same position have the same digest, whatever each has compacted. Whether the time
    /// of a wait is over is not a part of it, nor are the windows of rate limits and breakers, the
    /// flows in force and the output of programs. `None` while there are decisions that are not in
    /// the journal.
    ///
    /// It reads every run in memory.
    pub fn digest(&self) -> Option<Digest> {
        let is_stale = matches!(self.role, Role::Following { is_stale: true });
        let is_pending = self.machine.has_decided() || !self.pending.records.is_empty();
        if is_stale || is_pending || self.is_committing {
            return None;
        }
        Some(Digest { position: self.position(), sha256: self.machine.digest() })
    }

    /// The machine that has the output of an attempt, if it is not this one.
    pub fn elsewhere<'a>(&self, done: &'a Try) -> Option<&'a str> {
        let is_here = done.machine.is_none() || done.machine == self.machine.options.machine;
        done.machine.as_deref().filter(|_| !is_here)
    }

    /// The runs whose output is still on this machine, although they are no longer in the history:
    /// only the machine that decides gets [`Effect::RemoveOutput`](crate::Effect::RemoveOutput).
    /// Remove their output now and then.
    ///
    /// # Errors
    /// [`Error::Log`].
    pub fn unknown_outputs(&self) -> Result<Vec<RunId>, Error> {
        let mut outputs = self.files.outputs()?;
        outputs.retain(|output| !self.machine.runs.contains_key(output));
        Ok(outputs)
    }

    /// Refuses what only the engine that decides may do.
    pub(super) fn check_decides(&self) -> Result<(), Error> {
        if self.decides() { Ok(()) } else { Err(Error::NotLeading) }
    }

    /// The core, for one more decision, if this engine decides.
    pub(super) fn deciding(&mut self) -> Option<&mut Machine> {
        if !self.decides() {
            return None;
        }
        self.machine.cut();
        Some(&mut self.machine)
    }

    /// Whether this is a follower whose state is that of its log.
    pub(super) fn can_follow(&mut self) -> Result<bool, Error> {
        if self.decides() || self.is_committing {
            return Ok(false);
        }
        self.renew()?;
        Ok(true)
    }

    /// Replaces a state that has undecided changes by that of the log.
    fn renew(&mut self) -> Result<(), Error> {
        if !matches!(self.role, Role::Following { is_stale: true }) {
            return Ok(());
        }
        let mut machine = Machine::new(self.machine.options.clone());
        self.kept = replay(&self.files, &mut machine)?;
        machine.set = self.machine.set.clone();
        machine.ended_now = self.machine.ended_now.clone();
        (self.machine, self.pending) = (machine, Decided::default());
        self.compacted_at = self.files.log().last_sequence();
        self.role = Role::Following { is_stale: false };
        self.files.reach();
        Ok(())
    }
}
