//! The bus as a replica: applying what others have published, positions, and the digest that
//! replicas compare.

use std::sync::atomic::Ordering;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use waypost_log::{Digest, Entry, Refused, SharedError, Upstream};

use crate::bus::{Bus, Writer, malformed};
use crate::codec::{Malformed, Stored};
use crate::keys::Keyed;
use crate::{Data, Error, Event, Result};

impl Bus {
    /// Compares the events of this bus with the [shared journal](waypost_log::SharedJournal), once.
    /// [`follow`](Self::follow) and publishing do it, too; call it before them where other stores
    /// share the journal, which may give nothing before all of them were compared.
    ///
    /// # Errors
    /// [`Error::SharedJournal`] if the shared journal cannot be read, or is not the one that this bus
    /// has copied.
    pub fn compare(&self) -> Result<()> {
        let Some(upstream) = &self.upstream else { return Ok(()) };
        upstream.compare(&self.log).map_err(|error| self.refused(&error))
    }

    /// Applies what other replicas have published to the [shared
    /// journal](waypost_log::SharedJournal), in order, shows it to readers, and returns the number of
    /// events. Call it at intervals and when others have written: it returns when the shared journal
    /// had nothing more. Without a shared journal, there is nothing to apply.
    ///
    /// # Errors
    /// [`Error::SharedJournal`] if the shared journal cannot be read, if it is not the one that this
    /// bus has copied, or if it has an event that this release cannot read. [`Error::Full`]. What was
    /// applied until then stays, and the next call continues there.
    pub fn follow(&self) -> Result<u64> {
        let Some(upstream) = &self.upstream else { return Ok(0) };
        let mut count = 0;
        loop {
            // Without the writer's lock: nobody waits for the shared journal because of this. The
            // writer may have more than it shows.
            let after = self.log.last_sequence();
            let page = upstream.page(&self.log, after).map_err(|error| self.refused(&error))?;
            if page.is_empty() {
                return Ok(count);
            }
            let mut writer = self.writer.lock();
            let taken = self.take_page(upstream, &page, &mut writer);
            self.show(writer);
            if self.to_settle.load(Ordering::Acquire) {
                self.settle();
            }
            count += taken?;
        }
    }

    /// The same for the thread that has the writer's lock; it shows the events afterwards.
    pub(crate) fn catch_up(&self, upstream: &Upstream, writer: &mut Writer) -> Result<u64> {
        let mut count = 0;
        loop {
            let page =
                upstream.page(&self.log, writer.applied).map_err(|error| self.refused(&error))?;
            if page.is_empty() {
                return Ok(count);
            }
            count += self.take_page(upstream, &page, writer)?;
        }
    }

    /// Applies those events of a page that are new: to the log, then to the index and the keys.
    fn take_page(&self, upstream: &Upstream, page: &[Entry], writer: &mut Writer) -> Result<u64> {
        let after = self.log.last_sequence();
        let events =
            upstream.take(&self.log, page, read_whole).map_err(|error| self.refused(&error))?;
        self.apply(after + 1, events.iter().map(|(it, keyed)| (it, *keyed)), writer);
        Ok(events.len() as u64)
    }

    pub(crate) fn refused(&self, refused: &Refused) -> Error {
        match refused {
            Refused::Moved => Error::SharedJournal(SharedError::Moved),
            Refused::Shared(why) => Error::SharedJournal(why.clone()),
            Refused::Failed(error) | Refused::Behind(error) => self.log_error(error),
        }
    }

    /// The position up to which this bus has the events of the shared journal, which is
    /// [`last`](Self::last): reads find everything up to there. It never decreases, and the id of an
    /// event is at most the one that is read after the event was acknowledged.
    pub fn position(&self) -> u64 {
        self.last()
    }

    /// Waits until the bus has a position, at most `timeout`, and returns whether it has. It does not
    /// [follow](Self::follow): another thread must.
    pub fn wait_for(&self, position: u64, timeout: Duration) -> bool {
        position == 0 || self.wait_beyond(position - 1, timeout) >= position
    }

    /// Syncs the log and returns the last event that is on disk: what a power cut leaves. On a bus
    /// without a shared journal, every event that can be read is on disk.
    pub fn sync(&self) -> Result<u64> {
        self.log.sync().map_err(|error| self.log_error(&error))?;
        Ok(self.log.reached())
    }

    /// The digest of the retained events, of where they and the known idempotency keys begin, and of
    /// the known keys. Replicas that have applied the same events and the same [retention
    /// points](Self::apply_retention), and whose [data was replaced](Self::replace_data) alike, have
    /// the same digest. It is no running digest: it reads every retained event.
    pub fn digest(&self) -> Result<Digest> {
        let _nothing_is_dropped = self.upkeep.lock();
        let (position, keys) = {
            let writer = self.writer.lock();
            (writer.applied, writer.keys.all())
        };
        let first = self.first();
        let mut hasher = Sha256::new();
        let mut add = |number: u64| hasher.update(number.to_le_bytes());
        add(first);
        add(self.keys_from.load(Ordering::Acquire));
        add(keys.len() as u64);
        for (id, key) in keys {
            hasher.update(id.to_le_bytes());
            hasher.update(key.to_le_bytes());
        }
        let mut entries = self.log.entries_after(first - 1);
        while let Some(entry) = entries.next_ref() {
            let entry = entry.map_err(|error| self.log_error(&error))?;
            if entry.sequence > position {
                break;
            }
            hasher.update(entry.sequence.to_le_bytes());
            hasher.update([entry.kind, entry.version]);
            hasher.update((entry.payload.len() as u64).to_le_bytes());
            hasher.update(entry.payload);
        }
        Ok(Digest { position, sha256: hasher.finalize().into() })
    }
}

/// Whether two records of one number are the same event: the data of one may have been replaced.
pub fn is_same_record(one: &Entry, other: &Entry) -> bool {
    let without_data = |entry: &Entry| -> std::result::Result<_, Malformed> {
        let stored = Stored::read(entry.kind, entry.version, &entry.payload)?;
        let event = Event { data: Data::default(), ..stored.event(entry.sequence)? };
        Ok((event, stored.idempotency_key()?))
    };
    one == other || matches!((without_data(one), without_data(other)), (Ok(a), Ok(b)) if a == b)
}

/// Reads every part of an event of another replica.
fn read_whole(entry: &Entry) -> Result<(Event, Option<Keyed>)> {
    let malformed = |it| malformed(entry.sequence, it);
    let stored = Stored::read(entry.kind, entry.version, &entry.payload).map_err(malformed)?;
    let event = stored.event(entry.sequence).map_err(malformed)?;
    let key = stored.idempotency_key().map_err(malformed)?;
    let keyed = key.map(|key| Keyed::new(&key, stored.space, &event.kind, &event.data));
    Ok((event, keyed))
}
