//! A shared journal in a log on disk, for several stores of this process: durable, in one order, with
//! a lock for a replica that has lost, and faults on request.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use waypost_log::{AppendMax, Entry, Log, Options, Record, SharedError, SharedJournal};

/// Longer than any test needs the lock.
const LOCKED_MAX: Duration = Duration::from_secs(20);

/// The part that all replicas share.
pub(crate) struct Hub {
    log: Mutex<Log>,
    /// The replica that has the lock.
    holder: Mutex<Option<usize>>,
    released: Condvar,
    max: AppendMax,
    page: usize,
}

/// One replica's access to it.
pub(crate) struct Member {
    hub: Arc<Hub>,
    number: usize,
    fault: Mutex<Option<Fault>>,
    /// Called with [`Fault::LostFolder`].
    pub(crate) lose_folder: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    pub(crate) moved: AtomicU64,
    pub(crate) appends: AtomicU64,
    /// The most records of one append.
    pub(crate) largest: AtomicUsize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing reaches the hub until this ends.
    Unreachable,
    /// The next append is written, and its answer is lost.
    LostAnswer,
    /// The next append is not written, and its answer is lost.
    LostAppend,
    /// The folder of the replica is moved away when the next append was written.
    LostFolder,
    /// Reads leave out the record after the one that is asked for.
    Gap,
}

impl Hub {
    pub(crate) fn open(dir: &Path, max: AppendMax, page: usize) -> Arc<Self> {
        let (log, _) = Log::open(dir, &Options::default()).expect("a log");
        let log = Mutex::new(log);
        Arc::new(Self { log, holder: Mutex::default(), released: Condvar::new(), max, page })
    }

    pub(crate) fn member(self: &Arc<Self>, number: usize) -> Arc<Member> {
        Arc::new(Member {
            hub: Arc::clone(self),
            number,
            fault: Mutex::default(),
            lose_folder: Mutex::default(),
            moved: AtomicU64::new(0),
            appends: AtomicU64::new(0),
            largest: AtomicUsize::new(0),
        })
    }

    pub(crate) fn last(&self) -> u64 {
        self.log.lock().last_sequence()
    }

    /// What a crash of the machine with the hub does: opens the log again.
    pub(crate) fn restart(&self, dir: &Path) {
        let mut log = self.log.lock();
        let spare = tempfile::tempdir().expect("a folder");
        let (other, _) = Log::open(spare.path(), &Options::default()).expect("a log");
        drop(std::mem::replace(&mut *log, other));
        *log = Log::open(dir, &Options::default()).expect("the log opens").0;
    }

    /// Whether some replica has the lock.
    pub(crate) fn is_locked(&self) -> bool {
        self.holder.lock().is_some()
    }

    fn enter(&self, number: usize) {
        let mut holder = self.holder.lock();
        let is_other = |other: &mut Option<usize>| other.is_some_and(|it| it != number);
        let waited = self.released.wait_while_for(&mut holder, is_other, LOCKED_MAX);
        assert!(!waited.timed_out(), "replica {holder:?} keeps the lock");
    }

    fn leave(&self, number: usize) {
        self.holder.lock().take_if(|holder| *holder == number);
        self.released.notify_all();
    }
}

impl Member {
    pub(crate) fn set_fault(&self, fault: Option<Fault>) {
        *self.fault.lock() = fault;
    }

    fn check_reachable(&self) -> Result<(), SharedError> {
        match *self.fault.lock() {
            Some(Fault::Unreachable) => Err(SharedError::Unavailable("no connection".to_owned())),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member").field("number", &self.number).finish_non_exhaustive()
    }
}

impl SharedJournal for Member {
    fn append_max(&self) -> AppendMax {
        self.hub.max
    }

    fn append(&self, after: u64, records: &[Record<'_>]) -> Result<(), SharedError> {
        // A connection that ends takes its lock with it.
        self.check_reachable().inspect_err(|_| self.release())?;
        self.hub.enter(self.number);
        let lost = || Err(SharedError::Unknown("the connection ended".to_owned()));
        let fault = self.fault.lock().take_if(|fault| *fault != Fault::Gap);
        if fault == Some(Fault::LostAppend) {
            self.release();
            return lost();
        }
        let log = self.hub.log.lock();
        let last = log.last_sequence();
        if last < after {
            self.release();
            return Err(SharedError::Diverged(format!("it ends at record {last}, not {after}")));
        }
        if last > after {
            self.moved.fetch_add(1, Ordering::Relaxed);
            *self.hub.holder.lock() = Some(self.number);
            return Err(SharedError::Moved);
        }
        if !records.is_empty() {
            log.append_batch_after(after, records).expect("the hub's disk takes it");
            self.appends.fetch_add(1, Ordering::Relaxed);
            self.largest.fetch_max(records.len(), Ordering::Relaxed);
        }
        drop(log);
        self.release();
        match fault {
            Some(Fault::LostAnswer) => return lost(),
            Some(Fault::LostFolder) => {
                if let Some(lose) = self.lose_folder.lock().take() {
                    lose();
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn release(&self) {
        self.hub.leave(self.number);
    }

    fn read(&self, after: u64) -> Result<Vec<Entry>, SharedError> {
        self.check_reachable()?;
        let log = self.hub.log.lock();
        let last = log.last_sequence();
        if last < after {
            return Err(SharedError::Diverged(format!("it ends at record {last}, not {after}")));
        }
        let after = after + u64::from(*self.fault.lock() == Some(Fault::Gap));
        let entries = log.entries_after(after).take(self.hub.page);
        Ok(entries.collect::<Result<_, _>>().expect("the hub's disk is sound"))
    }
}
