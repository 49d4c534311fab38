//! The hub: one connection of all parts of a machine with the journal.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use waypost_journal::{Journal, MachineId, Pending, Position, Settings, Stop, Until};
use waypost_log::{SharedError, SharedJournal};

use crate::append::CUTS_MAX;
use crate::contact::{Contact, LastContact, now};
use crate::error::{Error, Result};
use crate::member::{Base, Member};
use crate::part::{Part, Places, Uncompared};
use crate::queues::Queues;
use crate::shared::PartJournal;
use crate::turn::Turn;

/// After a failed connection, operations fail at once for this long.
const RECONNECT: Duration = Duration::from_millis(500);
/// How long a look at the journal waits for an append of this machine that explains its growth.
const OWN_APPEND: Duration = Duration::from_millis(20);

/// How long operations may take.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HubOptions {
    /// How long an append may take before its outcome is reported as unknown; 10 s by default. A
    /// failover of the database takes longer: writes fail meanwhile.
    pub append_time: Duration,
    /// How long a read of the journal may take; 10 s by default.
    pub read_time: Duration,
    /// The parts that have a replica on this machine; by default, all that have a log.
    pub parts: Vec<Part>,
}

impl Default for HubOptions {
    fn default() -> Self {
        Self {
            append_time: Duration::from_secs(10),
            read_time: Duration::from_secs(10),
            parts: vec![Part::Memory, Part::Events, Part::Flows],
        }
    }
}

impl HubOptions {
    /// Sets how long an append may take.
    #[must_use]
    pub fn with_append_time(mut self, append_time: Duration) -> Self {
        self.append_time = append_time;
        self
    }

    /// Sets how long a read of the journal may take.
    #[must_use]
    pub fn with_read_time(mut self, read_time: Duration) -> Self {
        self.read_time = read_time;
        self
    }

    /// Sets the parts that have a replica on this machine. No part is read or appended to before
    /// each of these was compared with the journal: [`SharedJournal::compare`].
    #[must_use]
    pub fn with_parts(mut self, parts: &[Part]) -> Self {
        self.parts = parts.to_vec();
        self
    }
}

/// Connects the parts of one machine's store with the journal of the cluster. Threads share it.
#[derive(Debug)]
pub struct Hub {
    pub(crate) options: HubOptions,
    pub(crate) turn: Turn,
    pub(crate) queues: Mutex<Queues>,
    /// Held while the journal is read, and while the queues begin again.
    pub(crate) reading: Mutex<()>,
    /// An append whose outcome is unknown.
    pub(crate) unsettled: Mutex<Option<Pending>>,
    pub(crate) contact: LastContact,
    pub(crate) uncompared: Uncompared,
    settings: Settings,
    data: PathBuf,
    member: Mutex<Member>,
    journal: Mutex<Connection>,
    /// The epoch of the lease that this machine has; 0 for none.
    fence: AtomicU64,
    /// When another machine was last first with an append.
    pub(crate) lost_at: Mutex<Option<Instant>>,
    /// The machine that has the lease, and its name, for messages.
    leader: Mutex<Option<(MachineId, String)>>,
    /// Why this machine takes no part any more.
    fault: OnceLock<SharedError>,
    stop: Stop,
}

#[derive(Debug, Default)]
struct Connection {
    journal: Option<Arc<Journal>>,
    failed: Option<(Instant, String)>,
}

impl Hub {
    /// Prepares the hub of a data folder with this member file. It connects when it is first used.
    pub fn new(data: &Path, member: Member, settings: Settings, options: HubOptions) -> Arc<Self> {
        Arc::new(Self {
            turn: Turn::default(),
            queues: Mutex::new(Queues::new(member.base)),
            reading: Mutex::default(),
            unsettled: Mutex::default(),
            contact: LastContact::new(),
            uncompared: Uncompared::new(&options.parts),
            options,
            settings,
            data: data.to_path_buf(),
            member: Mutex::new(member),
            journal: Mutex::default(),
            fence: AtomicU64::new(0),
            lost_at: Mutex::default(),
            leader: Mutex::default(),
            fault: OnceLock::new(),
            stop: Stop::default(),
        })
    }

    /// The journal of one part, for the options of its store.
    pub fn part(self: &Arc<Self>, part: Part) -> Arc<dyn SharedJournal> {
        Arc::new(PartJournal::new(Arc::clone(self), part))
    }

    /// This machine.
    pub fn machine(&self) -> MachineId {
        self.member.lock().machine
    }

    /// The member file as it is on disk.
    pub fn member(&self) -> Member {
        self.member.lock().clone()
    }

    /// The journal itself, for the lease, the status, and snapshots. It is in the incarnation of
    /// this machine.
    ///
    /// # Errors
    /// If no server answers, or the database has another history: see [`Journal::open`].
    pub fn journal(&self, until: &Until) -> Result<Arc<Journal>> {
        match self.fault.get() {
            Some(fault) => Err(Error::Excluded(fault.clone())),
            None => self.journal_for_report(until),
        }
    }

    /// The same for a machine that takes no part any more, which reports why.
    ///
    /// # Errors
    /// As for [`journal`](Self::journal).
    pub fn journal_for_report(&self, until: &Until) -> Result<Arc<Journal>> {
        let mut connection = self.journal.lock();
        if let Some(journal) = &connection.journal {
            return Ok(Arc::clone(journal));
        }
        if let Some((at, why)) = &connection.failed
            && now() - *at < RECONNECT
        {
            return Err(waypost_journal::Error::Unreachable(why.clone()).into());
        }
        let member = self.member.lock().clone();
        let mut cut = 0;
        let opened = loop {
            match Journal::open(self.settings.clone(), member.store, until) {
                Err(waypost_journal::Error::Connection(_)) if cut < CUTS_MAX => cut += 1,
                opened => break opened,
            }
        };
        let journal = opened.inspect_err(|error| {
            if let waypost_journal::Error::Unreachable(why) = error {
                connection.failed = Some((now(), why.clone()));
            }
        })?;
        let (expected, found) = (member.incarnation, journal.incarnation());
        if expected != found {
            return Err(waypost_journal::Error::Incarnation { expected, found }.into());
        }
        journal.check_feature(crate::FEATURE)?;
        connection.failed = None;
        Ok(Arc::clone(connection.journal.insert(Arc::new(journal))))
    }

    /// A deadline that also ends when the hub is [stopped](Self::stop).
    pub fn within(&self, time: Duration) -> Until {
        Until::within(time).with_stop(&self.stop)
    }

    /// Ends all operations, and lets no other begin.
    pub fn stop(&self) {
        self.stop.stop();
    }

    /// Lets this machine take no part any more: all further operations fail with this reason. Only the
    /// first one counts.
    pub fn exclude(&self, why: SharedError) {
        drop(self.fault.set(why));
    }

    /// Why this machine takes no part any more, if it was [excluded](Self::exclude).
    pub fn fault(&self) -> Option<SharedError> {
        self.fault.get().cloned()
    }

    /// Waits at most this long until the journal has records that this machine has not read, and
    /// returns whether it has. One thread can wait at a time. Let all parts follow afterwards. It
    /// takes longer if it has to connect, or the database is slow to answer.
    ///
    /// # Errors
    /// If the database cannot be reached, or has another history than this machine.
    pub fn wait(&self, time: Duration) -> Result<bool> {
        let until = self.within(time);
        let found = self.look(&until);
        match &found {
            Ok(_) => self.contact.succeeded(),
            Err(error) => self.contact.failed(error.to_string()),
        }
        found
    }

    fn look(&self, until: &Until) -> Result<bool> {
        // To connect may take longer than to wait: several servers may have to be asked.
        let journal = self.journal(&self.within(self.options.read_time))?;
        loop {
            let tail = self.tail();
            let head = journal.wait(tail.seq, until)?;
            if head.position.seq == tail.seq {
                // With another hash, it is another history, as the parts find out.
                return Ok(head.position != tail);
            }
            // Usually an append of this machine, whose end is not known here yet.
            if head.position.seq <= self.tail().seq && head.position.seq > tail.seq {
                continue;
            }
            let was_free = self.turn.is_free_within(OWN_APPEND);
            if !was_free || head.position.seq != self.tail().seq {
                self.queues.lock().set_looked(head.position.seq);
                return Ok(true);
            }
        }
    }

    /// Where the journal ends as far as this machine has read it: a later read on any machine that
    /// has this position shows everything that this machine has shown.
    pub fn tail(&self) -> Position {
        self.queues.lock().tail()
    }

    /// The furthest tail. It never goes back, also while this machine reads again what it has
    /// read before: the position for clients.
    pub fn furthest(&self) -> Position {
        self.queues.lock().furthest()
    }

    /// Where the journal ended when this machine last looked.
    pub fn end(&self) -> u64 {
        self.queues.lock().end()
    }

    /// Up to where parts with these last records have everything of the journal.
    pub fn applied(&self, places: &Places) -> u64 {
        self.queues.lock().applied(places)
    }

    /// The tail, and the last record of each part up to there. When all parts have applied and
    /// synced that much, it can become the [base](Self::set_base).
    pub fn mark(&self) -> Base {
        self.queues.lock().mark()
    }

    /// Lets reading begin at a [mark](Self::mark) after the next start. All parts must have their
    /// records up to there on disk. Notices up to there must have been applied, and `tokens` have what
    /// they change: see [`Member::tokens`].
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn set_base(&self, base: Base, tokens: Vec<String>) -> Result<()> {
        let mut member = self.member.lock();
        if base.position.seq <= member.base.position.seq {
            return Ok(());
        }
        let next = Member { base, tokens: tokens.into(), ..member.clone() };
        next.write(&self.data)?;
        *member = next;
        self.queues.lock().set_base(base);
        Ok(())
    }

    /// Sets the epoch of the lease that this machine has. Without one, it cannot append to
    /// [`Part::Flows`].
    pub fn set_fence(&self, epoch: Option<u64>) {
        self.fence.store(epoch.unwrap_or(0), Ordering::Release);
    }

    /// Sets the machine that has the lease, and its name, for messages.
    pub fn set_leader(&self, leader: Option<(MachineId, String)>) {
        *self.leader.lock() = leader;
    }

    /// The machine that has the lease, and its name, if it was [set](Self::set_leader).
    pub fn leader(&self) -> Option<(MachineId, String)> {
        self.leader.lock().clone()
    }

    /// The epoch of the lease that this machine has.
    pub fn fence(&self) -> Option<u64> {
        Some(self.fence.load(Ordering::Acquire)).filter(|fence| *fence > 0)
    }

    /// Whether the database answers.
    pub fn contact(&self) -> Contact {
        self.contact.get()
    }
}

impl From<Error> for SharedError {
    fn from(error: Error) -> Self {
        match error {
            Error::Journal(error) => crate::shared::shared(&error),
            Error::Excluded(why) => why,
            error => Self::Unavailable(error.to_string()),
        }
    }
}
