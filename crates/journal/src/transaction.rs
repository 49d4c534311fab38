//! Transactions with the head row locked, and what may be said of a commit.

use tokio_postgres::error::SqlState;

use crate::deadline::Until;
use crate::error::{Error, Result};
use crate::journal::{HEAD, Head, Journal};
use crate::limits::LOCK_IDLE_MAX;
use crate::link::{Failure, Link};

/// From this version on, a transaction as a whole can be limited. Before it, a client that stops
/// in the middle of sending a statement keeps its locks until the network gives it up.
const TRANSACTION_TIMEOUT_FROM: u32 = 17;
const TRANSACTION_SECONDS_MAX: u32 = 30;

impl Journal {
    /// Runs `work` in a transaction in which the head row, of this incarnation, is locked.
    pub(crate) fn transaction<T>(
        &self,
        until: &Until,
        work: impl FnOnce(&mut Link) -> Result<T>,
    ) -> Result<(Head, T)> {
        let mut link = self.link(until)?;
        let head = begin(self, &mut link, until)?;
        self.same_incarnation(&head)?;
        let value = work(&mut link)?;
        commit(&mut link, until)?;
        self.put_back(link);
        Ok((head, value))
    }
}

/// Begins a transaction and locks the head row in it.
pub(crate) fn begin(journal: &Journal, link: &mut Link, until: &Until) -> Result<Head> {
    let mut sql = format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; \
         SET LOCAL synchronous_commit = on; \
         SET LOCAL idle_in_transaction_session_timeout = {}; \
         SET LOCAL lock_timeout = {}",
        LOCK_IDLE_MAX.as_millis(),
        lock_time(until)
    );
    if link.version >= TRANSACTION_TIMEOUT_FROM {
        sql = format!("{sql}; SET LOCAL transaction_timeout = '{TRANSACTION_SECONDS_MAX}s'");
    }
    let head = format!("SELECT {HEAD} FROM {{schema}}.head WHERE store = $1 FOR UPDATE");
    let rows = link.query_after(&sql, &head, &[&journal.store], until);
    let rows = rows.map_err(|failure| match failure {
        Failure::Refused { code: SqlState::LOCK_NOT_AVAILABLE, .. } => {
            Error::Connection("others did not let go of the head row in time".to_owned())
        }
        failure => failure.into(),
    })?;
    let head = Head::from_rows(&rows, journal.store)?;
    if !head.is_strict {
        return Err(Error::Answer("synchronous_commit could not be set".to_owned()));
    }
    journal.know(&head);
    Ok(head)
}

/// How long a statement may wait for a lock, in milliseconds: no longer than its client waits. The
/// server does not notice that a client has gone while it waits, and would keep one connection for
/// each that has given up.
pub(crate) fn lock_time(until: &Until) -> u128 {
    until.left().as_millis().max(1)
}

/// Commits. Any doubt is [`Failure::Unknown`].
pub(crate) fn commit(link: &mut Link, until: &Until) -> Result<(), Failure> {
    link.warned(|link| link.simple("COMMIT", until))
}
