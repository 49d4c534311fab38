//! The tree: opening it, reading and writing rows.

use std::fs::{self, File, TryLockError};
use std::io;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RwLock;

use crate::files::{sync_dir, write_synced};
use crate::pending::Pending;
use crate::value::unwrap;
use crate::{Error, Result, Unusable};

/// The segment size at which sled reuses space; it is fixed when a tree is created.
const SEGMENT_BYTES: usize = 8 * 1024 * 1024;
/// How often sled's thread writes. Nothing depends on it: what a crash loses is in the log, and
/// [`Tree::sync`] writes to disk on request.
const FLUSH_EVERY_MS: u64 = 2_000;
/// How many times locking sled's file is tried: for some 20 ms.
const ATTEMPTS_MAX: usize = 20_000;
/// Exists while the tree is open, and contains the boot id of that opening.
pub(crate) const RUNNING: &str = "waypost-running";
/// Replaces the boot id in it if the tree must be rebuilt.
const REBUILD: &str = "rebuild";
/// Why a tree is [`Unusable`] that was closed after [`Tree::rebuild_at_next_open`]: it was not
/// damaged.
pub const MARKED: &str = "it was marked to be rebuilt";

/// A change of one key: the new value, or `None` to remove it. A value has at most 64 KiB: sled
/// puts larger ones in files that it never syncs.
pub type Write = (Vec<u8>, Option<Vec<u8>>);

/// Called with a key and its value; returns whether to continue.
pub type Each<'a, E> = dyn FnMut(&[u8], &[u8]) -> std::result::Result<ControlFlow<()>, E> + 'a;

/// How a tree is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Maximum size of sled's cache in bytes.
    pub cache_bytes: u64,
    /// The version of the caller's values: a tree with another version counts as damaged.
    pub value_version: u8,
}

impl Options {
    /// Options for values of this version, with a cache of 16 MiB.
    pub const fn new(value_version: u8) -> Self {
        Self { cache_bytes: 16 << 20, value_version }
    }

    /// Sets the maximum size of sled's cache in bytes.
    #[must_use]
    pub const fn with_cache_bytes(self, cache_bytes: u64) -> Self {
        Self { cache_bytes, ..self }
    }
}

/// An open tree.
#[derive(Debug)]
pub struct Tree {
    /// Always locked before `db`.
    pending: RwLock<Pending>,
    /// `None` only while it is reopened after a failed write.
    pub(crate) db: RwLock<Option<sled::Db>>,
    pub(crate) dir: PathBuf,
    pub(crate) options: Options,
    on_change: Option<fn()>,
    /// Set if the next opening must rebuild it.
    pub(crate) suspect: AtomicBool,
    /// Set when an operation failed: sled accepts no writes after a failed one.
    pub(crate) broken: AtomicBool,
}

impl Tree {
    /// Opens the tree in `dir` or creates one. `boot` is [`boot_id`]. The caller must ensure that
    /// only one process at a time has it open.
    ///
    /// After an inner `Err(Unusable)`, [set it aside](crate::set_aside) and rebuild it.
    ///
    /// # Errors
    /// [`Error::InUse`] if a process has it open; nothing is changed then. Otherwise if a file
    /// system operation fails.
    pub fn open(
        dir: &Path,
        options: &Options,
        boot: &str,
    ) -> Result<std::result::Result<Self, Unusable>> {
        Self::open_watched(dir, options, boot, None)
    }

    /// Like [`Self::open`]. `on_change` is called before each change of a file other than sled's,
    /// for tests that end the process there.
    pub fn open_watched(
        dir: &Path,
        options: &Options,
        boot: &str,
        on_change: Option<fn()>,
    ) -> Result<std::result::Result<Self, Unusable>> {
        refuse_open(dir)?;
        let is_new = !dir.exists();
        fs::create_dir_all(dir).map_err(|error| Error::io(dir, error))?;
        let marker = dir.join(RUNNING);
        let is_marked = match fs::read_to_string(&marker) {
            Ok(last_boot) if last_boot == boot && !boot.is_empty() => true,
            Ok(why) if why == REBUILD => {
                return Ok(Err(Unusable(MARKED.to_owned())));
            }
            Ok(why) if why.is_empty() => {
                return Ok(Err(Unusable("its opening was interrupted".to_owned())));
            }
            Ok(_) => {
                let why = "the machine was restarted while it was open";
                return Ok(Err(Unusable(why.to_owned())));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Ok(Err(Unusable("its marker is damaged".to_owned())));
            }
            Err(error) => return Err(Error::io(marker, error)),
        };
        remove_unfinished_snapshots(dir)?;
        // A full disk must not empty the marker of a tree that is whole.
        if !is_marked {
            call(on_change);
            write_synced(&marker, boot.as_bytes()).inspect_err(|_| {
                // The tree is still closed. If this fails, too, it is rebuilt.
                drop(fs::remove_file(&marker));
            })?;
            call(on_change);
            sync_dir(dir)?;
        }
        let db = match open_sled(dir, options.cache_bytes) {
            Ok(db) => db,
            Err(Error::Damaged(why)) => return Ok(Err(Unusable(why))),
            Err(error) => return Err(error),
        };
        if is_new {
            sync_dir(dir)?;
            dir.parent().map_or(Ok(()), sync_dir)?;
        }
        Ok(Ok(Self {
            pending: RwLock::default(),
            db: RwLock::new(Some(db)),
            dir: dir.to_path_buf(),
            options: *options,
            on_change,
            suspect: AtomicBool::new(false),
            broken: AtomicBool::new(false),
        }))
    }

    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        if let Some(value) = self.pending.read().get(key) {
            return Ok(value.clone());
        }
        let value = self.guard(|db| db.get(key))?;
        value.map(|value| self.unwrap(key, &value)).transpose()
    }

    fn unwrap(&self, key: &[u8], value: &[u8]) -> Result<Vec<u8>> {
        unwrap(self.options.value_version, key, value).map_err(|why| {
            self.rebuild_at_next_open();
            Error::Damaged(format!(
                "a record of the state is damaged ({why}); restart to rebuild it from the log"
            ))
        })
    }

    /// Marks the tree to be rebuilt at the next opening.
    pub fn rebuild_at_next_open(&self) {
        if !self.suspect.swap(true, Ordering::AcqRel) {
            // If this write fails, too, the damage will be found again.
            drop(write_synced(&self.dir.join(RUNNING), REBUILD.as_bytes()));
        }
    }

    /// All keys with a prefix and their values, in order, until `each` breaks. Writes the buffered
    /// rows to sled first.
    pub fn scan<E: From<Error>>(
        &self,
        prefix: &[u8],
        each: &mut Each<'_, E>,
    ) -> std::result::Result<(), E> {
        self.flush()?;
        let db = self.db.read_recursive();
        let mut entries = db.as_ref().ok_or(Error::Reopening)?.scan_prefix(prefix);
        loop {
            let Some(entry) = self.guard(|_| entries.next().transpose())? else { return Ok(()) };
            let (key, value) = entry;
            if each(&key, &self.unwrap(&key, &value)?)?.is_break() {
                return Ok(());
            }
        }
    }

    /// Reads every value, so that every checksum is compared.
    pub fn verify(&self) -> Result<()> {
        self.scan(&[], &mut |_, _| Ok(ControlFlow::Continue(())))
    }

    /// Applies some changes atomically. They are written to sled later, together with others, also
    /// atomically.
    pub fn write(&self, rows: Vec<Write>) -> Result<()> {
        if !self.pending.read().has_room(&rows) {
            self.flush()?;
        }
        self.pending.write().extend(rows);
        Ok(())
    }

    /// Writes the buffered rows to sled.
    fn flush(&self) -> Result<()> {
        let mut pending = self.pending.write();
        if !pending.is_empty() {
            self.guard(|db| db.apply_batch(pending.batch(self.options.value_version)))?;
            pending.clear();
        }
        Ok(())
    }

    /// Whether it must be reopened before it accepts writes. A background write of sled may have
    /// failed, which only a scan shows: `probe` is a prefix with few keys.
    pub fn is_broken(&self, probe: &[u8]) -> bool {
        let probe = self.guard(|db| db.scan_prefix(probe).next().transpose().map(|_| ()));
        probe.is_err() || self.broken.load(Ordering::Acquire)
    }

    /// Closes the files, so that they can be reopened.
    pub fn release(&self) {
        let db = self.db.write().take();
        // sled panics if it cannot write its buffers; the log contains the data.
        drop(catch_unwind(AssertUnwindSafe(|| drop(db))));
    }

    /// Takes over the files of another tree and its buffered rows.
    pub fn adopt(&self, other: &Self) {
        let db = other.db.write().take();
        *self.db.write() = db;
        *self.pending.write() = std::mem::take(&mut other.pending.write());
        self.suspect.store(other.suspect.load(Ordering::Acquire), Ordering::Release);
        self.broken.store(false, Ordering::Release);
    }

    /// Writes everything to the files and syncs them.
    pub fn sync(&self) -> Result<()> {
        self.flush()?;
        self.changing();
        self.guard(|db| db.flush())?;
        self.changing();
        sync_file(&self.dir)
    }

    /// Syncs and removes the marker of an unclean stop. The tree must not be used afterwards.
    pub fn close(&self) -> Result<()> {
        self.sync()?;
        if self.suspect.load(Ordering::Acquire) {
            return Ok(());
        }
        self.changing();
        let marker = self.dir.join(RUNNING);
        match fs::remove_file(&marker) {
            Err(it) if it.kind() != io::ErrorKind::NotFound => Err(Error::io(marker, it)),
            _ => sync_dir(&self.dir),
        }
    }

    /// Reports that a file is about to be changed.
    pub(crate) fn changing(&self) {
        call(self.on_change);
    }

    /// sled panics on damage that it does not expect; a reader must get an error instead.
    fn guard<T>(&self, operation: impl FnOnce(&sled::Db) -> sled::Result<T>) -> Result<T> {
        // Recursive: the callback of a scan may read while another thread waits to reopen the tree.
        let db = self.db.read_recursive();
        let db = db.as_ref().ok_or(Error::Reopening)?;
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

fn call(hook: Option<fn()>) {
    if let Some(hook) = hook {
        hook();
    }
}

/// sled's tree in `dir`. It panics on damage that it does not expect.
pub(crate) fn open_sled(dir: &Path, cache_bytes: u64) -> Result<sled::Db> {
    let config = sled::Config::new()
        .path(dir)
        .segment_size(SEGMENT_BYTES)
        .cache_capacity(cache_bytes)
        .flush_every_ms(Some(FLUSH_EVERY_MS))
        .use_compression(false);
    refuse_open(dir)?;
    match catch_unwind(AssertUnwindSafe(|| config.open())) {
        Ok(Ok(db)) => Ok(db),
        Ok(Err(sled::Error::Io(error))) if error.to_string().contains("acquire lock") => {
            Err(Error::InUse(dir.to_path_buf()))
        }
        Ok(Err(sled::Error::Io(error))) if is_full(&error) => Err(Error::io(dir, error)),
        Ok(Err(error)) => Err(Error::Damaged(format!("it does not open: {error}"))),
        Err(_) => Err(Error::Damaged("opening it failed badly".to_owned())),
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Fails if a process has the tree in `dir` open: it has locked sled's file.
///
/// # Errors
/// [`Error::InUse`].
pub fn refuse_open(dir: &Path) -> Result<()> {
    let Ok(file) = File::open(dir.join("db")) else { return Ok(()) };
    for _ in 0..ATTEMPTS_MAX {
        if !matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            return Ok(());
        }
        // The threads of a tree that was just dropped may hold its file for a moment.
        std::thread::yield_now();
    }
    Err(Error::InUse(dir.to_path_buf()))
}

/// sled's own flush does not wait for the disk.
pub(crate) fn sync_file(dir: &Path) -> Result<()> {
    let path = dir.join("db");
    File::open(&path).and_then(|file| file.sync_data()).map_err(|error| Error::io(path, error))
}

/// sled never opens again with a torn `snap.N.generating`. It is safe to remove: sled removes the
/// previous one only after the new one has its final name.
fn remove_unfinished_snapshots(dir: &Path) -> Result<()> {
    for entry in fs::read_dir(dir).map_err(|error| Error::io(dir, error))? {
        let path = entry.map_err(|error| Error::io(dir, error))?.path();
        if path.extension().is_some_and(|extension| extension == "generating") {
            fs::remove_file(&path).map_err(|error| Error::io(path, error))?;
        }
    }
    Ok(())
}

/// The boot id of the machine; empty if unknown.
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}
