//! Notes about changes, for whoever tells others of them.
//!
//! A change may come with a note, which is opaque here. The note is a record of its own behind the
//! change, in the same batch: both are on disk, or neither is. Whoever tells others reads what is
//! [noted](Store::notices), tells it, and says [how far it got](Store::told); that is written to the
//! log now and then ([`Store::maintain`]). After a crash some notes are there once more, none is
//! lost, and a note keeps its sequence, so that telling it again can be recognised.
//!
//! A compaction keeps every note that has not been told.

use std::collections::VecDeque;
use std::fmt;
use std::sync::OnceLock;

use parking_lot::Mutex;
use waypost_log::Keep;

use crate::codec::Reader;
use crate::record::{BodyText, NOTICE_KIND, Record};
use crate::records::Records;
use crate::state::{State, damaged, keys};
use crate::{MemoryId, Result};

/// How far is written down after so many records, told or not: opening reads the rest.
const UNSAVED_RECORDS_MAX: u64 = 50_000;

/// A note about a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Its place in the order of all changes; never given to another note.
    pub sequence: u64,
    /// The note, as it was given.
    pub note: Vec<u8>,
    /// The memory that was added with it; `None` for a note about something else.
    pub added: Option<Summary>,
}

/// A memory in a few words, as it was added.
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
        let (kind, title) = text.map(|it| (it.kind.clone(), it.title.clone())).unwrap_or_default();
        Self { id, kind, title, space: space.to_owned() }
    }
}

/// Notes that nobody has been told of.
#[derive(Default)]
pub(crate) struct Outbox {
    waiting: Mutex<Waiting>,
    listener: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Debug, Default)]
struct Waiting {
    notices: VecDeque<Notice>,
    /// Everything up to here has been told.
    told: u64,
    saved: Saved,
}

impl Waiting {
    fn tell(&mut self, through: u64) {
        self.told = self.told.max(through);
        while self.notices.front().is_some_and(|it| it.sequence <= through) {
            self.notices.pop_front();
        }
    }
}

/// What the log says about how far was told.
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

    /// Whether a compaction keeps a note, or a record of how far was told.
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
    /// The notes that wait, when the store is opened.
    pub(crate) fn load(records: &Records) -> Result<Self> {
        let outbox = Self::default();
        outbox.catch_up(records)?;
        Ok(outbox)
    }

    /// Reads notes from the journal that the outbox lacks. The caller keeps others from writing.
    pub(crate) fn catch_up(&self, records: &Records) -> Result<()> {
        let saved = Saved::read(&records.state)?;
        let after = {
            let mut waiting = self.waiting.lock();
            waiting.saved = saved;
            waiting.tell(saved.through);
            waiting.notices.back().map_or(waiting.told, |it| it.sequence)
        };
        let mut notices = Vec::new();
        records.journal.feed(after, &mut |entry| {
            if entry.kind != NOTICE_KIND {
                return Ok(());
            }
            let Record::Notice { id, note } = Record::of(entry)? else { return Ok(()) };
            let added = match id {
                None => None,
                // Of a memory that a salvaged log lost there is nothing to tell.
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

    /// Takes in notes that are on disk, in order.
    pub(crate) fn noted(&self, notices: Vec<Notice>) {
        if notices.is_empty() {
            return;
        }
        self.waiting.lock().notices.extend(notices);
        if let Some(listener) = self.listener.get() {
            listener();
        }
    }

    /// The oldest notes that have not been told, at most `limit`, in order.
    pub(crate) fn notices(&self, limit: usize) -> Vec<Notice> {
        self.waiting.lock().notices.iter().take(limit).cloned().collect()
    }

    /// Takes back that notes up to this sequence wait: they have been told.
    pub(crate) fn told(&self, through: u64) {
        self.waiting.lock().tell(through);
    }

    /// Has `listener` called whenever there are new notes. It is called by the thread that writes,
    /// and must be quick. Only the first listener counts.
    pub(crate) fn when_noted(&self, listener: Box<dyn Fn() + Send + Sync>) {
        // A second one is a mistake that changes nothing.
        drop(self.listener.set(listener));
    }

    /// How far was told, if the log does not say it yet. `last` is the log's last record, and no
    /// change may be on disk whose note does not wait yet.
    pub(crate) fn unsaved(&self, last: u64) -> Option<u64> {
        let waiting = self.waiting.lock();
        // Nothing waits: what is behind the last note has none.
        let is_behind = last.saturating_sub(waiting.saved.through) > UNSAVED_RECORDS_MAX;
        let all = waiting.notices.is_empty() && is_behind;
        let through = if all { last } else { waiting.told };
        (through > waiting.saved.through).then_some(through)
    }

    /// Takes in that the log says how far was told.
    pub(crate) fn note_saved(&self, through: u64, record: u64) {
        self.waiting.lock().saved = Saved { through, record };
    }
}
