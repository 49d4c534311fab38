//! The tree: opening it, reading and writing rows.

use std::fs::{self, File};
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

/// sled gives space back at this segment size; it is fixed for ever when a tree is made.
const SEGMENT_BYTES: usize = 8 * 1024 * 1024;
/// How often sled's thread looks for what is to be written. Nothing waits for it: what a crash takes is
/// in the log, and who wants it on disk calls [`Tree::sync`].
const FLUSH_EVERY_MS: u64 = 2_000;
/// How often it is tried to open a file that is held.
const ATTEMPTS_MAX: usize = 1000;
/// There while the tree is open: it names the boot that it was opened in.
pub(crate) const RUNNING: &str = "waypost-running";
/// Stands in it instead of the boot when the tree must be built anew.
const REBUILD: &str = "rebuild";
/// Why a tree is [`Unusable`] that was closed after [`Tree::rebuild_at_next_open`]: it had no fault
/// of its own.
pub const MARKED: &str = "it was marked to be rebuilt";

/// A change of one key: the new value, or that it goes. A value has at most 64 KiB: larger ones
/// would go to files that sled never syncs.
pub type Write = (Vec<u8>, Option<Vec<u8>>);

/// Told a key and its value; says whether to go on.
pub type Each<'a, E> = dyn FnMut(&[u8], &[u8]) -> std::result::Result<ControlFlow<()>, E> + 'a;

/// How a tree is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Bytes that sled's cache may take.
    pub cache_bytes: u64,
    /// The version of the caller's values: a tree with others is damaged to it.
    pub value_version: u8,
}

/// An open tree.
#[derive(Debug)]
pub struct Tree {
    /// Locked before `db`, never after it.
    pending: RwLock<Pending>,
    /// `None` only while it is opened again after a failed write.
    pub(crate) db: RwLock<Option<sled::Db>>,
    pub(crate) dir: PathBuf,
    pub(crate) options: Options,
    on_change: Option<fn()>,
    /// Set when it must be built anew at the next opening.
    pub(crate) suspect: AtomicBool,
    /// Set when an operation failed: sled takes no writes any more after one that failed.
    pub(crate) broken: AtomicBool,
}

impl Tree {
    /// Opens the tree in `dir` or makes one. `boot` is [`boot_id`]. One process at a time may have
    /// it open: that is the caller's part.
    ///
    /// `Err(Unusable)` inside means: [`set_aside`](crate::set_aside), and build it anew.
    pub fn open(
        dir: &Path,
        options: &Options,
        boot: &str,
    ) -> Result<std::result::Result<Self, Unusable>> {
        Self::open_watched(dir, options, boot, None)
    }

    /// As [`Self::open`]. `on_change` is called before each change of a file but sled's own, for
    /// tests that end the process there.
    pub fn open_watched(
        dir: &Path,
        options: &Options,
        boot: &str,
        on_change: Option<fn()>,
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
        call(on_change);
        write_synced(&marker, boot.as_bytes())?;
        call(on_change);
        sync_dir(dir)?;
        let db = match open_sled(dir, options.cache_bytes) {
            Ok(db) => db,
            Err(unusable) => return Ok(Err(unusable)),
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
        value.map(|it| self.unwrap(key, &it)).transpose()
    }

    fn unwrap(&self, key: &[u8], value: &[u8]) -> Result<Vec<u8>> {
        unwrap(self.options.value_version, key, value).map_err(|why| {
            self.rebuild_at_next_open();
            Error::Damaged(format!(
                "a record of the state is damaged ({why}); restart to rebuild it from the log"
            ))
        })
    }

    /// Has the tree built anew when it is next opened.
    pub fn rebuild_at_next_open(&self) {
        if !self.suspect.swap(true, Ordering::AcqRel) {
            // If this cannot be written either, the damage is found again.
            drop(write_synced(&self.dir.join(RUNNING), REBUILD.as_bytes()));
        }
    }

    /// All keys with a prefix and their values, in order, until `each` breaks. What waits is given
    /// to sled first.
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

    /// Applies some changes at once. sled is given them later, with others, but all at once, too.
    pub fn write(&self, rows: Vec<Write>) -> Result<()> {
        if !self.pending.read().has_room(&rows) {
            self.flush()?;
        }
        self.pending.write().extend(rows);
        Ok(())
    }

    /// Gives sled what waits for it.
    fn flush(&self) -> Result<()> {
        let mut pending = self.pending.write();
        if !pending.is_empty() {
            self.guard(|db| db.apply_batch(pending.batch(self.options.value_version)))?;
            pending.clear();
        }
        Ok(())
    }

    /// Whether it must be opened again before it takes writes. A write in sled's background may
    /// have failed, which only a scan tells: `probe` is a prefix with few keys.
    pub fn is_broken(&self, probe: &[u8]) -> bool {
        let probe = self.guard(|db| db.scan_prefix(probe).next().transpose().map(|_| ()));
        probe.is_err() || self.broken.load(Ordering::Acquire)
    }

    /// Lets go of the files, so that they can be opened again.
    pub fn release(&self) {
        let db = self.db.write().take();
        // sled panics when it cannot write what it still has; the log has it.
        drop(catch_unwind(AssertUnwindSafe(|| drop(db))));
    }

    /// Takes the files of another tree over, and what waits for them.
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

    /// Syncs and removes the mark of an unclean stop. The tree must not be used any more.
    pub fn close(&self) -> Result<()> {
        self.sync()?;
        if self.suspect.load(Ordering::Acquire) {
            return Ok(());
        }
        self.changing();
        let marker = self.dir.join(RUNNING);
        fs::remove_file(&marker).map_err(|it| Error::io(marker, it))?;
        sync_dir(&self.dir)
    }

    /// Says that a file is about to be changed.
    pub(crate) fn changing(&self) {
        call(self.on_change);
    }

    /// sled panics on damage that it does not expect; a reader must get an error instead.
    fn guard<T>(&self, operation: impl FnOnce(&sled::Db) -> sled::Result<T>) -> Result<T> {
        // Recursive: a scan's reader may read again, whoever waits to open the tree anew.
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
pub(crate) fn open_sled(dir: &Path, cache_bytes: u64) -> std::result::Result<sled::Db, Unusable> {
    let config = sled::Config::new()
        .path(dir)
        .segment_size(SEGMENT_BYTES)
        .cache_capacity(cache_bytes)
        .flush_every_ms(Some(FLUSH_EVERY_MS))
        .use_compression(false);
    let mut attempts = 0;
    loop {
        attempts += 1;
        match catch_unwind(AssertUnwindSafe(|| config.open())) {
            Ok(Ok(db)) => return Ok(db),
            // The threads of a tree that was just dropped may hold its file a moment longer.
            Ok(Err(sled::Error::Io(error)))
                if attempts < ATTEMPTS_MAX && error.to_string().contains("acquire lock") =>
            {
                std::thread::yield_now();
            }
            Ok(Err(error)) => return Err(Unusable(format!("it does not open: {error}"))),
            Err(_) => return Err(Unusable("opening it failed badly".to_owned())),
        }
    }
}

/// sled's own flush does not wait for the disk.
pub(crate) fn sync_file(dir: &Path) -> Result<()> {
    let path = dir.join("db");
    File::open(&path).and_then(|it| it.sync_data()).map_err(|it| Error::io(path, it))
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

/// Identifies this run of the machine; empty where it cannot be told.
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|it| it.trim().to_owned())
        .unwrap_or_default()
}
