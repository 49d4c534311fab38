//! Transactions with the head row locked, and what may be said of a commit.

use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use crate::connect::unsent;
use crate::error::{Error, Result};
use crate::journal::{HEAD, Head, Journal};
use crate::limits::LOCK_IDLE_MAX;
use crate::link::{Failure, Link, warned};
use crate::sql::Uuid;
use crate::until::Until;

/// From this version on, a transaction as a whole can be limited. Before it, a client that stops
/// in the middle of sending a statement keeps its locks until the network gives it up.
const TRANSACTION_TIMEOUT_FROM: u32 = 17;
const TRANSACTION_SECONDS_MAX: u32 = 30;

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
    let head = journal.sql("SELECT {head} FROM {schema}.head WHERE store = $1 FOR UPDATE");
    let head = head.replace("{head}", HEAD);
    let rows = link.query_after(&sql, &head, &[(&Uuid(journal.store.0), Type::UUID)], until);
    let rows = rows.map_err(|failure| match failure {
        Failure::Refused { code: SqlState::LOCK_NOT_AVAILABLE, .. } => {
            Error::Connection("others did not let go of the head row in time".to_owned())
        }
        failure => unsent(failure),
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
    link.take_warnings();
    let answer = link.simple("COMMIT", until);
    warned(link, answer)
}
