//! A store as a replica: following others, positions, and the digest that replicas compare.

use std::time::Duration;

use sha2::{Digest as _, Sha256};
use waypost_log::Digest;

use crate::Result;
use crate::state::keys;
use crate::store::Store;

impl Store {
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
        let mut hasher = Sha256::new();
        for (key, value) in counters {
            let is_of_state = key.starts_with(keys::SPACES)
                || [keys::NEXT_ID, keys::LINKS_DIGEST, keys::REQUEST_KEYS_DIGEST].contains(&&*key);
            // Zero is the digest of nothing, with a row or without.
            if is_of_state && value.iter().any(|it| *it != 0) {
                for part in [&key, &value] {
                    hasher.update((part.len() as u64).to_le_bytes());
                    hasher.update(part);
                }
            }
        }
        Ok(Digest { position, sha256: hasher.finalize().into() })
    }
}
