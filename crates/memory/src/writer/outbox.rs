//! The outbox: notes about changes that are still to be published.
//!
//! A change may come with a note, which is opaque here. The note is a separate record after the
//! change, in the same batch: both are on disk, or neither is. The publisher reads
//! [the notes](crate::Store::notices), publishes them, and reports [how far it
//! got](crate::Store::mark_published), which is written to the log at intervals
//! ([`Store::maintain`](crate::Store::maintain)). After a crash some notes may be published again,
//! but none is lost; a note keeps its sequence, so a duplicate can be recognised.
//!
//! A compaction keeps every unpublished note.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::sync::OnceLock;

use parking_lot::Mutex;
use waypost_log::Keep;

use crate::body::BodyText;
use crate::codec::Reader;
use crate::record::{NOTICE_KIND, Record};
use crate::records::Records;
use crate::state::{State, damaged, keys};
use crate::{MemoryId, Result};

/// The position is recorded after this many records at the latest: opening reads the rest.
const UNSAVED_RECORDS_MAX: u64 = 50_000;

/// A note about a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Its position in the order of all changes; never reused.
    pub sequence: u64,
    /// The note as submitted.
    pub note: Vec<u8>,
    /// The memory that was added with it; `None` for a note about something else.
    pub added: Option<Summary>,
}

/// A short description of a memory, as it was added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Its id.
    pub id: MemoryId,
    /// Its kind; empty if it was purged meanwhile.
    pub kind: String,
    /// Its title; empty if it was purged meanwhile.
    pub title: String,
    /// Its space.
    pub space: String,
}

impl Summary {
    pub(crate) fn new(id: MemoryId, space: &str, text: Option<&BodyText>) -> Self {
        let (kind, title) =
            text.map(|text| (text.kind.clone(), text.title.clone())).unwrap_or_default();
        Self { id, kind, title, space: space.to_owned() }
    }
}

/// Notes that have not been published.
#[derive(Default)]
pub(crate) struct Outbox {
    waiting: Mutex<Waiting>,
    listener: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Debug, Default)]
struct Waiting {
    notices: VecDeque<Notice>,
    /// Everything up to here has been published.
    told: u64,
    saved: Saved,
}

impl Waiting {
    fn tell(&mut self, through: u64) {
        self.told = self.told.max(through);
        while self.notices.front().is_some_and(|front| front.sequence <= through) {
            self.notices.pop_front();
        }
    }
}

/// How far notes have been published, according to the log.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Saved {
    through: u64,
    /// The record that says so.
    record: u64,
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbox").field("waiting", &self.waiting).finish_non_exhaustive()
    }
}

impl Saved {
    pub(crate) fn read(state: &State) -> Result<Self> {
        let Some(bytes) = state.get(keys::TOLD)? else { return Ok(Self::default()) };
        let mut input = Reader::new(&bytes);
        let mut number = || input.u64().map_err(damaged);
        Ok(Self { through: number()?, record: number()? })
    }

    /// Whether a compaction keeps a note, or a record of how far notes have been published.
    pub(crate) fn keeps(self, entry: &waypost_log::Entry) -> Keep {
        let is_kept = if entry.kind == NOTICE_KIND {
            entry.sequence > self.through
        } else {
            entry.sequence >= self.record
        };
        if is_kept { Keep::Yes } else { Keep::No }
    }
}

impl Outbox {
    /// Removes what waiting notes say of memories whose texts were removed.
    pub(crate) fn forget(&self, ids: &HashSet<MemoryId>) {
        let mut waiting = self.waiting.lock();
        let added = waiting.notices.iter_mut().filter_map(|notice| notice.added.as_mut());
        for summary in added.filter(|added| ids.contains(&added.id)) {
            (summary.kind, summary.title) = Default::default();
        }
    }

    /// Reads the unpublished notes when the store is opened.
    pub(crate) fn load(records: &Records) -> Result<Self> {
        let outbox = Self::default();
        outbox.catch_up(records)?;
        Ok(outbox)
    }

    /// Reads the notes that the outbox lacks from the journal. Nothing may be written meanwhile.
    pub(crate) fn catch_up(&self, records: &Records) -> Result<()> {
        let saved = Saved::read(&records.state)?;
        let after = {
            let mut waiting = self.waiting.lock();
            waiting.saved = saved;
            waiting.tell(saved.through);
            waiting.notices.back().map_or(waiting.told, |back| back.sequence)
        };
        let mut notices = Vec::new();
        records.journal.feed(after, &mut |entry| {
            if entry.kind != NOTICE_KIND {
                return Ok(());
            }
            let Record::Notice { id, note } = Record::of(entry)? else { return Ok(()) };
            let added = match id {
                None => None,
                // A salvage may have lost the memory; then there is nothing to publish.
                Some(id) => match records.body(id, 1)? {
                    Some(body) => Some(Summary::new(id, &body.space, body.text.as_ref())),
                    None => return Ok(()),
                },
            };
            notices.push(Notice { sequence: entry.sequence, note, added });
            Ok(())
        })?;
        self.noted(notices);
        Ok(())
    }

    pub(crate) fn saved(&self) -> Saved {
        self.waiting.lock().saved
    }

    /// Adds notes that are on disk, in order.
    pub(crate) fn noted(&self, notices: Vec<Notice>) {
        if notices.is_empty() {
            return;
        }
        self.waiting.lock().notices.extend(notices);
        if let Some(listener) = self.listener.get() {
            listener();
        }
    }

    /// The oldest unpublished notes, at most `limit`, in order.
    pub(crate) fn notices(&self, limit: usize) -> Vec<Notice> {
        self.waiting.lock().notices.iter().take(limit).cloned().collect()
    }

    /// Marks the notes up to this sequence as published.
    pub(crate) fn mark_published(&self, through: u64) {
        self.waiting.lock().tell(through);
    }

    /// Sets the `listener` that is called whenever there are new notes. The writing thread calls
    /// it, so it must be fast. Only the first listener is used.
    pub(crate) fn when_noted(&self, listener: Box<dyn Fn() + Send + Sync>) {
        // A second one is ignored.
        drop(self.listener.set(listener));
    }

    /// How far notes have been published, if the log does not contain it yet. `last` is the last
    /// record of the log; the outbox must contain the notes of all records up to it.
    pub(crate) fn unsaved(&self, last: u64) -> Option<u64> {
        let waiting = self.waiting.lock();
        // All notes are published: records after the last note have none.
        let is_behind = last.saturating_sub(waiting.saved.through) > UNSAVED_RECORDS_MAX;
        let all = waiting.notices.is_empty() && is_behind;
        let through = if all { last } else { waiting.told };
        (through > waiting.saved.through).then_some(through)
    }

    /// Stores that the log contains how far notes have been published, by this replica or another.
    pub(crate) fn note_saved(&self, through: u64, record: u64) {
        let mut waiting = self.waiting.lock();
        waiting.saved = Saved { through, record };
        waiting.tell(through);
    }
}
