//! Removes snapshots, whole or unfinished.

use std::time::Duration;

use crate::deadline::Until;
use crate::error::{Error, Result};
use crate::id::SnapshotId;
use crate::journal::Journal;
use crate::schema::privileges;
use crate::snapshot::in_millis;

/// How many chunks one transaction deletes.
const PIECE: i64 = 64;

/// Deletes a snapshot, unless it is the last one from which the journal can be followed.
const REMOVE: &str = "DELETE FROM {schema}.snapshot AS it USING {schema}.head AS head \
     WHERE it.store = $1 AND it.id = $2 AND head.store = $1 \
     AND (it.finished IS NULL OR it.seq < head.base_seq OR EXISTS (\
         SELECT 1 FROM {schema}.snapshot AS other \
         WHERE other.store = $1 AND other.id <> $2 AND other.finished IS NOT NULL \
         AND other.seq >= head.base_seq AND other.incarnation >= it.incarnation))";

const FIND: &str = "SELECT 1 FROM {schema}.snapshot WHERE store = $1 AND id = $2";

const REMOVE_UNFINISHED: &str = "DELETE FROM {schema}.snapshot \
     WHERE store = $1 AND finished IS NULL \
     AND written < clock_timestamp() - $2 * interval '1 millisecond'";

/// Chunks of which the snapshot was deleted. A chunk is written together with its snapshot's row.
const REMOVE_CHUNKS: &str = "DELETE FROM {schema}.snapshot_chunk AS it USING (\
         SELECT snapshot, number FROM {schema}.snapshot_chunk AS chunk \
         WHERE store = $1 AND NOT EXISTS (SELECT 1 FROM {schema}.snapshot AS owner \
             WHERE owner.store = $1 AND owner.id = chunk.snapshot) LIMIT $2\
     ) AS orphan \
     WHERE it.store = $1 AND it.snapshot = orphan.snapshot AND it.number = orphan.number";

impl Journal {
    /// Removes a snapshot. It needs the privilege `DELETE` on the tables of snapshots.
    ///
    /// # Errors
    /// - [`Error::Invalid`] if it is the last complete one from which the journal can be followed:
    ///   no machine could join any more. Put another one first.
    /// - [`Error::NoSnapshot`] if it does not exist.
    pub fn remove_snapshot(&self, id: SnapshotId, until: &Until) -> Result<()> {
        // The lock of the head row keeps two machines from removing the last two, and a trim from
        // relying on this one.
        let mut link = self.link(until)?;
        let tables = [("snapshot", "DELETE"), ("snapshot_chunk", "DELETE")];
        privileges(&mut link, &self.settings, &tables, until)?;
        self.put_back(link);
        let (_, (removed, found)) = self.transaction(until, |link| {
            let removed = link.execute(REMOVE, &[&self.store, &id], until)?;
            Ok((removed, link.query(FIND, &[&self.store, &id], until)?))
        })?;
        if removed == 0 && found.is_empty() {
            return Err(Error::NoSnapshot(id));
        }
        if removed == 0 {
            return Err(Error::Invalid(format!(
                "the snapshot {id} is the last one from which a machine can join; put another one \
                 first"
            )));
        }
        self.remove_chunks(until)
    }

    /// Removes uploads that have written nothing for `age`, by the server's clock, and returns how
    /// many there were. Needs the privilege `DELETE` on the tables of snapshots.
    ///
    /// # Errors
    /// [`Error::Privilege`], or if the database cannot be reached.
    pub fn remove_unfinished(&self, age: Duration, until: &Until) -> Result<u64> {
        let age = in_millis(age);
        let removed = self.repeat_execute(REMOVE_UNFINISHED, &[&self.store, &age], until)?;
        self.remove_chunks(until)?;
        Ok(removed)
    }

    fn remove_chunks(&self, until: &Until) -> Result<()> {
        while self.repeat_execute(REMOVE_CHUNKS, &[&self.store, &PIECE], until)? > 0 {}
        Ok(())
    }
}
