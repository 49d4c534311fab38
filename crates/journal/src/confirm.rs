//! Reads the head row in a way that only the primary can answer.

use crate::deadline::Until;
use crate::error::{Error, Result};
use crate::journal::{HEAD, Head, Journal, MARK};
use crate::position::Position;
use crate::sql::column;

/// The column of [`MARK`] with the setting, behind those of [`HEAD`].
const SETTING: usize = 12;

impl Journal {
    /// Reads the head row, confirmed by the standbys that commits wait for: the answer includes
    /// every append that was acknowledged before the call, and a server that is no longer the
    /// primary cannot give it. A decision that was made at `ours` and writes nothing still holds if
    /// the position in the answer is `ours`.
    ///
    /// It costs a commit.
    ///
    /// # Errors
    /// - [`Error::Shorter`], [`Error::Diverged`] and [`Error::Incarnation`] if the database has
    ///   another history than the caller.
    /// - [`Error::Connection`] if the server did not confirm its answer. Try again.
    pub fn confirm(&self, ours: Position, until: &Until) -> Result<Head> {
        let head = self.committed_head(until)?;
        self.same_incarnation(&head)?;
        Self::not_behind(ours, &head)?;
        self.note_confirmed(head.position.seq);
        Ok(head)
    }

    /// The head row, read by a statement that commits as one that writes does.
    pub(crate) fn committed_head(&self, until: &Until) -> Result<Head> {
        let sql = format!("SELECT {HEAD}, {MARK} FROM {{schema}}.head WHERE store = $1");
        let rows = self.read(until, |link, _| {
            // It may wait for the standbys as long as the caller does.
            link.warned(|link| link.query(&sql, &[&self.store], until))
        });
        let rows = rows.inspect_err(|_| self.turn_away())?;
        let head = Head::from_rows(&rows, self.store)?;
        if rows.first().map(|row| column::<String>(row, SETTING)).transpose()?.as_deref()
            != Some("on")
        {
            return Err(Error::Answer("synchronous_commit could not be set".to_owned()));
        }
        self.know(&head);
        Ok(head)
    }
}
