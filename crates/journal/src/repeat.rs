//! Statements that may be carried out twice, because the second time changes nothing.

use std::time::Duration;

use tokio_postgres::Row;

use crate::deadline::Until;
use crate::error::{Error, ErrorKind, Result};
use crate::journal::Journal;
use crate::link::{Failure, Link};
use crate::sql::Parameter;

/// The pauses between two attempts double from the first to the last.
const PAUSE_FIRST: Duration = Duration::from_millis(10);
const PAUSE_LAST: Duration = Duration::from_secs(1);

impl Journal {
    /// Runs a statement that may be repeated, and returns its rows.
    pub(crate) fn repeat_query(
        &self,
        sql: &str,
        parameters: &[&dyn Parameter],
        until: &Until,
    ) -> Result<Vec<Row>> {
        self.repeat(until, |link| link.query(sql, parameters, until))
    }

    /// Runs a statement that may be repeated, and returns how many rows it has written.
    pub(crate) fn repeat_execute(
        &self,
        sql: &str,
        parameters: &[&dyn Parameter],
        until: &Until,
    ) -> Result<u64> {
        self.repeat(until, |link| link.execute(sql, parameters, until))
    }

    /// Runs what may be repeated, until the server has answered it without a doubt, on
    /// another connection and perhaps another server each time, or the deadline passes.
    fn repeat<T>(
        &self,
        until: &Until,
        mut work: impl FnMut(&mut Link) -> Result<T, Failure>,
    ) -> Result<T> {
        let mut pause = PAUSE_FIRST;
        loop {
            let failed = match self.link(until) {
                Ok(mut link) => match link.warned(&mut work) {
                    Ok(value) => {
                        self.put_back(link);
                        return Ok(value);
                    }
                    Err(failure @ Failure::Refused { .. }) => {
                        self.put_back(link);
                        return Err(failure.into());
                    }
                    Err(failure) => failure.into(),
                },
                // A standby may be about to be promoted.
                Err(error @ Error::Standby(_)) => error,
                Err(error) if error.kind() == ErrorKind::Retry => error,
                Err(error) => return Err(error),
            };
            if until.is_over() {
                return Err(failed);
            }
            self.turn_away();
            until.pause(pause);
            pause = PAUSE_LAST.min(2 * pause);
        }
    }
}
