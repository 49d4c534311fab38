//! The bus: its parts, and opening it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use waypost_log::group_commit::Queue;
use waypost_log::{Damage, FolderLock, Log, OnDamage, Recovery, Upstream, Verify, create_folder};
use waypost_projection::files::sync_dir;
use waypost_time::{SkipDetector, Timestamp};

use crate::codec::{self, Malformed, Stored};
use crate::decide::{Answers, EncodedDraft};
use crate::doctor::refuse_interrupted;
use crate::floor::{self, Floor};
use crate::index::{BlockStore, Found, Index, Kept};
use crate::keys::{Keyed, Window};
use crate::live::{Live, Subscription};
use crate::{Error, Event, Opened, Options, Result, replica};

/// A durable, totally ordered log of events in a folder. All methods take `&self`; share it by
/// reference or by `Arc`. It starts no threads.
pub struct Bus {
    pub(crate) dir: PathBuf,
    pub(crate) options: Options,
    pub(crate) log: Log,
    /// What decides the order of the events, if it is not the log.
    pub(crate) upstream: Option<Upstream>,
    pub(crate) index: RwLock<Index>,
    pub(crate) block_store: BlockStore,
    pub(crate) writer: Mutex<Writer>,
    pub(crate) queue: Queue<Vec<EncodedDraft>, Answers>,
    pub(crate) live: Arc<Live>,
    /// The first retained event.
    pub(crate) first: AtomicU64,
    /// On a replica, idempotency keys of events before this one are forgotten; 0 on a bus that never
    /// was one.
    pub(crate) keys_from: AtomicU64,
    /// The number of keys, for those who do not wait for a publish in progress.
    pub(crate) key_count: AtomicUsize,
    /// Held while events are dropped. Locked before `settling`.
    pub(crate) upkeep: Mutex<SkipDetector>,
    /// Held while the block store is written.
    pub(crate) settling: Mutex<()>,
    /// Whether a finished block is not in the block store yet.
    pub(crate) to_settle: AtomicBool,
    pub(crate) is_closed: AtomicBool,
    pub(crate) fault: Mutex<Option<String>>,
    _lock: FolderLock,
}

/// What only the leader of a group uses.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    pub(crate) keys: Window,
    /// The last event that the keys and the index have.
    pub(crate) applied: u64,
    /// Keys that are not on the shelf, with their events' ids and times.
    pub(crate) unsaved: Vec<(Keyed, u64, Timestamp)>,
    /// The shelf knows of events up to this one.
    pub(crate) saved_to: u64,
}

impl Writer {
    /// Takes the event `id` in, whose place is behind all others.
    pub(crate) fn push(&mut self, id: u64, time: Timestamp, keyed: Option<Keyed>) {
        self.applied = id;
        self.keys.push(id, time, keyed);
        self.unsaved.extend(keyed.map(|keyed| (keyed, id, time)));
    }
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
    /// Opens the bus in the folder `dir`, and creates the folder if it does not exist.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process has it open, [`Error::Newer`] if a newer release wrote
    /// it, [`Error::Damaged`] if the log is damaged, or ends before an event that is known to have
    /// been published: [`repair`](crate::repair) keeps what is left. A missing or damaged index is
    /// rebuilt from the log.
    pub fn open(dir: &Path, options: &Options) -> Result<(Self, Opened)> {
        create_folder(dir).map_err(|error| Error::of_log(&error, dir))?;
        let lock = FolderLock::take(dir).map_err(|error| Error::of_log(&error, dir))?;
        refuse_interrupted(dir)?;
        let floor = floor::read(dir)?;
        let found = Found::look(&dir.join("state"))?;
        let reached = found.reached().max(floor.first - 1).max(options.reached);
        let (log, recovery) = match open_log(dir, options, reached) {
            Ok(opened) => opened,
            Err(error) => {
                found.close()?;
                return Err(error);
            }
        };
        let last = log.last_sequence();
        let first = floor.first.max(log.first_sequence());
        // The keys of dropped events are in no log: a replica that joins does not know them.
        let adopted = if options.shared_journal.is_some() { first } else { 0 };
        let keys_from = floor.keys_from.unwrap_or(adopted);
        let upstream = options
            .shared_journal
            .clone()
            .map(|journal| Upstream::new(journal, replica::is_same_record));
        let (block_store, kept, index_rebuilt) = found.accept(log.bytes(), (first, last))?;
        let mut opened = Opened {
            events: (last + 1).saturating_sub(first),
            truncated_bytes: recovery.truncated_bytes,
            index_rebuilt,
            ..Opened::default()
        };
        let bus = Self {
            dir: dir.to_path_buf(),
            options: options.clone(),
            log,
            upstream,
            index: RwLock::default(),
            block_store,
            writer: Mutex::default(),
            queue: Queue::default(),
            live: Arc::new(Live::starting_at(last)),
            first: AtomicU64::new(first),
            keys_from: AtomicU64::new(keys_from),
            key_count: AtomicUsize::new(0),
            upkeep: Mutex::default(),
            settling: Mutex::default(),
            to_settle: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            fault: Mutex::default(),
            _lock: lock,
        };
        bus.replay(kept, &mut opened)?;
        sync_dir(dir)?;
        Ok((bus, opened))
    }

    /// Takes over the contents of the block store, and reads the rest from the log.
    fn replay(&self, kept: Kept, opened: &mut Opened) -> Result<()> {
        let keys_to = kept.keys_to;
        let mut writer = self.writer.lock();
        writer.saved_to = keys_to;
        for (key, it) in kept.keys {
            writer.keys.push(it.id, it.time, Some(Keyed { key, body: it.body }));
        }
        let index = Index::new(kept.first_block, kept.blocks, self.log.first_sequence());
        let indexed_to = index.stored_to();
        *self.index.write() = index;
        let mut entries = self.log.entries_after(indexed_to.min(keys_to));
        while let Some(entry) = entries.next_ref() {
            let entry = entry.map_err(|error| self.log_error(&error))?;
            let (id, malformed) = (entry.sequence, |it| malformed(entry.sequence, it));
            let stored =
                Stored::read(entry.kind, entry.version, entry.payload).map_err(malformed)?;
            opened.replayed += 1;
            if id > keys_to {
                let keyed = match stored.idempotency_key().map_err(malformed)? {
                    None => None,
                    Some(key) => {
                        let event = stored.event(id).map_err(malformed)?;
                        Some(Keyed::new(&key, stored.space, &event.kind, &event.data))
                    }
                };
                writer.push(id, stored.time, keyed);
            }
            if id > indexed_to && self.index.write().push(id, stored.kind, stored.time) {
                // Not all of a log that is indexed anew is to be in memory at once.
                drop(writer);
                self.settle();
                writer = self.writer.lock();
            }
        }
        writer.applied = self.log.last_sequence();
        writer.keys.forget_before(self.keys_from.load(Ordering::Acquire));
        self.key_count.store(writer.keys.len(), Ordering::Relaxed);
        Ok(())
    }

    /// The event with this id; `None` if it does not exist yet or was dropped.
    pub fn get(&self, id: u64) -> Result<Option<Event>> {
        if id < self.first() || id > self.last() {
            return Ok(None);
        }
        let entry = self.log.read(id).map_err(|error| self.log_error(&error))?;
        entry
            .map(|entry| decode(entry.sequence, entry.kind, entry.version, &entry.payload))
            .transpose()
    }

    /// The last event that can be read, 0 for none.
    pub fn last(&self) -> u64 {
        self.live.last()
    }

    /// The last event that is known to be on disk, for [`Options::reached`] of a later opening.
    /// Waits for a write to the log in progress. The log of a replica is not synced for each event:
    /// [`sync`](Self::sync) does that.
    pub fn reached(&self) -> u64 {
        self.log.reached()
    }

    /// The first retained event; one after the last if there is none.
    pub fn first(&self) -> u64 {
        self.first.load(Ordering::Acquire)
    }

    /// Where what is kept begins.
    pub(crate) fn floor(&self) -> Floor {
        let (first, keys_from) = (self.first(), self.keys_from.load(Ordering::Acquire));
        let is_default = keys_from == 0 || (first, keys_from) == (1, 1);
        Floor { first, keys_from: (!is_default).then_some(keys_from) }
    }

    /// Bytes of the log.
    pub fn bytes(&self) -> u64 {
        self.log.bytes()
    }

    /// Why nothing can be published until the bus is reopened, if so.
    pub fn fault(&self) -> Option<String> {
        let own = self.fault.lock().clone();
        own.or_else(|| self.upstream.as_ref()?.fault())
    }

    /// The damage that reads have found in the log since it was opened: [`repair`](crate::repair)
    /// sets it aside. Reads no file.
    pub fn damage(&self) -> Vec<Damage> {
        self.log.damage()
    }

    /// Waits until there is an event after `id` or the timeout has passed, and returns the last
    /// event.
    pub fn wait_beyond(&self, id: u64, timeout: Duration) -> u64 {
        self.live.wait_beyond(id, timeout)
    }

    /// Calls `listener` with the id of the last event whenever there are new events, until the
    /// subscription is dropped.
    ///
    /// The publishing thread calls it before it returns: the listener must be fast and must not
    /// publish. One call may cover several events; the ids increase.
    pub fn subscribe(&self, listener: Box<dyn Fn(u64) + Send + Sync>) -> Subscription {
        Subscription::new(&self.live, listener)
    }

    /// Converts an error of the log. If the log accepts no more writes, nothing can be published.
    pub(crate) fn log_error(&self, error: &waypost_log::Error) -> Error {
        let error = Error::of_log(error, &self.dir.join("log"));
        if let Error::Unavailable(why) = &error {
            self.fault.lock().get_or_insert_with(|| why.clone());
        }
        error
    }
}

/// Opens the log, which is damaged if it ends before the event `reached`.
fn open_log(dir: &Path, options: &Options, reached: u64) -> Result<(Log, Recovery)> {
    let log_options = waypost_log::Options::default()
        .with_segment_bytes(options.segment_bytes)
        .with_free_bytes_min(options.free_bytes_min)
        .with_on_damage(OnDamage::Refuse)
        .with_verify(Verify::Unsealed)
        .with_reached(reached)
        .with_can_read(codec::can_read)
        .with_on_change(options.on_change);
    let dir = dir.join("log");
    Log::open(&dir, &log_options).map_err(|error| Error::of_log(&error, &dir))
}

pub(crate) fn decode(id: u64, kind: u8, version: u8, payload: &[u8]) -> Result<Event> {
    Stored::read(kind, version, payload)
        .and_then(|read| read.event(id))
        .map_err(|error| malformed(id, error))
}

pub(crate) fn malformed(id: u64, malformed: Malformed) -> Error {
    if malformed.is_newer() {
        return Error::Newer(format!("event {id} cannot be read: {malformed}"));
    }
    Error::Damaged(format!("event {id} has a valid checksum but is malformed: {malformed}"))
}
