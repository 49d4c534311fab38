//! The bus: its parts, and opening it.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use waypost_log::{FolderLock, Log, OnDamage};

use crate::codec::{Malformed, Stored};
use crate::floor;
use crate::index::Index;
use crate::keys::{Keyed, Window};
use crate::live::{Live, Subscription};
use crate::queue::Queue;
use crate::{Error, Event, Opened, Options, Result};

/// A durable, totally ordered log of events in a folder. All methods take `&self`; share it by
/// reference or by `Arc`. It has no threads of its own.
pub struct Bus {
    pub(crate) dir: PathBuf,
    pub(crate) options: Options,
    pub(crate) log: Log,
    pub(crate) index: RwLock<Index>,
    pub(crate) writer: Mutex<Writer>,
    pub(crate) queue: Queue,
    pub(crate) live: Arc<Live>,
    /// The first event that is kept.
    pub(crate) first: AtomicU64,
    /// Held by whoever drops events.
    pub(crate) upkeep: Mutex<()>,
    pub(crate) fault: Mutex<Option<String>>,
    _lock: FolderLock,
}

/// What only the one who publishes touches.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    pub(crate) keys: Window,
}

impl fmt::Debug for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bus")
            .field("dir", &self.dir)
            .field("live", &self.live)
            .finish_non_exhaustive()
    }
}

impl Bus {
    /// Opens the bus in the folder `dir`, making it if it is not there.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process has it, [`Error::Newer`] if a newer program wrote it,
    /// [`Error::Damaged`] if the log itself is damaged. What is derived from the log is built anew
    /// if it is missing or damaged.
    pub fn open(dir: &Path, options: &Options) -> Result<(Self, Opened)> {
        fs::create_dir_all(dir).map_err(|it| Error::io(dir, it))?;
        let lock = FolderLock::take(dir).map_err(|it| Error::of_log(&it, dir))?;
        let log_options = waypost_log::Options {
            segment_bytes: options.segment_bytes,
            free_bytes_min: options.free_bytes_min,
            on_damage: OnDamage::Refuse,
            ..waypost_log::Options::default()
        };
        let log_dir = dir.join("log");
        let (log, recovery) =
            Log::open(&log_dir, &log_options).map_err(|it| Error::of_log(&it, &log_dir))?;
        let last = log.last_sequence();
        let first = floor::read(dir)?.max(log.first_sequence());
        let mut opened = Opened {
            events: (last + 1).saturating_sub(first),
            truncated_bytes: recovery.truncated_bytes,
            ..Opened::default()
        };
        let mut bus = Self {
            dir: dir.to_path_buf(),
            options: options.clone(),
            log,
            index: RwLock::default(),
            writer: Mutex::default(),
            queue: Queue::default(),
            live: Arc::new(Live::starting_at(last)),
            first: AtomicU64::new(first),
            upkeep: Mutex::default(),
            fault: Mutex::default(),
            _lock: lock,
        };
        bus.replay(&mut opened)?;
        Ok((bus, opened))
    }

    /// Takes what the log has into the index.
    fn replay(&mut self, opened: &mut Opened) -> Result<()> {
        let mut index = Index::starting_at(self.log.first_sequence());
        let mut keys = Window::default();
        for entry in self.log.entries_after(0) {
            let entry = entry.map_err(|it| self.log_error(&it))?;
            let malformed = |it| malformed(entry.sequence, it);
            let stored =
                Stored::read(entry.kind, entry.version, &entry.payload).map_err(malformed)?;
            index.push(entry.sequence, stored.kind, stored.time_ms);
            let keyed = match stored.idempotency_key().map_err(malformed)? {
                None => None,
                Some(key) => {
                    let event = stored.event(entry.sequence).map_err(malformed)?;
                    Some(Keyed::new(&key, &event.kind, &event.data))
                }
            };
            keys.push(entry.sequence, stored.time_ms, keyed);
            opened.replayed += 1;
        }
        self.index = RwLock::new(index);
        self.writer = Mutex::new(Writer { keys });
        Ok(())
    }

    /// The event with this id; `None` if there is none yet, or no more.
    pub fn get(&self, id: u64) -> Result<Option<Event>> {
        if id < self.first() || id > self.last() {
            return Ok(None);
        }
        let entry = self.log.read(id).map_err(|it| self.log_error(&it))?;
        entry.map(|it| decode(it.sequence, it.kind, it.version, &it.payload)).transpose()
    }

    /// The last event that can be read, 0 for none.
    pub fn last(&self) -> u64 {
        self.live.last()
    }

    /// The first event that is kept; one after the last if there is none.
    pub fn first(&self) -> u64 {
        self.first.load(Ordering::Acquire)
    }

    /// Waits until there is an event after `id`, or that time, and returns the last event.
    pub fn wait_beyond(&self, id: u64, timeout: Duration) -> u64 {
        self.live.wait_beyond(id, timeout)
    }

    /// Has `listener` called whenever there are new events, with the last one's id, until the
    /// subscription is dropped.
    ///
    /// It is called by the thread that published, before that is answered: it must be quick, and
    /// must not publish. Calls may be fewer than events; the ids it is told grow.
    pub fn subscribe(&self, listener: Box<dyn Fn(u64) + Send + Sync>) -> Subscription {
        Subscription::new(&self.live, listener)
    }

    /// What the log said; from then on nothing is published if it takes nothing any more.
    pub(crate) fn log_error(&self, error: &waypost_log::Error) -> Error {
        let error = Error::of_log(error, &self.dir.join("log"));
        if let Error::Unavailable(why) = &error {
            self.fault.lock().get_or_insert_with(|| why.clone());
        }
        error
    }
}

pub(crate) fn decode(id: u64, kind: u8, version: u8, payload: &[u8]) -> Result<Event> {
    Stored::read(kind, version, payload).and_then(|it| it.event(id)).map_err(|it| malformed(id, it))
}

pub(crate) fn malformed(id: u64, malformed: Malformed) -> Error {
    Error::Damaged(format!("event {id} has a good checksum but cannot be used: {malformed}"))
}
