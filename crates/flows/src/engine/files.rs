//! The engine's files, for use without a lock on the engine.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use waypost_log::{Damage, Entry, FolderLock, Log, Refused, Snapshot, Upstream};

use super::error::Error;
use crate::RunId;
use crate::journal::JournalDir;

/// The files of an engine: the journal, and the output of programs. They can be used while the engine
/// runs; the folder stays locked until the last copy is dropped.
#[derive(Debug, Clone)]
pub struct Files(Arc<Held>);

/// Some records that the shared journal has and a replica does not.
#[derive(Debug, Default)]
pub struct Page(pub(super) Vec<Entry>);

impl Page {
    /// Whether the shared journal had nothing more.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[derive(Debug)]
struct Held {
    log: Log,
    /// What decides the order of the records, if it is not the log.
    upstream: Option<Upstream>,
    dir: PathBuf,
    /// The last record that the engine has applied, of those that are in the journal.
    position: Mutex<u64>,
    moved: Condvar,
    _lock: FolderLock,
}

impl Files {
    pub(crate) fn new(
        log: Log,
        upstream: Option<Upstream>,
        dir: PathBuf,
        lock: FolderLock,
    ) -> Self {
        let position = Mutex::new(log.last_sequence());
        let moved = Condvar::new();
        Self(Arc::new(Held { log, upstream, dir, position, moved, _lock: lock }))
    }

    pub(crate) fn log(&self) -> &Log {
        &self.0.log
    }

    pub(super) fn upstream(&self) -> Option<&Upstream> {
        self.0.upstream.as_ref()
    }

    /// The files for a backup, by their paths in the engine's folder: the journal with everything that
    /// was committed, and what programs wrote. Output that is removed meanwhile is left out.
    ///
    /// # Errors
    /// [`Error::Log`].
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        let journal = self.0.log.snapshot()?.under("log");
        let output = Snapshot::default().and_folder(&self.0.dir.join("output"), &|_| true)?;
        Ok(journal.and(output.under("output")))
    }

    /// The damage that reads have met in the journal since it was opened: [`repair`](crate::repair)
    /// sets it aside. Reads no file.
    pub fn damage(&self) -> Vec<Damage> {
        self.0.log.damage()
    }

    /// Where the output of a run is.
    pub fn output_dir(&self, run: &RunId) -> PathBuf {
        self.0.dir.join("output").join(run.to_string())
    }

    /// The runs that have output on this machine.
    ///
    /// # Errors
    /// [`Error::Log`].
    pub fn outputs(&self) -> Result<Vec<RunId>, Error> {
        let dir = self.0.dir.join("output");
        let entries = match std::fs::read_dir(&dir) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|source| waypost_log::Error::Io {
                operation: "read",
                path: dir,
                source: Arc::new(source),
            })?,
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Ok(names.filter_map(|name| name.parse().ok()).collect())
    }

    /// The position up to which the engine has the records of the journal: whoever locks the engine
    /// afterwards finds everything up to there.
    pub fn position(&self) -> u64 {
        *self.0.position.lock()
    }

    /// Waits until the engine has a position, at most `timeout`, and returns whether it has. Another
    /// thread must make the engine [follow](crate::Engine::follow).
    pub fn wait_for(&self, position: u64, timeout: Duration) -> bool {
        let mut now = self.0.position.lock();
        let waited = self.0.moved.wait_while_for(&mut now, |moved| *moved < position, timeout);
        !waited.timed_out() || *now >= position
    }

    /// Compares the records of the journal on this machine with the shared journal, once. Everything
    /// that reads or appends there does it, too; call it before that where other stores share the
    /// journal, which may give nothing before all of them were compared. It waits for the shared
    /// journal, so call it without a lock on the engine.
    ///
    /// # Errors
    /// [`Error::SharedJournal`] and [`Error::Log`].
    pub fn compare(&self) -> Result<(), Error> {
        let Some(upstream) = self.upstream() else { return Ok(()) };
        upstream.compare(self.log()).map_err(|error| self.refused(error))
    }

    /// Reads some records that the shared journal has and this machine does not, for
    /// [`Engine::take_page`](crate::Engine::take_page). It waits for the shared journal, so call it
    /// without a lock on the engine.
    ///
    /// # Errors
    /// [`Error::SharedJournal`] and [`Error::Log`].
    pub fn page(&self) -> Result<Page, Error> {
        let Some(upstream) = self.upstream() else { return Ok(Page::default()) };
        let page = upstream.page(self.log(), self.log().last_sequence());
        page.map(Page).map_err(|error| self.refused(error))
    }

    /// Syncs the journal on this machine, and returns its last record that is on disk. A replica
    /// does not do it for each commit.
    ///
    /// # Errors
    /// [`Error::Log`].
    pub fn sync(&self) -> Result<u64, Error> {
        self.0.log.sync().map_err(|error| self.error(error))?;
        Ok(self.0.log.reached())
    }

    /// Shows how far the engine is.
    pub(super) fn reach(&self) {
        *self.0.position.lock() = self.0.log.last_sequence();
        self.0.moved.notify_all();
    }

    pub(super) fn refused(&self, refused: Refused) -> Error {
        match refused {
            Refused::Moved => Error::NotLeading,
            Refused::Shared(why) => Error::SharedJournal(why),
            Refused::Failed(error) | Refused::Behind(error) => self.error(error),
        }
    }

    pub(super) fn error(&self, error: waypost_log::Error) -> Error {
        JournalDir::new(&self.0.dir).error(error)
    }
}
