//! The lease: one process of the cluster has it, and its epoch fences the appends of earlier holders.

use std::time::{Duration, Instant};

use crate::batch::random_id;
use crate::deadline::{Until, now};
use crate::error::Result;
use crate::id::MachineId;
use crate::journal::{Head, Journal};
use crate::sql::{Parameter, bigint, number};
use crate::transaction::lock_time;

/// Tries to get the lease. It names one process: every process makes its own.
#[derive(Debug)]
pub struct Contender {
    id: MachineId,
    ttl: Duration,
    seen: Option<Seen>,
    has_looked: bool,
    holder: Option<MachineId>,
}

/// What the contender has seen of the holder, without interruption.
#[derive(Debug, Clone, Copy)]
struct Seen {
    epoch: u64,
    counter: i64,
    since: Instant,
    last: Instant,
}

/// The lease, as its holder has it.
#[derive(Debug)]
pub struct Lease {
    id: MachineId,
    epoch: u64,
    ttl: Duration,
    expires: Instant,
}

/// All writes of the lease are of this form; they commit as appends do.
const WRITE: &str = "WITH setting AS MATERIALIZED (\
         SELECT set_config('synchronous_commit', 'on', true) AS value, \
             set_config('lock_timeout', '{wait}', true)\
     ) UPDATE {schema}.head AS head SET {set} FROM setting \
     WHERE head.store = $1 AND head.incarnation = $2 AND setting.value = 'on' AND {if} \
     RETURNING head.lease_epoch";

impl Contender {
    /// Returns a contender that takes the lease from a holder whose counter has not changed for
    /// `ttl`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the system has no random numbers.
    pub fn new(ttl: Duration) -> Result<Self> {
        Ok(Self::of(MachineId(random_id()?), ttl))
    }

    /// The same for a machine of which at most one process runs: with its first look, it can take the
    /// lease of an earlier process of it at once.
    pub fn of(machine: MachineId, ttl: Duration) -> Self {
        Self { id: machine, ttl, seen: None, has_looked: false, holder: None }
    }

    /// Returns who had the lease at the last look.
    pub fn holder(&self) -> Option<MachineId> {
        self.holder
    }

    /// Notes what the head row says; whether the lease can be taken.
    fn observe(&mut self, head: &Head) -> bool {
        let now = now();
        let current = (head.lease_epoch, head.lease_counter);
        let seen = match self.seen {
            // Between two looks that are far apart, the holder may have been unable to renew it for
            // the same reason for which this process could not look.
            Some(it) if (it.epoch, it.counter) == current && now - it.last <= self.ttl / 2 => {
                Seen { last: now, ..it }
            }
            _ => Seen { epoch: current.0, counter: current.1, since: now, last: now },
        };
        self.seen = Some(seen);
        self.holder = head.lease_holder;
        // Only once: a copy of this machine, which must not exist, may hold it.
        let is_first = !std::mem::replace(&mut self.has_looked, true);
        let is_own = |id: MachineId| is_first && id == self.id;
        head.lease_holder.is_none_or(is_own) || now - seen.since >= self.ttl
    }
}

impl Lease {
    /// Returns the epoch, for the fence of appends.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns when the holder must have ended what it does under the lease, by the clock of this
    /// process: the TTL after the last renewal was sent. Another process takes it later than that.
    pub fn expires(&self) -> Instant {
        self.expires
    }
}

impl Journal {
    /// Looks at the lease, and takes it if nobody has it or its counter has not changed for the TTL
    /// of this contender, by its own clock and while it was connected. Call it several times per
    /// TTL; two looks more than half a TTL apart begin a new observation.
    ///
    /// # Errors
    /// If the database cannot be reached or does not commit; the observation begins again then.
    pub fn contend(&self, contender: &mut Contender, until: &Until) -> Result<Option<Lease>> {
        let taken = self.contend_with(contender, until);
        if taken.is_err() {
            contender.seen = None;
        }
        taken
    }

    fn contend_with(&self, contender: &mut Contender, until: &Until) -> Result<Option<Lease>> {
        let head = self.head(until)?;
        if !contender.observe(&head) {
            return Ok(None);
        }
        let sent = now();
        let set = "lease_epoch = lease_epoch + 1, lease_counter = lease_counter + 1, \
                   lease_holder = $3";
        let condition = "lease_epoch = $4 AND lease_counter = $5";
        let epoch = self.write_lease(
            &WRITE.replace("{set}", set).replace("{if}", condition),
            contender.id,
            &[&bigint(head.lease_epoch)?, &head.lease_counter],
            until,
        )?;
        contender.seen = None;
        Ok(epoch.map(|epoch| Lease {
            id: contender.id,
            epoch,
            ttl: contender.ttl,
            expires: sent + contender.ttl,
        }))
    }

    /// Renews the lease; false if another process has taken it.
    ///
    /// # Errors
    /// If the database cannot be reached or does not commit. The lease then ends at the time that it
    /// had, unless a later call succeeds.
    pub fn renew(&self, lease: &mut Lease, until: &Until) -> Result<bool> {
        let sent = now();
        let sql = WRITE
            .replace("{set}", "lease_counter = lease_counter + 1")
            .replace("{if}", "lease_holder = $3 AND lease_epoch = $4");
        let held = self.write_lease(&sql, lease.id, &[&bigint(lease.epoch)?], until)?;
        if held.is_some() {
            lease.expires = sent + lease.ttl;
        }
        Ok(held.is_some())
    }

    /// Gives the lease up, so that others can take it at once. What was done under it must have
    /// ended.
    ///
    /// # Errors
    /// If the database cannot be reached or does not commit; others then wait for their TTL.
    pub fn release(&self, lease: &Lease, until: &Until) -> Result<()> {
        let sql = WRITE
            .replace("{set}", "lease_counter = lease_counter + 1, lease_holder = NULL")
            .replace("{if}", "lease_holder = $3 AND lease_epoch = $4");
        self.write_lease(&sql, lease.id, &[&bigint(lease.epoch)?], until)?;
        Ok(())
    }

    /// Runs a write of the lease; the epoch if a row has changed.
    fn write_lease(
        &self,
        sql: &str,
        holder: MachineId,
        numbers: &[&dyn Parameter],
        until: &Until,
    ) -> Result<Option<u64>> {
        let incarnation = bigint(self.incarnation)?;
        let parameters =
            [&[&self.store as &dyn Parameter, &incarnation, &holder], numbers].concat();
        let mut link = self.link(until)?;
        let sql = sql.replace("{wait}", &lock_time(until).to_string());
        let rows = link.warned(|link| link.query(&sql, &parameters, until))?;
        self.put_back(link);
        rows.first().map(|row| number(row, 0)).transpose()
    }
}
