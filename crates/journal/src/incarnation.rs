//! Continues a journal after a loss that a person has accepted.

use crate::deadline::Until;
use crate::error::{Error, Result};
use crate::id::MachineId;
use crate::journal::Journal;
use crate::position::Position;
use crate::sql::bigint;

const BEGIN: &str = "UPDATE {schema}.head SET incarnation = incarnation + 1, probe = probe + 1, \
     lease_epoch = lease_epoch + 1, lease_counter = lease_counter + 1, lease_holder = $5 \
     WHERE store = $1 AND incarnation = $2 AND seq = $3 AND hash = $4 \
     AND set_config('synchronous_commit', 'on', true) = 'on'";

impl Journal {
    /// Accepts the journal as the database has it, which ends at `end`, and begins its next
    /// incarnation. All journals that are open, this one included, are refused from then on; open it
    /// again. The lease is taken away, and the head row names `by` as its holder until a machine
    /// contends for it: so a caller that was interrupted finds out whether the incarnation is its own.
    ///
    /// # Errors
    /// - [`Error::Invalid`] if the journal does not end there.
    /// - [`Error::Incarnation`] if another process was first.
    /// - [`Error::Connection`] if the answer was lost: open the journal, and look at its incarnation.
    pub fn begin_incarnation(
        &self,
        end: Position,
        by: Option<MachineId>,
        until: &Until,
    ) -> Result<u64> {
        let (now, seq) = (bigint(self.incarnation)?, bigint(end.seq)?);
        let hash = end.hash.0.as_slice();
        let mut link = self.link(until)?;
        let changed =
            link.warned(|link| link.execute(BEGIN, &[&self.store, &now, &seq, &hash, &by], until))?;
        self.put_back(link);
        if changed == 0 {
            let found = self.head(until)?.position;
            return Err(Error::Invalid(format!("the journal ends at {found}, not at {end}")));
        }
        Ok(self.incarnation + 1)
    }
}
