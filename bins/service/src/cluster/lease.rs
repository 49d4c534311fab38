//! The thread that gets and keeps the lease: its holder runs flows and decides what is decided once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use waypost_journal::{Contender, Journal, Lease, MachineId, MachineReport, Reported, Until};
use waypost_log::SharedError;

use super::Cluster;
use crate::error::chain;
use crate::flows::Flows;
use crate::flows::guard::Guard;
use crate::leadership::Leadership;
use crate::wake::Wake;

/// Another machine takes the lease if its holder has not renewed it for this long.
const TTL: Duration = Duration::from_secs(6);
/// How often the lease is renewed, or looked at.
const EVERY: Duration = Duration::from_secs(1);
/// How long before its end the holder stops what it does under the lease.
const STOP_BEFORE: Duration = Duration::from_millis(1500);
/// Another process that takes part as this machine has reported within this time.
const SILENT: Duration = Duration::from_secs(3);
/// How many reports of a process that was killed may still arrive, as from a server that was paused.
const LATE_MAX: u32 = 2;

/// What the thread needs.
#[derive(Debug)]
pub(crate) struct Leasing {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) flows: Arc<Flows>,
    pub(crate) leadership: Leadership,
    /// Ends the programs of flows with the lease.
    pub(crate) guard: Option<Arc<Guard>>,
    pub(crate) wake: Arc<Wake>,
}

/// Who takes part as this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Identity {
    /// Not known yet: an earlier process of this machine reported not long ago, or another one does.
    Unknown(Option<Reports>),
    /// Only this process, as far as its reports show.
    Own(Reports),
    /// Another process, too, as with a copy of the data folder. This one does not report: that would
    /// show its fault as that of the other one.
    Copied,
}

/// What was seen of the machine's reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reports {
    /// How often it has reported; `None` if that is not known.
    counter: Option<u64>,
    /// At how many looks in a row there were new ones that this process does not know of.
    changes: u32,
}

impl Reports {
    /// After a look.
    fn seen(self, counter: u64) -> Self {
        let is_same = self.counter.is_none_or(|other| other == counter);
        let changes = if is_same { self.changes } else { self.changes + 1 };
        Self { counter: Some(counter), changes }
    }
}

impl Leasing {
    /// Gets and renews the lease until the service stops, and then releases it.
    pub(crate) fn run(&self) {
        let mut contender = Contender::of(self.cluster.hub.machine(), TTL);
        let mut lease = None;
        let mut identity = Identity::Unknown(None);
        loop {
            if let Identity::Unknown(seen) = identity {
                identity = self.identity(seen);
            }
            if let Identity::Own(reports) = identity {
                lease = match lease.take() {
                    None => self.contend(&mut contender),
                    Some(lease) => self.renew(lease),
                };
                identity = self.report(reports);
            }
            if identity == Identity::Copied {
                self.give_up(lease.take());
            }
            if !self.wake.rest(EVERY) {
                break;
            }
        }
        self.cluster.save_last_base();
        if let Identity::Own(reports) = identity {
            self.report(reports);
        }
        self.give_up(lease);
        if let Some(guard) = &self.guard {
            guard.end();
        }
    }

    /// Whether this process is the only one that takes part as this machine. Before it has reported,
    /// the reports of another one show.
    fn identity(&self, seen: Option<Reports>) -> Identity {
        let hub = &self.cluster.hub;
        let until = hub.within(EVERY);
        let journal = hub.journal_for_report(&until).map_err(|error| chain(&error));
        let machines =
            journal.and_then(|journal| journal.machines(&until).map_err(|error| chain(&error)));
        let Ok(machines) = machines else { return Identity::Unknown(seen) };
        let none = Reports { counter: None, changes: 0 };
        let Some(this) = machines.into_iter().find(|machine| machine.report.id == hub.machine())
        else {
            return Identity::Own(none);
        };
        let reports = seen.unwrap_or(none).seen(this.counter);
        if reports.changes > LATE_MAX {
            return self.leave_to_other();
        }
        // Before the first report, only `ctl cluster init` or `join` has entered the machine.
        let is_silent = this.counter <= 1 || this.silent >= SILENT;
        if is_silent {
            Identity::Own(Reports { changes: 0, ..reports })
        } else {
            Identity::Unknown(Some(reports))
        }
    }

    /// Takes no further part: another process reports as this machine.
    fn leave_to_other(&self) -> Identity {
        self.cluster.leave_out(SharedError::Excluded(format!(
            "another service takes part in the cluster as this machine, {}: one data folder is a copy \
             of the other. Stop one of the services, move its data folder away, and run `ctl cluster \
             join` there",
            self.cluster.hub.machine()
        )));
        Identity::Copied
    }

    /// Tells the others how far this machine is, and finds out whether another process does, too. The
    /// one that was overtaken reports nothing, so that only one of them leaves.
    fn report(&self, reports: Reports) -> Identity {
        let same = Identity::Own(reports);
        let until = self.cluster.hub.within(EVERY);
        let report = MachineReport {
            id: self.cluster.hub.machine(),
            name: self.cluster.name.clone(),
            release: env!("CARGO_PKG_VERSION").to_owned(),
            feature: waypost_cluster::FEATURE,
            seq: self.cluster.reached(),
            purged: self.cluster.purged(),
            removed: self.cluster.removed(),
            base: self.cluster.hub.member().base.position.seq,
            flows: Some(self.flows.digest()),
            fault: self.cluster.fault().map(|fault| fault.to_string()),
        };
        let Ok(journal) = self.cluster.hub.journal_for_report(&until) else { return same };
        match journal.report_after(reports.counter, &report, &until) {
            Ok(Reported::Counted(counter)) => {
                return Identity::Own(Reports { counter: Some(counter), changes: 0 });
            }
            Ok(Reported::Overtaken(counter)) => {
                let reports = reports.seen(counter);
                if reports.changes > LATE_MAX {
                    return self.leave_to_other();
                }
                return Identity::Own(reports);
            }
            Err(waypost_journal::Error::Forgotten(_)) => {
                self.cluster.leave_out(SharedError::Excluded("this machine was forgotten by its cluster, or has never joined it: move the data folder away and run `ctl cluster join`".to_owned()));
            }
            Err(error) => {
                tracing::debug!(error = chain(&error), "failed to report to the cluster");
            }
        }
        same
    }

    fn give_up(&self, lease: Option<Lease>) {
        if let Some(lease) = lease {
            self.step_down();
            self.flows.wait_until_ended();
            self.release(&lease);
        }
    }

    fn contend(&self, contender: &mut Contender) -> Option<Lease> {
        if !self.cluster.follows() {
            return None;
        }
        let until = self.cluster.hub.within(EVERY);
        let journal = self.cluster.hub.journal(&until).ok()?;
        match journal.contend(contender, &until) {
            Ok(Some(lease)) => {
                tracing::info!(epoch = lease.epoch(), "this machine leads the cluster");
                self.guard_until(&lease);
                self.cluster.hub.set_fence(Some(lease.epoch()));
                let hub = &self.cluster.hub;
                hub.set_leader(Some((hub.machine(), self.cluster.name.clone())));
                self.leadership.set(true);
                self.wake.flowing();
                self.wake.publishing();
                Some(lease)
            }
            Ok(None) => {
                self.note_leader(&journal, contender.holder(), &until);
                None
            }
            Err(error) => {
                tracing::debug!(error = chain(&error), "failed to look at the lease");
                None
            }
        }
    }

    /// Looks up the name of the machine that has the lease, if it is another one than before.
    fn note_leader(&self, journal: &Journal, holder: Option<MachineId>, until: &Until) {
        let hub = &self.cluster.hub;
        if hub.leader().map(|leader| leader.0) == holder {
            return;
        }
        let machines = journal.machines(until).unwrap_or_default();
        let found = machines.into_iter().find(|machine| Some(machine.report.id) == holder);
        hub.set_leader(found.map(|found| (found.report.id, found.report.name)));
    }

    fn renew(&self, mut lease: Lease) -> Option<Lease> {
        if !self.cluster.follows() {
            tracing::warn!(
                "this machine does not follow the journal, and gives up leading the cluster"
            );
            self.give_up(Some(lease));
            return None;
        }
        let left = lease.expires().saturating_duration_since(Instant::now() + STOP_BEFORE);
        let until = self.cluster.hub.within(left.min(EVERY));
        let journal = self.cluster.hub.journal(&until).map_err(|error| chain(&error));
        let renewed = journal
            .and_then(|journal| journal.renew(&mut lease, &until).map_err(|error| chain(&error)));
        let is_held = match renewed {
            Ok(is_held) => is_held,
            Err(error) => {
                tracing::debug!(error, "failed to renew the lease");
                lease.expires() > Instant::now() + STOP_BEFORE
            }
        };
        if is_held {
            self.guard_until(&lease);
            return Some(lease);
        }
        tracing::warn!(epoch = lease.epoch(), "this machine does not lead the cluster any more");
        self.step_down();
        None
    }

    fn guard_until(&self, lease: &Lease) {
        if let Some(guard) = &self.guard {
            guard.lease(lease.expires().saturating_duration_since(Instant::now()));
        }
    }

    fn step_down(&self) {
        self.leadership.set(false);
        self.wake.flowing();
        self.cluster.hub.set_fence(None);
    }

    fn release(&self, lease: &Lease) {
        // Also when the other operations have been ended.
        let until = Until::within(EVERY);
        let released = self
            .cluster
            .hub
            .journal(&until)
            .map_err(|error| chain(&error))
            .and_then(|journal| journal.release(lease, &until).map_err(|error| chain(&error)));
        if let Err(error) = released {
            tracing::info!(error, "failed to release the lease; another machine takes it later");
        }
    }
}
