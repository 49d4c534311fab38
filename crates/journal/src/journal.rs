//! A journal that is open: its connections and its head row.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio_postgres::Row;

use crate::connect::connect;
use crate::deadline::{Until, now};
use crate::error::{Error, Result};
use crate::id::{MachineId, StoreId};
use crate::limits::ANSWER_MAX;
use crate::link::{Failure, Link};
use crate::position::Position;
use crate::schema;
use crate::settings::Settings;
use crate::sql::{Parameter, column, feature, hash, number};

/// The most connections that wait for the next operation.
const IDLE_MAX: usize = 4;

/// The columns of a [`Head`], in its order.
pub(crate) const HEAD: &str = "incarnation, seq, hash, probe, lease_epoch, lease_counter, \
     lease_holder, current_setting('synchronous_standby_names') <> '', \
     current_setting('synchronous_commit'), base_seq, base_hash, feature";

/// Makes a statement that reads commit as one that writes does: it gets a transaction id, and its
/// commit waits for the standbys. What it has read was committed before, so it is there as well.
pub(crate) const MARK: &str = "set_config('synchronous_commit', 'on', true), \
     pg_logical_emit_message(true, 'waypost', '')::text";

/// The journal of one store, in a PostgreSQL database that several machines share.
///
/// All operations block. None may be called on a thread that runs asynchronous tasks. Threads may
/// share a journal; each operation uses a connection of its own.
#[derive(Debug)]
pub struct Journal {
    pub(crate) settings: Settings,
    pub(crate) store: StoreId,
    pub(crate) incarnation: u64,
    idle: Mutex<Vec<Link>>,
    known: Mutex<Known>,
    /// The server of the URL that is asked first.
    first: AtomicUsize,
    pub(crate) follower: Mutex<crate::follower::Follower>,
}

/// What this process knows of the head row.
#[derive(Debug, Default)]
struct Known {
    probe: i64,
    feature: u32,
    /// As it was read last, of those in the incarnation of this process.
    head: Option<Head>,
    /// Records up to here survive the loss of the primary.
    confirmed: u64,
    announced: Option<Instant>,
    /// The end of the last append of this process, and when it was acknowledged.
    appended: Option<(u64, Instant)>,
}

/// The head row: where the journal ends, and who has the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Head {
    /// 1, and one more after each loss that was accepted.
    pub incarnation: u64,
    /// Where the journal ends.
    pub position: Position,
    /// Where the journal begins: the records up to here were trimmed. [`Position::start`] until
    /// the first trim.
    pub base: Position,
    /// How often the lease was taken.
    pub lease_epoch: u64,
    /// The feature level of the store: all its machines can read records of this level. See
    /// [`Journal::raise_feature`].
    pub feature: u32,
    /// The machine that has the lease, if its contender was [made of a machine](crate::Contender::of);
    /// before the first one of an incarnation, the machine that [began](Journal::begin_incarnation) it.
    pub lease_holder: Option<MachineId>,
    pub(crate) lease_counter: i64,
    pub(crate) probe: i64,
    /// Commits wait for standbys.
    pub(crate) is_synchronous: bool,
    /// In this transaction, commits wait for the disk and for standbys.
    pub(crate) is_strict: bool,
}

impl Journal {
    /// Creates the tables if they do not exist, and an empty journal of the store.
    ///
    /// The store may have records from before. They are not in the journal: the first record of a
    /// part may have any place, and a snapshot at [`Position::start`] has what is before it.
    ///
    /// # Errors
    /// [`Error::Exists`] if the store has a journal, and the errors of [`open`](Self::open).
    pub fn create(settings: Settings, store: StoreId, until: &Until) -> Result<Self> {
        schema::create(&settings, store, until)?;
        Self::open(settings, store, until)
    }

    /// Opens the journal of a store, in the incarnation that it has now.
    ///
    /// # Errors
    /// If no server answers, or the database is not one that can keep this journal: a standby, a
    /// version of PostgreSQL or of the tables that is not supported, `fsync = off`, another store,
    /// missing privileges.
    pub fn open(settings: Settings, store: StoreId, until: &Until) -> Result<Self> {
        let (mut link, first) = connect(&settings, 0, until)?;
        schema::check(&mut link, &settings, store, until)?;
        let mut journal = Self {
            settings,
            store,
            incarnation: 0,
            idle: Mutex::new(vec![link]),
            known: Mutex::default(),
            first: AtomicUsize::new(first),
            follower: Mutex::default(),
        };
        journal.incarnation = journal.raw_head(until)?.incarnation;
        Ok(journal)
    }

    /// Returns the store.
    pub fn store(&self) -> StoreId {
        self.store
    }

    /// Returns the incarnation in which the journal was opened.
    pub fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// Reads the head row.
    ///
    /// # Errors
    /// [`Error::Incarnation`] if a loss was accepted since the journal was opened.
    pub fn head(&self, until: &Until) -> Result<Head> {
        let head = self.raw_head(until)?;
        self.same_incarnation(&head)?;
        Ok(head)
    }

    fn raw_head(&self, until: &Until) -> Result<Head> {
        let rows = self.read(until, |link, until| self.head_rows(link, until))?;
        let head = Head::from_rows(&rows, self.store)?;
        self.know(&head);
        Ok(head)
    }

    pub(crate) fn head_rows(&self, link: &mut Link, until: &Until) -> Result<Vec<Row>, Failure> {
        let sql = format!("SELECT {HEAD} FROM {{schema}}.head WHERE store = $1");
        link.query(&sql, &[&self.store], until)
    }

    /// The head row, which must not be before the caller's position. A server that is no longer the
    /// primary may be: only one that can commit counts.
    pub(crate) fn head_beyond(&self, ours: Position, until: &Until) -> Result<Head> {
        let head = self.raw_head(until)?;
        if self.same_incarnation(&head).and_then(|()| Self::not_behind(ours, &head)).is_ok() {
            return Ok(head);
        }
        self.turn_away();
        let head = self.committed_head(until)?;
        self.same_incarnation(&head)?;
        Self::not_behind(ours, &head)?;
        Ok(head)
    }

    pub(crate) fn same_incarnation(&self, head: &Head) -> Result<()> {
        if head.incarnation != self.incarnation {
            return Err(Error::Incarnation { expected: self.incarnation, found: head.incarnation });
        }
        Ok(())
    }

    /// Refuses a position before the first record that the journal still has.
    pub(crate) fn not_trimmed(ours: Position, head: &Head) -> Result<()> {
        let base = head.base;
        if ours.seq < base.seq {
            return Err(Error::Trimmed { first: base.seq + 1 });
        }
        if ours.seq == base.seq && ours.hash != base.hash {
            return Err(Error::Diverged { seq: ours.seq, ours: ours.hash, theirs: base.hash });
        }
        Ok(())
    }

    /// Compares the caller's position with the end of the journal.
    pub(crate) fn not_behind(ours: Position, head: &Head) -> Result<()> {
        let theirs = head.position;
        if theirs.seq < ours.seq {
            return Err(Error::Shorter { ours, theirs });
        }
        if theirs.seq == ours.seq && theirs.hash != ours.hash {
            return Err(Error::Diverged { seq: ours.seq, ours: ours.hash, theirs: theirs.hash });
        }
        Ok(())
    }

    /// The rows of a statement that changes nothing: see [`read`](Self::read).
    pub(crate) fn query(
        &self,
        sql: &str,
        parameters: &[&dyn Parameter],
        until: &Until,
    ) -> Result<Vec<Row>> {
        self.read(until, |link, until| link.query(sql, parameters, until))
    }

    /// Runs what changes nothing, again on another connection if an idle one has ended, or none of
    /// its answers arrives. The work gets the deadline of one attempt; each has twice as long as the
    /// last one, because much may have to be transferred.
    pub(crate) fn read<T>(
        &self,
        until: &Until,
        mut work: impl FnMut(&mut Link, &Until) -> Result<T, Failure>,
    ) -> Result<T> {
        let mut time = ANSWER_MAX;
        loop {
            let mut link = self.link(until)?;
            let attempt = until.at_most(time);
            match work(&mut link, &attempt) {
                Ok(value) => {
                    self.put_back(link);
                    return Ok(value);
                }
                Err(Failure::Ended(_)) if !until.is_over() => {}
                Err(Failure::Unknown(_)) if attempt.is_over() && !until.is_over() => time *= 2,
                Err(failure) => return Err(failure.into()),
            }
        }
    }

    /// An idle connection, or a new one.
    pub(crate) fn link(&self, until: &Until) -> Result<Link> {
        let idle = self.idle.lock().pop();
        idle.map_or_else(|| self.connect(until), Ok)
    }

    /// A new connection.
    pub(crate) fn connect(&self, until: &Until) -> Result<Link> {
        let (link, at) = connect(&self.settings, self.first.load(Ordering::Relaxed), until)?;
        self.first.store(at, Ordering::Relaxed);
        Ok(link)
    }

    /// Keeps a connection on which nothing is outstanding.
    pub(crate) fn put_back(&self, link: Link) {
        let mut idle = self.idle.lock();
        if link.is_usable() && idle.len() < IDLE_MAX {
            idle.push(link);
        }
    }

    /// Forgets idle connections, and asks another server first: the one that they lead to may not
    /// be the primary any more, and not know it.
    pub(crate) fn turn_away(&self) {
        self.first.fetch_add(1, Ordering::Relaxed);
        let links = std::mem::take(&mut *self.idle.lock());
        drop(links);
    }

    pub(crate) fn know(&self, head: &Head) {
        let mut known = self.known.lock();
        known.probe = known.probe.max(head.probe);
        known.feature = known.feature.max(head.feature);
        let furthest = known.head.map_or(0, |head| head.position.seq);
        if head.incarnation == self.incarnation && head.position.seq >= furthest {
            known.head = Some(*head);
        }
    }

    /// The head row as it was read last, if it is beyond this position.
    pub(crate) fn head_known_beyond(&self, seq: u64) -> Option<Head> {
        self.known.lock().head.filter(|head| head.position.seq > seq)
    }

    pub(crate) fn forget_head(&self) {
        self.known.lock().head = None;
    }

    /// Refuses a store whose feature level is above those that the caller supports.
    ///
    /// # Errors
    /// [`Error::Feature`].
    pub fn check_feature(&self, supported: u32) -> Result<()> {
        let found = self.feature();
        if found > supported { Err(Error::Feature { found, supported }) } else { Ok(()) }
    }

    /// The feature level of the store, as far as this process has seen it raised.
    pub fn feature(&self) -> u32 {
        self.known.lock().feature
    }

    pub(crate) fn probe(&self) -> i64 {
        self.known.lock().probe
    }

    pub(crate) fn note_confirmed(&self, seq: u64) {
        let mut known = self.known.lock();
        known.confirmed = known.confirmed.max(seq);
    }

    /// Whether the last notification was sent so long ago; then another one is sent now.
    pub(crate) fn may_announce(&self, pause: Duration) -> bool {
        let mut known = self.known.lock();
        let now = now();
        let may = known.announced.is_none_or(|announced| now - announced >= pause);
        if may {
            known.announced = Some(now);
        }
        may
    }

    pub(crate) fn note_appended(&self, seq: u64) {
        let mut known = self.known.lock();
        known.confirmed = known.confirmed.max(seq);
        known.appended = Some((seq, now()));
    }

    pub(crate) fn appended(&self) -> Option<(u64, Instant)> {
        self.known.lock().appended
    }

    pub(crate) fn confirmed(&self) -> u64 {
        self.known.lock().confirmed
    }
}

impl Head {
    /// Reads the columns of [`HEAD`].
    pub(crate) fn from_rows(rows: &[Row], store: StoreId) -> Result<Self> {
        let Some(row) = rows.first() else {
            return Err(Error::OtherStore { expected: store, found: "none of it any more".into() });
        };
        let standard: String = column(row, 8)?;
        Ok(Self {
            incarnation: number(row, 0)?,
            position: Position { seq: number(row, 1)?, hash: hash(row, 2)? },
            base: Position { seq: number(row, 9)?, hash: hash(row, 10)? },
            probe: column(row, 3)?,
            lease_epoch: number(row, 4)?,
            lease_counter: column(row, 5)?,
            lease_holder: column(row, 6)?,
            is_synchronous: column(row, 7)?,
            is_strict: standard == "on",
            feature: feature(row, 11)?,
        })
    }
}
