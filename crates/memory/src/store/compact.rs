//! Compaction: rewrites the log without records and texts that are no longer needed.

use std::collections::HashSet;

use waypost_log::Keep;
use waypost_projection::files::{dir_bytes, remove_dir};

use crate::body::Body;
use crate::codec::Reader;
use crate::record::Record;
use crate::state::damaged;
use crate::state::keys::{self, StoredVersion};
use crate::state::txn::Txn;
use crate::store::Store;
use crate::writer::command::{Command, Outcome};
use crate::writer::outbox::Saved;
use crate::{CompactResult, Compaction, Error, MemoryId, Result};

/// Maximum number of memories in one record that drops texts.
const DROPPED_AT_ONCE: usize = 10_000;

/// The texts that the state no longer has: the memories and versions.
type Gone = HashSet<(MemoryId, u32)>;

impl Store {
    /// Rewrites the log without records that are no longer needed.
    ///
    /// Keeps every existing memory with all of its versions, every deletion and every existing
    /// link. Drops forgotten request keys, removed links and the texts that `what` selects; ids, spaces and times of their
    /// versions stay, so that no id is reused.
    ///
    /// With a [shared journal](waypost_log::SharedJournal), the selected texts become unreadable on every
    /// replica when it applies the records that say so. They leave the files of a replica when that
    /// compacts its own log, with any `what`: see [`Store::destroyed_through`].
    pub fn compact(&self, what: Compaction) -> Result<CompactResult> {
        let purged_versions = self.drop_texts(what)?;
        let mut writer = self.writer.lock();
        self.writer.bring_to_disk(&mut writer)?;
        // Only the state knows what became of the commands.
        let gone = self.gone_texts()?;
        let through = self.records.state.applied()?;
        let told = self.writer.outbox.saved();
        let mut failed = None;
        let compacted = self.records.journal.trim(&mut |entry| {
            self.keep(entry, &gone, told).unwrap_or_else(|error| {
                failed.get_or_insert(error);
                Keep::Yes
            })
        })?;
        if dir_bytes(&self.folders.state) > self.options.state_rewrite_bytes_min {
            self.records.state.rewrite()?;
        }
        drop(writer);
        if let Some(error) = failed {
            return Err(error);
        }
        let is_behind = self.destroyed_through()? < through;
        if is_behind || self.embedding.model().is_some() {
            self.compact_vectors()?;
        }
        if is_behind {
            self.searcher.forget();
            self.write_snapshot()?;
            remove_dir(&self.folders.state_aside())?;
            let through = (keys::DESTROYED.to_vec(), Some(through.to_le_bytes().to_vec()));
            let _no_writer = self.writer.lock();
            self.records.state.write(&[through])?;
        }
        Ok(CompactResult {
            bytes_before: compacted.bytes_before,
            bytes_after: compacted.bytes_after,
            purged_versions,
        })
    }

    /// The position up to which every removal of texts has reached the files of this machine. It is
    /// below [`Store::position`] after a compaction on another replica has removed texts, until
    /// [`Store::compact`] destroys them here, too.
    pub fn destroyed_through(&self) -> Result<u64> {
        // First the position: a removal that is applied meanwhile is not part of it.
        let applied = self.records.state.applied()?;
        let (dropped, destroyed) = (self.number(keys::DROPPED)?, self.number(keys::DESTROYED)?);
        Ok(if dropped > destroyed { destroyed } else { applied })
    }

    /// The position of the last record that has removed texts, 0 for none: a copy of the files that is older has the
    /// texts.
    pub fn removed_through(&self) -> Result<u64> {
        self.number(keys::DROPPED)
    }

    fn number(&self, key: &[u8]) -> Result<u64> {
        let found = self.records.state.get(key)?;
        found.map_or(Ok(0), |found| Reader::new(&found).u64().map_err(damaged))
    }

    /// Writes records of the texts to drop, and returns how many there are.
    fn drop_texts(&self, what: Compaction) -> Result<u64> {
        let (mut purged, mut below) = (Vec::new(), Vec::new());
        let mut count = 0;
        self.records.state.heads(&mut |id, head| {
            let is_there = head.deleted_at.is_none();
            let first_kept = match (is_there, what.versions) {
                (true, Some(kept)) => (head.version + 1).saturating_sub(kept.get()),
                (false, _) if what.purge => u32::MAX,
                _ => return Ok(()),
            };
            // Most memories were never changed.
            if is_there && head.version == 1 {
                return Ok(());
            }
            let stored = self.records.stored_versions(id)?;
            let has_text = |pair: &&(u32, StoredVersion)| pair.1.sequence.is_some();
            let dropped =
                stored.iter().filter(|stored| stored.0 < first_kept).filter(has_text).count();
            count += dropped as u64;
            if is_there && dropped > 0 {
                below.push((id, first_kept));
            } else if !is_there && head.duplicate != [0; 16] {
                purged.push(id);
            }
            Ok(())
        })?;
        let purges =
            purged.chunks(DROPPED_AT_ONCE).map(|chunk| Command::Purge { ids: chunk.to_vec() });
        let forgets =
            below.chunks(DROPPED_AT_ONCE).map(|chunk| Command::Forget { below: chunk.to_vec() });
        for command in purges.chain(forgets) {
            match self.writer.submit_one(command)? {
                Outcome::Purged => {}
                _ => return Err(Error::Unavailable("the purge was lost".to_owned())),
            }
        }
        Ok(count)
    }

    fn gone_texts(&self) -> Result<Gone> {
        let mut gone = Gone::new();
        self.records.state.heads(&mut |id, head| {
            // Most memories were never changed, and none of their texts can be missing.
            if head.deleted_at.is_none() && head.version == 1 {
                return Ok(());
            }
            let stored = self.records.stored_versions(id)?;
            let without = stored.iter().filter(|stored| stored.1.sequence.is_none());
            gone.extend(without.map(|version| (id, version.0)));
            Ok(())
        })?;
        Ok(gone)
    }

    fn keep(&self, entry: &waypost_log::Entry, gone: &Gone, told: Saved) -> Result<Keep> {
        let Ok(record) = Record::decode(entry.kind, entry.version, &entry.payload) else {
            return Ok(Keep::Yes);
        };
        let is_gone = |id: MemoryId, version: u32, body: &Body| {
            body.text.is_some() && gone.contains(&(id, version))
        };
        match &record {
            Record::Add { id, body, .. } if is_gone(*id, 1, body) => {
                Ok(Keep::Replace(record.purged().encode()))
            }
            Record::Update { id, version, body, .. } if is_gone(*id, *version, body) => {
                Ok(Keep::Replace(record.purged().encode()))
            }
            Record::Link { edge, .. } | Record::Unlink { edge, .. } => {
                let is_there = self.records.state.get(&keys::link(*edge))?.is_some();
                Ok(if is_there { Keep::Yes } else { Keep::No })
            }
            Record::Notice { .. } | Record::Told { .. } => Ok(told.keeps(entry)),
            Record::Key(record) => {
                let stored = Txn::new(&self.records.state).request(record.key.id)?;
                let is_known = stored.is_some_and(|stored| stored.sequence == entry.sequence);
                Ok(if is_known { Keep::Yes } else { Keep::No })
            }
            Record::ForgetKeys { .. } => {
                let last = self.records.state.get(keys::KEYS_FORGOTTEN)?;
                let last = last.map_or(Ok(0), |last| Reader::new(&last).u64().map_err(damaged))?;
                Ok(if entry.sequence >= last { Keep::Yes } else { Keep::No })
            }
            // What no rule above removes stays.
            _ => Ok(Keep::Yes),
        }
    }
}
