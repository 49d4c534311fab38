//! Continues a journal after a loss that a person has accepted.

use tokio_postgres::types::Type;

use crate::connect::unsent;
use crate::error::{Error, Result};
use crate::id::MachineId;
use crate::journal::Journal;
use crate::link::warned;
use crate::position::Position;
use crate::sql::{Uuid, bigint};
use crate::until::Until;

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
        let (store, now) = (Uuid(self.store.0), bigint(self.incarnation)?);
        let (seq, by) = (bigint(end.seq)?, by.map(|it| Uuid(it.0)));
        let mut link = self.link(until)?;
        link.take_warnings();
        let changed = link.execute(
            &self.sql(BEGIN),
            &[
                (&store, Type::UUID),
                (&now, Type::INT8),
                (&seq, Type::INT8),
                (&end.hash.0.as_slice(), Type::BYTEA),
                (&by, Type::UUID),
            ],
            until,
        );
        let changed = warned(&mut link, changed).map_err(unsent)?;
        self.put_back(link);
        if changed == 0 {
            let found = self.head(until)?.position;
            return Err(Error::Invalid(format!("the journal ends at {found}, not at {end}")));
        }
        Ok(self.incarnation + 1)
    }
}
