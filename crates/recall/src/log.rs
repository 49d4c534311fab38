//! The durable log of what sessions got.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use waypost_log::{Damage, Keep, Log, Snapshot};
use waypost_time::{SkipDetector, Timestamp};

use crate::limits::{ENTRIES_MAX, SESSIONS_MAX};
use crate::record::{Record, can_read};
use crate::{Entry, Result, Session, SessionKey};

/// The size of the log's files: retention drops whole files.
const SEGMENT_BYTES: u64 = 1 << 20;
/// Records that are too old and in a file with newer ones are removed from the disk this much later,
/// so that a file is not written again for each of them. A clock that advances by less has not skipped.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Options of [`RecallLog::open`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LogOptions {
    /// Older entries are dropped; default: 30 days. Zero keeps all.
    pub retention: Duration,
    /// The maximum number of entries; default: [`ENTRIES_MAX`].
    pub entries_max: usize,
    /// The maximum number of sessions; default: [`SESSIONS_MAX`].
    pub sessions_max: usize,
    /// The last record that is known from outside the folder, 0 for none: a log that ends before it is
    /// damaged.
    pub reached: u64,
    /// Appends fail if less than this would stay free on the disk; default: 64 MiB.
    pub free_bytes_min: u64,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            retention: Duration::from_secs(30 * 24 * 3600),
            entries_max: ENTRIES_MAX,
            sessions_max: SESSIONS_MAX,
            reached: 0,
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

    /// Sets the maximum number of sessions.
    #[must_use]
    pub fn with_sessions_max(self, sessions_max: usize) -> Self {
        Self { sessions_max, ..self }
    }

    /// Sets the last record that is known from outside the folder.
    #[must_use]
    pub fn with_reached(self, reached: u64) -> Self {
        Self { reached, ..self }
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
    /// Entries within the limits.
    pub entries: u64,
    /// Records whose bytes are intact and that this release cannot read.
    pub unreadable: u64,
}

/// Which entries to list.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Only entries of this session.
    pub session: Option<String>,
    /// Only entries that injected or withheld this memory.
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

    fn selects(&self, entry: &Entry) -> bool {
        self.session.as_ref().is_none_or(|session| **session == *entry.key.session)
            && self.memory.is_none_or(|memory| entry.names(memory))
            && self.space.as_ref().is_none_or(|space| entry.key.space.as_deref() == Some(space))
    }
}

/// What follows from the records from `first` on, and from a few before.
#[derive(Debug, Default)]
struct State {
    entries: VecDeque<Entry>,
    sessions: BTreeMap<SessionKey, Session>,
    /// Everything before this record was dropped.
    first: u64,
    /// The last record, and its time.
    last: u64,
    at: Option<Timestamp>,
    /// See [`RecallLog::forgotten`].
    forgotten: Option<Timestamp>,
}

impl State {
    /// The only place that adds to what the log knows, so that opening it gives the same again.
    fn apply(&mut self, id: u64, record: Record, limits: &LogOptions) {
        let at = record.at();
        if id != self.last + 1 {
            // The records between were dropped or lost.
            self.forgotten = self.forgotten.max(self.at).max(Some(at));
        }
        (self.last, self.at) = (id, Some(at));
        match record {
            Record::Entry(entry) => {
                let session = self.seen(&entry.key, &entry.harness, at);
                if entry.is_fresh {
                    session.injected.clear();
                    session.is_compacted = false;
                }
                session.injected.extend(entry.used.iter().map(|used| used.id));
                self.entries.push_back(Entry { id, ..entry });
            }
            Record::Recorded { key, harness, at, offset } => {
                let session = self.seen(&key, &harness, at);
                if offset < session.offset {
                    // The clock may have been ahead when it was recorded.
                    session.before_restart = session.recorded_at.min(Some(at));
                }
                (session.offset, session.recorded_at) = (offset, Some(at));
            }
            Record::Compacted { key, harness, at } => {
                let session = self.seen(&key, &harness, at);
                session.compacted_at = Some(at);
                session.is_compacted = true;
            }
        }
        while self.entries.len() > limits.entries_max
            && let Some(oldest) = self.entries.pop_front()
        {
            self.first = oldest.id + 1;
        }
        if let Some(over) = self.sessions.len().checked_sub(limits.sessions_max + 1) {
            // More than one at once, because it takes time by the number of sessions.
            let mut seen: Vec<u64> = self.sessions.values().map(|value| value.last).collect();
            let (_, first, _) = seen.select_nth_unstable(over + 1 + limits.sessions_max / 8);
            let first = *first;
            self.drop_before(first);
        }
    }

    fn seen(&mut self, key: &SessionKey, harness: &Arc<str>, at: Timestamp) -> &mut Session {
        let last = self.last;
        let session = self.sessions.entry(key.clone()).or_default();
        session.harness = Arc::clone(harness);
        session.at = session.at.max(at);
        session.last = last;
        session
    }

    /// Drops the records before that one: their entries, and the sessions that have no later one.
    fn drop_before(&mut self, first: u64) {
        self.first = self.first.max(first);
        while self.entries.front().is_some_and(|front| front.id < self.first) {
            self.entries.pop_front();
        }
        let mut forgotten = None;
        self.sessions.retain(|_, session| {
            let is_kept = session.last >= self.first;
            if !is_kept {
                forgotten = forgotten.max(session.recorded_at);
            }
            is_kept
        });
        // The clock may have been ahead when it was recorded.
        self.forgotten = self.forgotten.max(forgotten.min(self.at));
    }
}

/// The log of what sessions got, in a folder of its own. Each append is on disk when it returns.
///
/// Only one process at a time may have the folder open; the caller must hold a lock.
#[derive(Debug)]
pub struct RecallLog {
    log: Log,
    options: LogOptions,
    /// Held from an append to the change of the state, so that both have the same order.
    writing: Mutex<SkipDetector>,
    state: RwLock<State>,
}

impl RecallLog {
    /// Opens the log in `dir`, and creates it if it does not exist.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged) if records have changed or are missing:
    /// [`repair`](crate::repair) keeps the others. If a newer release wrote it, or the file system
    /// fails.
    pub fn open(dir: &Path, options: &LogOptions, now: Timestamp) -> Result<(Self, Opened)> {
        let on_disk = waypost_log::Options::default()
            .with_segment_bytes(SEGMENT_BYTES)
            .with_preallocate_bytes(64 << 10)
            .with_free_bytes_min(options.free_bytes_min)
            .with_reached(options.reached)
            .with_can_read(can_read);
        let (log, _) = Log::open(dir, &on_disk)?;
        let mut opened = Opened::default();
        let mut state = State::default();
        let mut records = log.entries_after(0);
        while let Some(record) = records.next_ref() {
            let record = record?;
            match Record::decode(record.kind, record.version, record.payload) {
                Some(it) => state.apply(record.sequence, it, options),
                None => opened.unreadable += 1,
            }
        }
        drop(records);
        if state.last != log.last_sequence() {
            // A repair found that the last records are lost.
            (state.last, state.forgotten) = (log.last_sequence(), Some(now));
        }
        // A clock that was ahead must not keep from being recorded what is said from now on.
        state.forgotten = state.forgotten.min(Some(now));
        let (writing, state) = (Mutex::default(), RwLock::new(state));
        let opened_log = Self { log, options: options.clone(), writing, state };
        opened_log.forget(now)?;
        opened.entries = opened_log.state.read().entries.len() as u64;
        Ok((opened_log, opened))
    }

    /// Appends an entry, and returns its id.
    ///
    /// # Errors
    /// [`Error::TooLong`](crate::Error::TooLong), or if it cannot be written.
    pub fn append(&self, entry: Entry, now: Timestamp) -> Result<u64> {
        self.write(Record::Entry(Entry { at: now, ..entry }))
    }

    /// Records that a session's turns are stored, up to that offset of its transcript. An offset below the
    /// last one means that the transcript became shorter and is read again.
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
        self.state.write().apply(id, record, &self.options);
        Ok(id)
    }

    /// Entries, the newest first.
    pub fn list(&self, query: &Query) -> Vec<Entry> {
        let state = self.state.read();
        let end = match query.before {
            Some(before) => state.entries.partition_point(|entry| entry.id < before),
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

    /// Turns that were said up to this time may have been recorded, and deleted since, although the log
    /// does not know it any more: it has dropped or lost records of that time. `None` if it has all.
    pub fn forgotten(&self) -> Option<Timestamp> {
        self.state.read().forgotten
    }

    /// The last record that is known to be on disk, 0 for none.
    pub fn reached(&self) -> u64 {
        self.log.reached()
    }

    /// Whether nothing can be appended until the log is opened again.
    pub fn has_fault(&self) -> bool {
        self.log.fault().is_some()
    }

    /// The damage that reads have found since the log was opened.
    pub fn damage(&self) -> Vec<Damage> {
        self.log.damage()
    }

    /// Drops what is older than the retention, with the sessions that have nothing newer. Nothing counts
    /// as too old on the first day after the clock has skipped more than the retention, and more than a
    /// day: it may be wrong. Files are removed as soon as all of their records are dropped, and single
    /// records within a day, except the newest of them, whose time says what was forgotten.
    ///
    /// # Errors
    /// If a file cannot be removed or written again.
    pub fn retain(&self, now: Timestamp) -> Result<()> {
        let oldest = self.forget(now)?;
        let kept = self.state.read().first.saturating_sub(1);
        let covered = self.log.truncate_before(kept)?;
        let Some(oldest) = oldest else { return Ok(()) };
        let first = self.log.entries_after(covered.saturating_sub(1)).next().transpose()?;
        let is_due = first.filter(|first| first.sequence < kept).and_then(|first| {
            let at = time_of(first.kind, first.version, &first.payload)?;
            Some(at < oldest.saturating_sub(DAY))
        });
        if is_due == Some(true) {
            self.log.compact(&mut |it| if it.sequence < kept { Keep::No } else { Keep::Yes })?;
        }
        Ok(())
    }

    /// Drops from memory what is too old, and sessions whose entries were too many. Returns since when
    /// records are kept; `None` if there is no limit, or the clock is not believed.
    fn forget(&self, now: Timestamp) -> Result<Option<Timestamp>> {
        let retention = self.options.retention;
        let mut clock = self.writing.lock();
        let newest = || self.state.read().at;
        let is_limited = !retention.is_zero() && clock.believes(now, retention.max(DAY), newest);
        let oldest = is_limited.then(|| now.saturating_sub(retention));
        let first = oldest.map_or(Ok(0), |oldest| self.first_since(oldest))?;
        self.state.write().drop_before(first);
        Ok(oldest)
    }

    /// The first record that is not older; after the last if all are.
    fn first_since(&self, oldest: Timestamp) -> Result<u64> {
        let mut records = self.log.entries_after(0);
        while let Some(record) = records.next_ref() {
            let record = record?;
            let at = time_of(record.kind, record.version, record.payload);
            if at.is_some_and(|at| at >= oldest) {
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

fn time_of(kind: u8, version: u8, payload: &[u8]) -> Option<Timestamp> {
    Record::decode(kind, version, payload).map(|record| record.at())
}
