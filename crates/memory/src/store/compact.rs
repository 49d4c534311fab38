//! Compaction: rewrites the log without records and texts that are no longer needed.

use std::borrow::Cow;
use std::collections::HashSet;

use waypost_log::Keep;
use waypost_projection::files::{dir_bytes, remove_dir};

use crate::record::{Body, Record};
use crate::state::keys;
use crate::store::Store;
use crate::writer::command::{Command, Outcome};
use crate::writer::outbox::Saved;
use crate::{Compacted, Compaction, Error, MemoryId, Result};

/// Maximum number of memories in one record that drops texts.
const DROPPED_AT_ONCE: usize = 10_000;

/// Texts that a compaction removes from the log.
#[derive(Debug, Default)]
struct Dropped {
    /// The memories and versions, including those of earlier compactions.
    texts: HashSet<(MemoryId, u32)>,
    /// The number of texts that existed until now.
    versions: u64,
}

impl Store {
    /// Rewrites the log without records that are no longer needed.
    ///
    /// Keeps every existing memory with all of its versions, every deletion and every existing
    /// link. Drops removed links and the texts that `what` selects; ids, spaces and times of their
    /// versions stay, so that no id is reused.
    pub fn compact(&self, what: Compaction) -> Result<Compacted> {
        let dropped = self.drop_texts(what)?;
        let purged_versions = dropped.versions;
        let mut writer = self.writer.lock();
        self.writer.bring_to_disk(&mut writer)?;
        let told = self.writer.outbox.saved();
        let mut failed = None;
        let compacted = self.records.journal.trim(&mut |entry| {
            self.keep(entry, &dropped, told).unwrap_or_else(|error| {
                failed.get_or_insert(error);
                Keep::Yes
            })
        })?;
        if dir_bytes(&self.folders.state) > self.options.state_rewrite_bytes_min {
            self.records.state.rewrite()?;
        }
        drop(writer);
        if purged_versions > 0 || self.embedding.model().is_some() {
            self.compact_vectors()?;
        }
        if purged_versions > 0 {
            self.searcher.forget();
            self.write_snapshot()?;
            remove_dir(&self.folders.state_aside())?;
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(Compacted {
                bytes_before: compacted.bytes_before,
                bytes_after: compacted.bytes_after,
                purged_versions,
            }),
        }
    }

    /// Writes records of the texts to drop.
    fn drop_texts(&self, what: Compaction) -> Result<Dropped> {
        let (mut purged, mut below) = (Vec::new(), Vec::new());
        let mut dropped = Dropped::default();
        self.records.state.heads(&mut |id, head| {
            let is_there = head.deleted_at.is_none();
            let first_kept = match (is_there, what.versions) {
                (true, Some(kept)) => (head.version + 1).saturating_sub(kept.get()),
                (true, None) => 0,
                (false, _) if what.purge => u32::MAX,
                (false, _) => 0,
            };
            // Most memories were never changed, and none of their texts can be missing.
            if is_there && head.version == 1 {
                return Ok(());
            }
            let before = dropped.versions;
            for (number, stored) in self.records.stored_versions(id)? {
                if stored.sequence.is_none() || number < first_kept {
                    dropped.versions += u64::from(stored.sequence.is_some());
                    dropped.texts.insert((id, number));
                }
            }
            if is_there && dropped.versions > before {
                below.push((id, first_kept));
            } else if !is_there && what.purge && head.duplicate != [0; 16] {
                purged.push(id);
            }
            Ok(())
        })?;
        let forgotten: HashSet<MemoryId> =
            purged.iter().copied().chain(below.iter().map(|it| it.0)).collect();
        let purges = purged.chunks(DROPPED_AT_ONCE).map(|it| Command::Purge { ids: it.to_vec() });
        let forgets =
            below.chunks(DROPPED_AT_ONCE).map(|it| Command::Forget { below: it.to_vec() });
        for command in purges.chain(forgets) {
            match self.writer.submit_one(command)? {
                Outcome::Purged => {}
                _ => return Err(Error::Unavailable("the purge was lost".to_owned())),
            }
        }
        self.writer.outbox.forget(&forgotten);
        Ok(dropped)
    }

    fn keep(&self, entry: &waypost_log::Entry, dropped: &Dropped, told: Saved) -> Result<Keep> {
        let Ok(record) = Record::decode(entry.kind, entry.version, &entry.payload) else {
            return Ok(Keep::Yes);
        };
        let without_text = |id: MemoryId, version: u32, body: &Body| {
            let is_dropped = body.text.is_some() && dropped.texts.contains(&(id, version));
            is_dropped.then(|| Cow::Owned(body.purged()))
        };
        match record {
            Record::Add { id, at, body } => Ok(match without_text(id, 1, &body) {
                Some(body) => Keep::Replace(Record::Add { id, at, body }.encode()),
                None => Keep::Yes,
            }),
            Record::Update { id, version, at, restores, body } => {
                Ok(match without_text(id, version, &body) {
                    Some(body) => {
                        let record = Record::Update { id, version, at, restores, body };
                        Keep::Replace(record.encode())
                    }
                    None => Keep::Yes,
                })
            }
            Record::Link { edge, .. } | Record::Unlink { edge, .. } => {
                let is_there = self.records.state.get(&keys::link(edge))?.is_some();
                Ok(if is_there { Keep::Yes } else { Keep::No })
            }
            Record::Delete { .. }
            | Record::Purge { .. }
            | Record::Forget { .. }
            | Record::Taken { .. } => Ok(Keep::Yes),
            Record::Notice { .. } | Record::Told { .. } => Ok(told.keeps(entry)),
        }
    }
}
