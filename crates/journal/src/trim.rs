//! Deletes the records that a snapshot replaces.

use crate::deadline::Until;
use crate::error::{Error, Result};
use crate::id::SnapshotId;
use crate::journal::Journal;
use crate::position::Position;
use crate::schema::privileges;
use crate::sql::{bigint, column};

/// How many records one transaction deletes.
const PIECE: i64 = 5000;

/// Moves the base to the position of a complete snapshot of this incarnation, if the journal has
/// it. The head row is locked.
const MOVE: &str = "UPDATE {schema}.head AS head SET base_seq = it.seq, base_hash = it.hash \
     FROM {schema}.snapshot AS it \
     WHERE head.store = $1 AND it.store = $1 AND it.id = $2 AND it.finished IS NOT NULL \
     AND it.incarnation = head.incarnation \
     AND ((it.seq = head.base_seq AND it.hash = head.base_hash) OR (it.seq > head.base_seq \
         AND EXISTS (SELECT 1 FROM {schema}.journal AS record \
             WHERE record.store = $1 AND record.seq = it.seq AND record.hash = it.hash)))";

const FIRST: &str = "SELECT min(seq) FROM {schema}.journal WHERE store = $1";

/// Never beyond the base, whatever the caller says.
const DELETE: &str = "DELETE FROM {schema}.journal AS record USING {schema}.head AS head \
     WHERE head.store = $1 AND head.incarnation = $2 AND record.store = $1 \
     AND record.seq BETWEEN $3 AND $4 AND record.seq <= head.base_seq";

/// What a trim has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trimmed {
    /// Where the journal begins now.
    pub base: Position,
    /// How many records were deleted.
    pub removed: u64,
}

impl Journal {
    /// Deletes the records up to the position of a snapshot, after the server has verified the
    /// snapshot. A machine that has not applied them is told [`Error::Trimmed`] and joins again;
    /// one at the position, or after it, notices nothing.
    ///
    /// The base of the journal moves first, by a commit that waits for the standbys; the records
    /// follow, 5,000 in a transaction. If that is interrupted, the next trim goes on. It needs the
    /// privilege `DELETE` on the journal.
    ///
    /// # Errors
    /// - [`Error::NoSnapshot`] and [`Error::DamagedSnapshot`]: nothing was deleted.
    /// - [`Error::Invalid`] if the snapshot is of an earlier incarnation or before the base.
    /// - [`Error::Privilege`] without the privilege.
    pub fn trim(&self, snapshot: SnapshotId, until: &Until) -> Result<Trimmed> {
        let mut link = self.link(until)?;
        privileges(&mut link, &self.settings, &[("journal", "DELETE")], until)?;
        self.put_back(link);
        let verified = self.verify_snapshot(snapshot, until)?;
        if verified.incarnation != self.incarnation {
            return Err(Error::Invalid(format!(
                "the snapshot {snapshot} is of incarnation {}, and the journal is in {}",
                verified.incarnation, self.incarnation
            )));
        }
        let base = verified.position;
        self.move_base(snapshot, base, until)?;
        let removed = self.delete_to(base, until)?;
        Ok(Trimmed { base, removed })
    }

    fn move_base(&self, snapshot: SnapshotId, base: Position, until: &Until) -> Result<()> {
        let (head, moved) = self.transaction(until, |link| {
            Ok(link.execute(MOVE, &[&self.store, &snapshot], until)?)
        })?;
        if moved > 0 {
            return Ok(());
        }
        // The snapshot was removed, or the journal does not have its position.
        self.snapshot(snapshot, until)?;
        Err(Error::Invalid(format!(
            "the journal, which begins after {}, does not have the position {base} of the snapshot \
             {snapshot}",
            head.base
        )))
    }

    fn delete_to(&self, base: Position, until: &Until) -> Result<u64> {
        let rows = self.query(FIRST, &[&self.store], until)?;
        let first = rows.first().map_or(Ok(None), |row| column::<Option<i64>>(row, 0))?;
        let Some(mut first) = first else { return Ok(0) };
        let (incarnation, end) = (bigint(self.incarnation)?, bigint(base.seq)?);
        let mut removed = 0;
        while first <= end {
            let last = end.min(first.saturating_add(PIECE - 1));
            removed +=
                self.repeat_execute(DELETE, &[&self.store, &incarnation, &first, &last], until)?;
            first = last.saturating_add(1);
        }
        Ok(removed)
    }
}
