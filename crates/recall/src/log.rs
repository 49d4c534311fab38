//! The durable log of what sessions got.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use waypost_log::{Keep, Log, OnDamage, Snapshot};
use waypost_time::Timestamp;

use crate::limits::ENTRIES_MAX;
use crate::record::{Record, can_read};
use crate::{Entry, NewEntry, Result, Session, SessionKey};

/// The size of the log's files: retention drops whole files.
const SEGMENT_BYTES: u64 = 1 << 20;
/// Entries that are too old and in a file with newer ones are removed from the disk this much later,
/// so that a file is not written again for each of them.
const COMPACT_AFTER: Duration = Duration::from_secs(24 * 3600);

/// Options of [`RecallLog::open`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LogOptions {
    /// Older entries are dropped; default: 30 days. Zero keeps all.
    pub retention: Duration,
    /// The maximum number of entries; default: [`ENTRIES_MAX`].
    pub entries_max: usize,
    /// Appends fail if less than this would stay free on the disk; default: 64 MiB.
    pub free_bytes_min: u64,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            retention: Duration::from_secs(30 * 24 * 3600),
            entries_max: ENTRIES_MAX,
            free_bytes_min: 64 << 20,
        }
    }
}

impl LogOptions {
    /// Sets the age above which entries are dropped; zero keeps all.
    #[must_use]
    pub fn with_retention(self, retention: Duration) -> Self {
        Self { retention, ..self }
    }

    /// Sets the maximum number of entries.
    #[must_use]
    pub fn with_entries_max(self, entries_max: usize) -> Self {
        Self { entries_max, ..self }
    }

    /// Sets how many bytes of the disk appends leave free.
    #[must_use]
    pub fn with_free_bytes_min(self, free_bytes_min: u64) -> Self {
        Self { free_bytes_min, ..self }
    }
}

/// What opening found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opened {
    /// Entries within the retention.
    pub entries: u64,
    /// What was damaged; the log keeps every other record.
    pub damage: Option<String>,
    /// Records whose bytes are intact and that this release cannot read.
    pub unreadable: u64,
}

/// Which entries to list.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Query {
    /// Only entries of this session.
    pub session: Option<String>,
    /// Only entries that name this memory.
    pub memory: Option<u64>,
    /// Only entries of sessions that are bound to this space.
    pub space: Option<String>,
    /// Only entries before this one.
    pub before: Option<u64>,
    /// The maximum number.
    pub limit: usize,
}

impl Query {
    /// All entries, up to a number of them.
    pub fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Only entries of this session.
    #[must_use]
    pub fn with_session(self, session: impl Into<Option<String>>) -> Self {
        Self { session: session.into(), ..self }
    }

    /// Only entries that injected or withheld this memory.
    #[must_use]
    pub fn with_memory(self, memory: impl Into<Option<u64>>) -> Self {
        Self { memory: memory.into(), ..self }
    }

    /// Only entries of sessions that are bound to this space.
    #[must_use]
    pub fn with_space(self, space: impl Into<Option<String>>) -> Self {
        Self { space: space.into(), ..self }
    }

    /// Only entries before this one.
    #[must_use]
    pub fn with_before(self, before: impl Into<Option<u64>>) -> Self {
        Self { before: before.into(), ..self }
    }

    fn selects(&self, entry: &Entry) -> bool {
        self.session.as_ref().is_none_or(|it| **it == *entry.key.session)
            && self.memory.is_none_or(|it| entry.names(it))
            && self.space.as_ref().is_none_or(|it| entry.key.space.as_deref() == Some(it))
    }
}

/// What follows from the records.
#[derive(Debug, Default)]
struct State {
    entries: VecDeque<Entry>,
    sessions: BTreeMap<SessionKey, Session>,
}

impl State {
    /// The only place that changes what the log knows, so that opening it gives the same again.
    fn apply(&mut self, id: u64, record: Record) {
        match record {
            Record::Entry(new, at) => {
                let session = self.seen(&new.key, &new.harness, at);
                if new.is_fresh {
                    session.injected.clear();
                    session.is_compacted = false;
                }
                session.injected.extend(new.used.iter().map(|it| it.id));
                session.entries += 1;
                self.entries.push_back(entry(id, at, new));
            }
            Record::Recorded { key, harness, at, offset } => {
                self.seen(&key, &harness, at).offset = offset;
            }
            Record::Compacted { key, harness, at } => {
                let session = self.seen(&key, &harness, at);
                session.compacted_at = Some(at);
                session.is_compacted = true;
            }
        }
    }

    fn seen(&mut self, key: &SessionKey, harness: &Arc<str>, at: Timestamp) -> &mut Session {
        let session = self.sessions.entry(key.clone()).or_default();
        session.harness = Arc::clone(harness);
        session.at = session.at.max(at);
        session
    }

    /// Forgets what is older than `oldest`, and the oldest of too many; returns how many entries
    /// that were.
    fn forget(&mut self, oldest: Option<Timestamp>, entries_max: usize) -> u64 {
        let mut dropped = 0;
        // The clock may have gone back: entries are in the order of their ids.
        while self.entries.len() > entries_max
            || self.entries.front().is_some_and(|it| oldest.is_some_and(|oldest| it.at < oldest))
        {
            if let Some(entry) = self.entries.pop_front() {
                if let Some(session) = self.sessions.get_mut(&entry.key) {
                    session.entries = session.entries.saturating_sub(1);
                }
                dropped += 1;
            }
        }
        if let Some(oldest) = oldest {
            self.sessions.retain(|_, it| it.at >= oldest);
        }
        dropped
    }
}

fn entry(id: u64, at: Timestamp, new: NewEntry) -> Entry {
    let NewEntry { key, harness, moment, is_fresh, answerable, threshold, used, withheld, silence } =
        new;
    Entry { id, at, key, harness, moment, is_fresh, answerable, threshold, used, withheld, silence }
}

/// The log of what sessions got, in a folder of its own. Each append is on disk when it returns.
///
/// Only one process at a time may have the folder open; the caller must hold a lock.
#[derive(Debug)]
pub struct RecallLog {
    log: Log,
    options: LogOptions,
    /// Held from an append to the change of the state, so that both have the same order.
    writing: Mutex<()>,
    state: RwLock<State>,
}

impl RecallLog {
    /// Opens the log in `dir`, and creates it if it does not exist. Damaged records are set aside:
    /// losing an entry must not keep a service from starting.
    ///
    /// # Errors
    /// If a newer release wrote it, or the file system fails.
    pub fn open(dir: &Path, options: &LogOptions, now: Timestamp) -> Result<(Self, Opened)> {
        let on_disk = waypost_log::Options::default()
            .with_segment_bytes(SEGMENT_BYTES)
            .with_preallocate_bytes(64 << 10)
            .with_free_bytes_min(options.free_bytes_min)
            .with_can_read(can_read);
        let mut opened = Opened::default();
        let log = match Log::open(dir, &on_disk) {
            Err(error) if error.kind() == waypost_log::ErrorKind::Damaged => {
                opened.damage = Some(error.to_string());
                Log::open(dir, &on_disk.with_on_damage(OnDamage::Salvage))?.0
            }
            other => other?.0,
        };
        let mut state = State::default();
        let mut records = log.entries_after(0);
        while let Some(record) = records.next_ref() {
            let record = record?;
            match Record::decode(record.kind, record.version, record.payload) {
                Ok(it) => state.apply(record.sequence, it),
                Err(_) => opened.unreadable += 1,
            }
        }
        state.forget(oldest(options.retention, now), options.entries_max);
        opened.entries = state.entries.len() as u64;
        let (writing, state) = (Mutex::new(()), RwLock::new(state));
        Ok((Self { log, options: options.clone(), writing, state }, opened))
    }

    /// Appends an entry, and returns its id.
    ///
    /// # Errors
    /// [`Error::TooLong`](crate::Error::TooLong), or if it cannot be written.
    pub fn append(&self, entry: NewEntry, now: Timestamp) -> Result<u64> {
        self.write(Record::Entry(entry, now))
    }

    /// Records that a session's turns are stored, up to that offset of its transcript.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn recorded(
        &self,
        key: SessionKey,
        harness: &str,
        offset: u64,
        now: Timestamp,
    ) -> Result<()> {
        self.write(Record::Recorded { key, harness: harness.into(), at: now, offset }).map(drop)
    }

    /// Records that a session's conversation is being compacted: what it has of memory is lost.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn compacted(&self, key: SessionKey, harness: &str, now: Timestamp) -> Result<()> {
        self.write(Record::Compacted { key, harness: harness.into(), at: now }).map(drop)
    }

    fn write(&self, record: Record) -> Result<u64> {
        let payload = record.encode()?;
        let (kind, version) = record.tag();
        let _writing = self.writing.lock();
        let id = self.log.append(waypost_log::Record { kind, version, payload: &payload })?;
        self.state.write().apply(id, record);
        Ok(id)
    }

    /// Entries, the newest first.
    pub fn list(&self, query: &Query) -> Vec<Entry> {
        let state = self.state.read();
        let end = match query.before {
            Some(before) => state.entries.partition_point(|it| it.id < before),
            None => state.entries.len(),
        };
        let newest_first = state.entries.range(..end).rev();
        newest_first.filter(|it| query.selects(it)).take(query.limit).cloned().collect()
    }

    /// What the log knows about a session; `None` if it knows nothing.
    pub fn session(&self, key: &SessionKey) -> Option<Session> {
        self.state.read().sessions.get(key).cloned()
    }

    /// The sessions with that name, by space; first the one of all spaces.
    pub fn sessions(&self, name: &str) -> Vec<(SessionKey, Session)> {
        let state = self.state.read();
        let from_first = state.sessions.range(SessionKey::new(name, None)..);
        let named = from_first.take_while(|(key, _)| *key.session == *name);
        named.map(|(key, session)| (key.clone(), session.clone())).collect()
    }

    /// Drops what is older than the retention, and the oldest of too many entries. Returns how many
    /// entries were dropped. Files are removed as soon as all of their entries are too old, and
    /// single entries within a day.
    ///
    /// # Errors
    /// If a file cannot be removed or written again.
    pub fn retain(&self, now: Timestamp) -> Result<u64> {
        let _writing = self.writing.lock();
        let oldest = oldest(self.options.retention, now);
        let (dropped, overfull) = {
            let mut state = self.state.write();
            let dropped = state.forget(oldest, self.options.entries_max);
            let is_full = state.entries.len() >= self.options.entries_max;
            (dropped, state.entries.front().filter(|_| is_full).map(|it| it.id))
        };
        let aged = match oldest {
            Some(oldest) => self.first_since(oldest)?,
            None => 0,
        };
        let covered = self.log.truncate_before(aged.max(overfull.unwrap_or(0)))?;
        let Some(oldest) = oldest else { return Ok(dropped) };
        let first = self.log.entries_after(covered.saturating_sub(1)).next().transpose()?;
        let first = first.and_then(|it| time_of(it.kind, it.version, &it.payload));
        if first.is_some_and(|it| it < oldest.saturating_sub(COMPACT_AFTER)) {
            self.log.compact(&mut |it| match time_of(it.kind, it.version, &it.payload) {
                Some(at) if at < oldest => Keep::No,
                _ => Keep::Yes,
            })?;
        }
        Ok(dropped)
    }

    /// The first record that is not older; after the last if all are.
    fn first_since(&self, oldest: Timestamp) -> Result<u64> {
        let mut records = self.log.entries_after(0);
        while let Some(record) = records.next_ref() {
            let record = record?;
            let at = time_of(record.kind, record.version, record.payload);
            if at.is_some_and(|it| it >= oldest) {
                return Ok(record.sequence);
            }
        }
        Ok(self.log.last_sequence() + 1)
    }

    /// The log's files as of now, for a backup. Each session's offset in it is one up to which turns
    /// were stored before: a copy of the memories that is made later has them.
    ///
    /// # Errors
    /// If a file is damaged or cannot be read.
    pub fn snapshot(&self) -> Result<Snapshot> {
        Ok(self.log.snapshot()?)
    }

    /// Bytes on disk.
    pub fn bytes(&self) -> u64 {
        self.log.bytes()
    }
}

fn oldest(retention: Duration, now: Timestamp) -> Option<Timestamp> {
    (!retention.is_zero()).then(|| now.saturating_sub(retention))
}

fn time_of(kind: u8, version: u8, payload: &[u8]) -> Option<Timestamp> {
    Some(match Record::decode(kind, version, payload).ok()? {
        Record::Entry(_, at) | Record::Recorded { at, .. } | Record::Compacted { at, .. } => at,
    })
}
