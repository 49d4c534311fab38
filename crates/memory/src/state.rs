//! The applied state: a sled tree that is derived from the log and can be thrown away.
//!
//! sled loses nothing when its process is killed, but a power cut or a flipped bit can leave it
//! unreadable or, worse, stale. So every value carries a checksum over its key and itself, every
//! space a digest over its memories, and a stop that was not clean before a reboot means that the
//! state is built anew. Nothing is lost by that: the log has everything.

mod pending;
mod rewrite;

use std::fs::{self, File};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RwLock;

use self::pending::Pending;
pub(crate) use self::rewrite::remove_leftovers;
use crate::cells::{BLOCKS, Cells, Found, Heads};
use crate::codec::Malformed;
use crate::keys::{self, Head};
use crate::{Error, MemoryId, Result};

/// The version of the state's values.
const VALUE_VERSION: u8 = 2;
/// sled gives space back at this segment size; it is fixed for ever when a tree is made.
const SEGMENT_BYTES: usize = 8 * 1024 * 1024;
/// There while the state is open: it names the boot that it was opened in.
const RUNNING: &str = "waypost-running";
/// Stands in it instead of the boot when the state must be built anew.
const REBUILD: &str = "rebuild";
/// Why such a state is not used.
pub(crate) const MARKED: &str = "it was marked to be rebuilt";

/// A change of one key: the new value, or that it goes.
pub(crate) type Write = (Vec<u8>, Option<Vec<u8>>);

/// Told a key and its value.
type Each<'a> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'a;

/// The open tree.
#[derive(Debug)]
pub(crate) struct State {
    cells: RwLock<Cells>,
    /// Locked before `db`, never after it.
    pending: RwLock<Pending>,
    /// `None` only while it is opened again after a failed write.
    db: RwLock<Option<sled::Db>>,
    dir: PathBuf,
    cache_bytes: u64,
    /// Set when it must be built anew at the next opening.
    suspect: AtomicBool,
    /// Set when an operation failed: sled takes no writes any more after one that failed.
    broken: AtomicBool,
}

/// Why a state on disk cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unusable(pub(crate) String);

impl State {
    /// Opens the tree in `dir` or makes one. `Err(Unusable)` inside means: set it aside, build anew.
    pub(crate) fn open(
        dir: &Path,
        cache_bytes: u64,
        boot: &str,
    ) -> Result<std::result::Result<Self, Unusable>> {
        let is_new = !dir.exists();
        fs::create_dir_all(dir).map_err(|it| Error::io(dir, it))?;
        let marker = dir.join(RUNNING);
        match fs::read_to_string(&marker) {
            Ok(last_boot) if last_boot == boot && !boot.is_empty() => {}
            Ok(why) if why == REBUILD => {
                return Ok(Err(Unusable(MARKED.to_owned())));
            }
            Ok(_) => {
                let why = "the machine was restarted while it was open";
                return Ok(Err(Unusable(why.to_owned())));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Ok(Err(Unusable("its marker is damaged".to_owned())));
            }
            Err(error) => return Err(Error::io(marker, error)),
        }
        remove_unfinished_snapshots(dir)?;
        write_synced(&marker, boot.as_bytes())?;
        sync_dir(dir)?;
        let db = match open_tree(dir, cache_bytes) {
            Ok(db) => db,
            Err(unusable) => return Ok(Err(unusable)),
        };
        if is_new {
            sync_dir(dir)?;
            dir.parent().map_or(Ok(()), sync_dir)?;
        }
        let state = Self {
            cells: RwLock::default(),
            pending: RwLock::default(),
            db: RwLock::new(Some(db)),
            dir: dir.to_path_buf(),
            cache_bytes,
            suspect: AtomicBool::new(false),
            broken: AtomicBool::new(false),
        };
        Ok(state.load().map(|()| state).map_err(|it| Unusable(it.to_string())))
    }

    /// Takes what is kept in memory out of the tree.
    fn load(&self) -> Result<()> {
        let mut cells = Cells::default();
        for prefix in [BLOCKS, keys::SPACES, keys::COUNTERS] {
            self.scan_sled(prefix, &mut |key, value| cells.load(key, value).map_err(damaged))?;
        }
        *self.cells.write() = cells;
        Ok(())
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        if let Found::Here(value) = self.cells.read_recursive().get(key).map_err(damaged)? {
            return Ok(value);
        }
        if let Found::Here(value) = self.pending.read().get(key) {
            return Ok(value);
        }
        let value = self.guard(|db| db.get(key))?;
        value.map(|it| self.unwrap(key, &it)).transpose()
    }

    fn unwrap(&self, key: &[u8], value: &[u8]) -> Result<Vec<u8>> {
        unwrap_value(key, value).map_err(|it| {
            self.rebuild_at_next_open();
            damaged(it)
        })
    }

    /// Has the state built anew when it is next opened.
    pub(crate) fn rebuild_at_next_open(&self) {
        if !self.suspect.swap(true, Ordering::AcqRel) {
            // If this cannot be written either, the damage is found again.
            drop(write_synced(&self.dir.join(RUNNING), REBUILD.as_bytes()));
        }
    }

    /// The heads of all memories, in order of their ids.
    pub(crate) fn heads(&self, each: &mut dyn FnMut(MemoryId, Head) -> Result<()>) -> Result<()> {
        let mut next = 0;
        while let Some((after, heads)) = self.heads_from(next)? {
            next = after;
            heads.into_iter().try_for_each(|(id, head)| each(id, head))?;
        }
        Ok(())
    }

    /// Some heads from the id `from` on, and from where to go on.
    pub(crate) fn heads_from(&self, from: u64) -> Result<Option<Heads>> {
        self.cells.read_recursive().heads_from(from).map_err(damaged)
    }

    /// All keys with a prefix, in order. Heads are read by [`Self::heads`].
    pub(crate) fn scan(&self, prefix: &[u8], each: &mut Each<'_>) -> Result<()> {
        let kept = self.cells.read_recursive().scan(prefix).map_err(damaged)?;
        let Some(kept) = kept else { return self.scan_sled(prefix, each) };
        // The newest version is kept, those before it are in sled.
        let newest = kept.first().map(|(key, _)| key.clone());
        if prefix.starts_with(b"v") {
            self.scan_sled(prefix, &mut |key, value| {
                if newest.as_deref().is_some_and(|it| it <= key) {
                    Ok(())
                } else {
                    each(key, value)
                }
            })?;
        }
        kept.iter().try_for_each(|(key, value)| each(key, value))
    }

    /// Reads every value in sled, so that every checksum is compared.
    pub(crate) fn verify(&self) -> Result<()> {
        self.scan_sled(&[], &mut |_, _| Ok(()))
    }

    fn scan_sled(&self, prefix: &[u8], each: &mut Each<'_>) -> Result<()> {
        self.flush()?;
        let db = self.db.read_recursive();
        let mut entries = db.as_ref().ok_or_else(between)?.scan_prefix(prefix);
        loop {
            let Some(entry) = self.guard(|_| entries.next().transpose())? else { return Ok(()) };
            let (key, value) = entry;
            each(&key, &self.unwrap(&key, &value)?)?;
        }
    }

    /// Applies some changes at once. sled is given them later, with others, but all at once, too.
    pub(crate) fn write(&self, writes: &[Write]) -> Result<()> {
        let mut staged = self.cells.read().stage(writes).map_err(damaged)?;
        let rows = std::mem::take(&mut staged.rows);
        if !self.pending.read().has_room(&rows) {
            self.flush()?;
        }
        self.pending.write().extend(rows);
        self.cells.write().take(staged);
        Ok(())
    }

    /// Gives sled what waits for it.
    fn flush(&self) -> Result<()> {
        let mut pending = self.pending.write();
        if !pending.is_empty() {
            self.guard(|db| db.apply_batch(pending.batch()))?;
            pending.clear();
        }
        Ok(())
    }

    /// Whether it must be opened again before it takes writes. A write in sled's background may
    /// have failed, which only a scan tells.
    pub(crate) fn is_broken(&self) -> bool {
        let probe = self.guard(|db| db.scan_prefix(b"mapplied").next().transpose().map(|_| ()));
        probe.is_err() || self.broken.load(Ordering::Acquire)
    }

    /// Lets go of the tree, so that it can be opened again.
    pub(crate) fn release(&self) {
        let db = self.db.write().take();
        // sled panics when it cannot write what it still has; the log has it.
        drop(catch_unwind(AssertUnwindSafe(|| drop(db))));
    }

    /// Takes the tree of another state over.
    pub(crate) fn adopt(&self, other: &Self) {
        let db = other.db.write().take();
        *self.db.write() = db;
        *self.cells.write() = std::mem::take(&mut other.cells.write());
        *self.pending.write() = std::mem::take(&mut other.pending.write());
        self.suspect.store(other.suspect.load(Ordering::Acquire), Ordering::Release);
        self.broken.store(false, Ordering::Release);
    }

    /// Writes everything to the files and syncs them.
    pub(crate) fn sync(&self) -> Result<()> {
        self.flush()?;
        self.guard(|db| db.flush())?;
        sync_tree(&self.dir)
    }

    /// Syncs and removes the mark of an unclean stop. The tree must not be used any more.
    pub(crate) fn close(&self) -> Result<()> {
        self.sync()?;
        if self.suspect.load(Ordering::Acquire) {
            return Ok(());
        }
        let marker = self.dir.join(RUNNING);
        fs::remove_file(&marker).map_err(|it| Error::io(marker, it))?;
        sync_dir(&self.dir)
    }

    /// sled panics on damage that it does not expect; a reader must get an error instead.
    fn guard<T>(&self, operation: impl FnOnce(&sled::Db) -> sled::Result<T>) -> Result<T> {
        // Recursive: a scan's reader may read again, whoever waits to open the tree anew.
        let db = self.db.read_recursive();
        let db = db.as_ref().ok_or_else(between)?;
        match catch_unwind(AssertUnwindSafe(|| operation(db))) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(sled::Error::Io(error))) => {
                self.broken.store(true, Ordering::Release);
                Err(Error::io(&self.dir, error))
            }
            Ok(Err(error)) => Err(self.broken(&error.to_string())),
            Err(_) => Err(self.broken("it failed badly")),
        }
    }

    fn broken(&self, why: &str) -> Error {
        self.rebuild_at_next_open();
        Error::Damaged(format!(
            "the state in {} is damaged ({why}); restart to rebuild it from the log",
            self.dir.display()
        ))
    }
}

/// sled's tree in `dir`. It panics on damage that it does not expect.
fn open_tree(dir: &Path, cache_bytes: u64) -> std::result::Result<sled::Db, Unusable> {
    let config = sled::Config::new()
        .path(dir)
        .segment_size(SEGMENT_BYTES)
        .cache_capacity(cache_bytes)
        .use_compression(false);
    match catch_unwind(AssertUnwindSafe(|| config.open())) {
        Ok(Ok(db)) => Ok(db),
        Ok(Err(error)) => Err(Unusable(format!("it does not open: {error}"))),
        Err(_) => Err(Unusable("opening it failed badly".to_owned())),
    }
}

/// sled's own flush does not wait for the disk.
fn sync_tree(dir: &Path) -> Result<()> {
    let path = dir.join("db");
    File::open(&path).and_then(|it| it.sync_data()).map_err(|it| Error::io(path, it))
}

fn between() -> Error {
    Error::Unavailable("the state is being opened again".to_owned())
}

pub(crate) fn damaged(malformed: Malformed) -> Error {
    Error::Damaged(format!(
        "a record of the state is damaged ({}); restart to rebuild it from the log",
        malformed.0
    ))
}

fn checksum(key: &[u8], value: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(key), value)
}

fn wrap_value(key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut wrapped = Vec::with_capacity(value.len() + 5);
    wrapped.push(VALUE_VERSION);
    wrapped.extend_from_slice(value);
    let sum = checksum(key, &wrapped);
    wrapped.extend_from_slice(&sum.to_le_bytes());
    wrapped
}

fn unwrap_value(key: &[u8], wrapped: &[u8]) -> std::result::Result<Vec<u8>, Malformed> {
    let (value, sum) = wrapped.split_last_chunk::<4>().ok_or(Malformed("it is cut short"))?;
    if checksum(key, value) != u32::from_le_bytes(*sum) {
        return Err(Malformed("its checksum is wrong"));
    }
    match value.split_first() {
        Some((&VALUE_VERSION, value)) => Ok(value.to_vec()),
        _ => Err(Malformed("its version is unknown")),
    }
}

/// A torn `snap.N.generating` makes sled refuse to open for ever. It is safe to remove: the one
/// before it goes only after the new one has its name.
fn remove_unfinished_snapshots(dir: &Path) -> Result<()> {
    for entry in fs::read_dir(dir).map_err(|it| Error::io(dir, it))? {
        let path = entry.map_err(|it| Error::io(dir, it))?.path();
        if path.extension().is_some_and(|it| it == "generating") {
            fs::remove_file(&path).map_err(|it| Error::io(path, it))?;
        }
    }
    Ok(())
}

/// Writes a small file and syncs it.
pub(crate) fn write_synced(path: &Path, bytes: &[u8]) -> Result<()> {
    let write = || {
        let mut file = File::create(path)?;
        io::Write::write_all(&mut file, bytes)?;
        file.sync_all()
    };
    write().map_err(|it| Error::io(path, it))
}

/// Syncs a folder, so that what was made or renamed in it stays after a power cut.
pub(crate) fn sync_dir(dir: &Path) -> Result<()> {
    File::open(dir).and_then(|it| it.sync_all()).map_err(|it| Error::io(dir, it))
}

/// Identifies this run of the machine; empty where it cannot be told.
pub(crate) fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|it| it.trim().to_owned())
        .unwrap_or_default()
}
