//! A store as a replica: following others, positions, and the digest that replicas compare.

use std::time::Duration;

use waypost_log::Digest;

use crate::Result;
use crate::state::digest::{DIGEST_EVERY, digest};
use crate::store::Store;

impl Store {
    /// The state has a digest at every position that is a multiple of this.
    pub const DIGEST_EVERY: u64 = DIGEST_EVERY;

    /// Applies what other replicas have appended to the [shared journal](waypost_log::SharedJournal), in
    /// order, and returns the number of records. Call it at intervals and when others have written:
    /// it returns when the shared journal had nothing more. Without a shared journal, there is
    /// nothing to apply.
    ///
    /// # Errors
    /// [`Error::SharedJournal`](crate::Error::SharedJournal) if the shared journal cannot be read, if
    /// it is not the one that this store has copied, or if a newer release wrote a record. What was
    /// applied until then stays.
    pub fn follow(&self) -> Result<u64> {
        self.writer.follow()
    }

    /// Compares the records of this store with the [shared journal](waypost_log::SharedJournal), once.
    /// [`follow`](Store::follow) and writes do it, too; call it before them where other stores share
    /// the journal, which may give nothing before all of them were compared.
    ///
    /// # Errors
    /// [`Error::SharedJournal`](crate::Error::SharedJournal) if the shared journal cannot be read, or
    /// is not the one that this store has copied.
    pub fn compare(&self) -> Result<()> {
        let journal = &self.records.journal;
        journal.compare().map_err(|error| journal.error(&error))
    }

    /// The position up to which this store has the records of the journal: reads and searches find
    /// everything up to there. It never decreases, and the position of a change is at most the one
    /// that is read after the change was acknowledged.
    pub fn position(&self) -> u64 {
        self.writer.position.get()
    }

    /// Waits until the store has a position, at most `timeout`, and returns whether it has. It does
    /// not [follow](Store::follow): another thread must.
    pub fn wait_for(&self, position: u64, timeout: Duration) -> bool {
        self.writer.position.wait(position, timeout)
    }

    /// The digest of the state. Reads no memory: it takes time by the number of spaces.
    ///
    /// It covers the newest version of every existing memory with its text, the existing links, the
    /// known request keys and the next id. It does not cover the history, nor what local compactions change: two replicas
    /// with one position have one digest.
    pub fn digest(&self) -> Result<Digest> {
        let (position, counters) = self.records.state.counters()?;
        Ok(digest(position, counters.iter().map(|(key, value)| (&**key, &**value))))
    }

    /// The digest that the state had at a position, which must be a multiple of
    /// [`DIGEST_EVERY`](Self::DIGEST_EVERY). `None` if this process has not applied that record,
    /// or many others since.
    pub fn digest_at(&self, position: u64) -> Option<Digest> {
        self.writer.digests.at(position)
    }

    /// The last digest at a multiple of [`DIGEST_EVERY`](Self::DIGEST_EVERY), if this process has
    /// applied that record.
    pub fn last_digest(&self) -> Option<Digest> {
        self.writer.digests.last()
    }

    /// Sets the state aside, in the folder `state.aside`, and rebuilds it and the index from the log. Writes wait;
    /// reads may fail meanwhile.
    ///
    /// # Errors
    /// If the log cannot be read: the store then takes no writes.
    pub fn rebuild(&self) -> Result<()> {
        self.writer.rebuild()
    }
}
