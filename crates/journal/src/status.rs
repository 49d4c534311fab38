//! What an operator should know of the database.

use crate::deadline::Until;
use crate::error::{Error, Result};
use crate::journal::{Head, Journal};
use crate::sql::column;

/// The state of the database, as far as the user may see it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The server that answered.
    pub server: String,
    /// Its version, for example `15.20`.
    pub version: String,
    /// The head row.
    pub head: Head,
    /// The setting `synchronous_standby_names`.
    pub standby_names: String,
    /// How many standbys a commit waits for, by that setting; 0 if it waits for none.
    pub standbys_required: u32,
    /// How many standbys are connected and streaming.
    pub standbys_streaming: u32,
    /// How many of these commits wait for. `None` if the user may not see that; members of the role
    /// `pg_monitor` may.
    pub standbys_synchronous: Option<u32>,
}

const STATUS: &str = "SELECT current_setting('synchronous_standby_names'), \
     current_setting('server_version'), count(pid), \
     count(*) FILTER (WHERE state = 'streaming'), \
     count(*) FILTER (WHERE sync_state IN ('sync', 'quorum') AND state = 'streaming'), \
     count(sync_state) FROM pg_stat_replication";

impl Status {
    /// Returns whether an acknowledged append survives the loss of the primary. `None` if the user
    /// may not see which standbys commits wait for.
    pub fn is_synchronous(&self) -> Option<bool> {
        match self.standbys_required {
            0 => Some(false),
            required => self.standbys_synchronous.map(|synchronous| synchronous >= required),
        }
    }
}

impl Journal {
    /// Reads the state of the database.
    ///
    /// # Errors
    /// If the database cannot be reached.
    pub fn status(&self, until: &Until) -> Result<Status> {
        let head = self.head(until)?;
        let (rows, server) = self
            .read(until, |link, until| Ok((link.query(STATUS, &[], until)?, link.host.clone())))?;
        let row = rows.first().ok_or_else(|| Error::Answer("no row of status".to_owned()))?;
        let count =
            |at| column::<i64>(row, at).map(|column| u32::try_from(column).unwrap_or(u32::MAX));
        let (connected, visible) = (count(2)?, count(5)?);
        let is_visible = visible == connected;
        let standby_names: String = column(row, 0)?;
        Ok(Status {
            server,
            version: column(row, 1)?,
            head,
            standbys_required: required(&standby_names),
            standby_names,
            standbys_streaming: if is_visible { count(3)? } else { connected },
            standbys_synchronous: is_visible.then_some(count(4)?),
        })
    }
}

/// How many standbys a commit waits for: `FIRST n (…)`, `ANY n (…)`, `n (…)`, or a list, which
/// means one.
fn required(names: &str) -> u32 {
    let names = names.trim();
    if names.is_empty() {
        return 0;
    }
    let Some((count, _)) = names.split_once('(') else { return 1 };
    let count = count.trim().to_ascii_lowercase();
    let count = count.strip_prefix("first").or(count.strip_prefix("any")).unwrap_or(&count);
    count.trim().parse().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::required;

    #[test]
    fn the_setting_says_how_many_standbys_a_commit_waits_for() {
        let check = |names, expected| assert_eq!(required(names), expected, "{names}");
        check("", 0);
        check("*", 1);
        check("a, b", 1);
        check("2 (a, b, c)", 2);
        check("FIRST 2 (a, b, c)", 2);
        check("ANY 1 (\"a b\", c)", 1);
        check("any 3(*)", 3);
    }
}
