//! The machines of a cluster, as each of them reports itself.

use std::time::Duration;

use tokio_postgres::Row;

use crate::deadline::Until;
use crate::error::{Error, Result};
use crate::id::MachineId;
use crate::journal::Journal;
use crate::limits::MACHINE_TEXT_BYTES_MAX;
use crate::snapshot::millis;
use crate::sql::{Parameter, bigint, column, feature, number};

/// What a machine says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineReport {
    /// Its name, which it keeps as long as it is in the cluster.
    pub id: MachineId,
    /// What people call it; at most 128 bytes.
    pub name: String,
    /// The release that runs on it; at most 128 bytes.
    pub release: String,
    /// The newest feature level that it can read.
    pub feature: u32,
    /// The number of the last record that it has applied.
    pub seq: u64,
    /// Where it continues to read after a restart: records up to here are not needed for it. A report
    /// never lowers it.
    pub base: u64,
    /// The last purge that it has carried out, by the number that the caller gives to purges. A
    /// report never lowers it.
    pub purged: u64,
    /// The last purge that it knows of, by the same numbers.
    pub removed: u64,
    /// The digest of the flows in force on it, to compare it with the other machines' digests.
    pub flows: Option<[u8; 32]>,
    /// Why it takes no part any more, if so. A report keeps the first 1,024 bytes.
    pub fault: Option<String>,
}

/// A machine of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Machine {
    /// What it said last.
    pub report: MachineReport,
    /// The incarnation of the journal that it has open.
    pub incarnation: u64,
    /// How often it has reported.
    pub counter: u64,
    /// How long ago it reported, by the server's clock.
    pub silent: Duration,
    /// How long ago it joined, by the server's clock.
    pub joined: Duration,
}

/// What became of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reported {
    /// The machine has reported this often now.
    Counted(u64),
    /// Nothing was written, because the machine has reported this often: another process takes part as
    /// this machine, or the answer to an earlier report was lost.
    Overtaken(u64),
}

const FAULT_BYTES_MAX: usize = 1024;

const JOIN: &str = "INSERT INTO {schema}.machine AS it (store, id, name, release, feature, \
     incarnation, seq, purged, base, removed, flows, fault, counter, seen, joined, forgotten) \
     SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 1, clock_timestamp(), clock_timestamp(), NULL \
     FROM (SELECT feature, incarnation FROM {schema}.head WHERE store = $1 FOR UPDATE) AS head \
     WHERE head.feature <= $5 AND head.incarnation = $6 AND set_config('synchronous_commit', 'on', true) = 'on' \
     ON CONFLICT (store, id) DO UPDATE SET name = $3, release = $4, feature = $5, \
     incarnation = $6, seq = $7, purged = $8, base = $9, removed = $10, flows = $11, fault = $12, counter = it.counter + 1, \
     seen = clock_timestamp(), joined = clock_timestamp(), forgotten = NULL RETURNING counter";

/// What a crash of the server takes from it comes with the next report.
const REPORT: &str = "UPDATE {schema}.machine SET name = $3, release = $4, feature = $5, \
     incarnation = $6, seq = greatest(seq, $7), purged = greatest(purged, $8), base = greatest(base, $9), \
     removed = $10, flows = $11, fault = $12, counter = counter + 1, seen = clock_timestamp() WHERE store = $1 AND id = $2 AND forgotten IS NULL \
     AND counter = coalesce($13, counter) AND set_config('synchronous_commit', 'off', true) = 'off' RETURNING counter";

const LIST: &str = "SELECT id, name, release, feature, seq, purged, incarnation, counter, base, \
     removed, (extract(epoch FROM clock_timestamp() - seen) * 1000)::int8, \
     (extract(epoch FROM clock_timestamp() - joined) * 1000)::int8, flows, fault \
     FROM {schema}.machine WHERE store = $1 AND forgotten IS NULL ORDER BY joined, id";

/// The head row is locked, as by [`JOIN`]: no machine joins meanwhile.
const RAISE: &str = "UPDATE {schema}.head AS head SET feature = low.feature \
     FROM (SELECT min(feature) AS feature FROM {schema}.machine \
         WHERE store = $1 AND forgotten IS NULL) AS low \
     WHERE head.store = $1 AND head.feature < low.feature";

const FORGET: &str = "UPDATE {schema}.machine SET forgotten = clock_timestamp() \
     WHERE store = $1 AND id = $2 AND forgotten IS NULL \
     AND set_config('synchronous_commit', 'on', true) = 'on'";

impl Journal {
    /// Enters a machine into the list, also one that was forgotten. Its files must have been made
    /// from a snapshot and the journal after it, or be those of the machine that made the journal.
    ///
    /// # Errors
    /// - [`Error::Feature`] if the store has records that the machine's release cannot read.
    /// - [`Error::Incarnation`] if a loss was accepted since the journal was opened.
    /// - [`Error::Invalid`] if a text is too long.
    pub fn joined(&self, report: &MachineReport, until: &Until) -> Result<()> {
        match self.write_report(JOIN, report, &[], until)? {
            None => {
                let (found, supported) = (self.head(until)?.feature, report.feature);
                Err(Error::Feature { found, supported })
            }
            Some(_) => Ok(()),
        }
    }

    /// Raises the feature level of the store to the lowest one of its machines, and returns it. It
    /// is never lowered: a machine that cannot read it cannot join any more. Until then, no machine
    /// may write records of a higher level.
    ///
    /// # Errors
    /// If the database cannot be reached.
    pub fn raise_feature(&self, until: &Until) -> Result<u32> {
        let (head, machines) = (self.head(until)?, self.machines(until)?);
        let lowest = machines.iter().map(|machine| machine.report.feature).min().unwrap_or(0);
        if lowest <= head.feature {
            return Ok(head.feature);
        }
        self.transaction(until, |link| Ok(link.execute(RAISE, &[&self.store], until)?))?;
        Ok(self.head(until)?.feature)
    }

    /// Reports what a machine has applied, and that it is alive. The report need not survive the
    /// loss of the primary.
    ///
    /// # Errors
    /// - [`Error::Forgotten`] if the machine is not in the list: it must stop, and join again.
    /// - [`Error::Invalid`] if a text is too long.
    pub fn report(&self, report: &MachineReport, until: &Until) -> Result<()> {
        self.report_after(None, report, until).map(drop)
    }

    /// The same if the machine has reported this often until now.
    ///
    /// # Errors
    /// Those of [`report`](Self::report).
    pub fn report_after(
        &self,
        counter: Option<u64>,
        report: &MachineReport,
        until: &Until,
    ) -> Result<Reported> {
        let counter = counter.map(bigint).transpose()?;
        if let Some(counter) = self.write_report(REPORT, report, &[&counter], until)? {
            return Ok(Reported::Counted(counter));
        }
        let listed =
            self.machines(until)?.into_iter().find(|machine| machine.report.id == report.id);
        listed.map(|listed| Reported::Overtaken(listed.counter)).ok_or(Error::Forgotten(report.id))
    }

    /// Lists the machines of the cluster, in the order in which they joined.
    ///
    /// # Errors
    /// If the database cannot be reached.
    pub fn machines(&self, until: &Until) -> Result<Vec<Machine>> {
        let rows = self.query(LIST, &[&self.store], until)?;
        rows.iter().map(Machine::from_row).collect()
    }

    /// Takes a machine from the list, if it is there. Its next report fails.
    ///
    /// # Errors
    /// If the database cannot be reached.
    pub fn forget(&self, id: MachineId, until: &Until) -> Result<()> {
        self.repeat_execute(FORGET, &[&self.store, &id], until).map(drop)
    }

    /// How often the machine has reported then; `None` if nothing was written. The statement has these
    /// last parameters.
    fn write_report(
        &self,
        sql: &str,
        report: &MachineReport,
        last: &[&dyn Parameter],
        until: &Until,
    ) -> Result<Option<u64>> {
        for (what, text) in [("name", &report.name), ("release", &report.release)] {
            if text.len() > MACHINE_TEXT_BYTES_MAX || text.contains('\0') {
                return Err(Error::Invalid(format!(
                    "the {what} of a machine has at most {MACHINE_TEXT_BYTES_MAX} bytes, none of \
                     them NUL, not {}",
                    text.len()
                )));
            }
        }
        let feature = i32::try_from(report.feature).map_err(|_| {
            Error::Invalid(format!("feature level {} is 2^31 or more", report.feature))
        })?;
        let incarnation = bigint(self.incarnation)?;
        let (seq, purged) = (bigint(report.seq)?, bigint(report.purged)?);
        let (base, removed) = (bigint(report.base)?, bigint(report.removed)?);
        let fault = report.fault.as_deref().map(shortened);
        let flows = report.flows.as_ref().map(<[u8; 32]>::as_slice);
        let values: [&dyn Parameter; 12] = [
            &self.store,
            &report.id,
            &report.name,
            &report.release,
            &feature,
            &incarnation,
            &seq,
            &purged,
            &base,
            &removed,
            &flows,
            &fault,
        ];
        let rows = self.repeat_query(sql, &[&values, last].concat(), until)?;
        rows.first().map(|row| number(row, 0)).transpose()
    }
}

impl Machine {
    /// Reads the columns of [`LIST`].
    fn from_row(row: &Row) -> Result<Self> {
        let flows = column::<Option<Vec<u8>>>(row, 12)?;
        Ok(Self {
            report: MachineReport {
                id: column(row, 0)?,
                name: column(row, 1)?,
                release: column(row, 2)?,
                feature: feature(row, 3)?,
                seq: number(row, 4)?,
                purged: number(row, 5)?,
                base: number(row, 8)?,
                removed: number(row, 9)?,
                flows: flows.and_then(|flow| flow.try_into().ok()),
                fault: column(row, 13)?,
            },
            incarnation: number(row, 6)?,
            counter: number(row, 7)?,
            silent: millis(row, 10)?,
            joined: millis(row, 11)?,
        })
    }
}

/// As much of a fault as a row has, without what a text of PostgreSQL cannot have.
fn shortened(fault: &str) -> String {
    let mut end = fault.len().min(FAULT_BYTES_MAX);
    while !fault.is_char_boundary(end) {
        end -= 1;
    }
    fault[..end].replace('\0', "")
}
