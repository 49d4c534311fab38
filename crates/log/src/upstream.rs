//! The shared journal as a store with a copy of it uses it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::{AppendMax, Entry, Error, ErrorKind, Log, Record, SharedError, SharedJournal};

/// A [`SharedJournal`] and what its replica knows of it. The replica's [`Log`] is passed to each
/// call: it is the copy.
///
/// The log is not synced for it: what a power cut takes from the copy is in the shared journal.
#[derive(Debug)]
pub struct Upstream {
    journal: Arc<dyn SharedJournal>,
    /// Whether two records with one number are the same record.
    is_same: fn(&Entry, &Entry) -> bool,
    /// Whether the shared journal has the records that the log had when it was opened.
    is_compared: AtomicBool,
    /// Why it is no longer used, if so.
    fault: Mutex<Option<SharedError>>,
}

/// Why records were not appended or copied.
#[derive(Debug, Clone)]
pub enum Refused {
    /// Others have appended since. The commands must be decided again on top of that.
    Moved,
    /// The shared journal did not take the records, or it is unknown whether it did; the log has
    /// none of them. It is not [`SharedError::Moved`].
    Shared(SharedError),
    /// Nothing was written, or it is unknown.
    Failed(Error),
    /// The shared journal has the records, and the log does not, or it is unknown.
    Behind(Error),
}

/// A lock of the shared journal, perhaps, which is released when this is dropped.
#[derive(Debug)]
pub struct Held<'a>(&'a dyn SharedJournal);

impl Upstream {
    /// A shared journal that was not used yet. `is_same` compares a record of the log with the record
    /// that the shared journal has under its number. It is more than equality where a replica may
    /// erase parts of its copy.
    pub fn new(journal: Arc<dyn SharedJournal>, is_same: fn(&Entry, &Entry) -> bool) -> Self {
        Self { journal, is_same, is_compared: AtomicBool::new(false), fault: Mutex::default() }
    }

    /// How much the next append may have.
    pub fn append_max(&self) -> AppendMax {
        self.journal.append_max()
    }

    /// Why the shared journal is not used until the store is opened again, if so.
    pub fn fault(&self) -> Option<String> {
        self.fault.lock().as_ref().map(ToString::to_string)
    }

    /// Compares the records of the log with the shared journal, once. [`append`](Self::append) and
    /// [`page`](Self::page) do it first.
    ///
    /// # Errors
    /// [`Refused::Shared`] and [`Refused::Failed`].
    pub fn compare(&self, log: &Log) -> Result<(), Refused> {
        self.check()?;
        if self.is_compared.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut failed = None;
        let mut is_same = |there: &Entry| match log.read(there.sequence) {
            // Without one, the log has removed it.
            Ok(own) => own.is_none_or(|own| (self.is_same)(there, &own)),
            // Who reads it reports it. It shows no other history.
            Err(error) if error.kind() == ErrorKind::Damaged => true,
            Err(error) => {
                failed = Some(error);
                false
            }
        };
        let compared = self.journal.compare(log.last_sequence(), &mut is_same);
        if let Some(error) = failed {
            return Err(Refused::Failed(error));
        }
        compared.map_err(|error| self.refused(error))?;
        self.is_compared.store(true, Ordering::Release);
        Ok(())
    }

    /// The last record that a compaction may remove: the next start compares those behind it.
    pub fn base(&self) -> u64 {
        self.journal.base()
    }

    /// Appends records to the shared journal and then to the log, behind the sequence `after`, which
    /// is the log's last. Without records, checks that others have not appended.
    ///
    /// # Errors
    /// Any [`Refused`].
    pub fn append(&self, log: &Log, after: u64, records: &[Record<'_>]) -> Result<(), Refused> {
        // The shared journal must not get what this machine cannot take.
        check_end(log, after)?;
        self.compare(log)?;
        check_space(log, records)?;
        self.journal.append(after, records).map_err(|error| self.refused(error))?;
        copy_all(log, records)
    }

    /// Appends records to the log that the shared journal has behind the sequence `after`.
    ///
    /// # Errors
    /// [`Refused::Failed`] and [`Refused::Behind`].
    pub fn copy(&self, log: &Log, after: u64, records: &[Record<'_>]) -> Result<(), Refused> {
        check_end(log, after)?;
        check_space(log, records)?;
        copy_all(log, records)
    }

    /// Appends to the log those records of a page that it lacks, and returns what `read` makes of each.
    /// No record gets into the log that `read` refuses.
    ///
    /// # Errors
    /// Any [`Refused`] but [`Refused::Moved`].
    pub fn take<T, E: fmt::Display>(
        &self,
        log: &Log,
        page: &[Entry],
        read: impl Fn(&Entry) -> Result<T, E>,
    ) -> Result<Vec<T>, Refused> {
        let after = log.last_sequence();
        let new = page.iter().filter(|page| page.sequence > after);
        let new = (after + 1..).zip(new).take_while(|(number, it)| *number == it.sequence);
        let (mut records, mut taken) = (Vec::new(), Vec::new());
        for (_, entry) in new {
            taken.push(read(entry).map_err(|why| {
                let why = format!("it has a record that cannot be applied: {why}");
                self.stop(SharedError::Diverged(why))
            })?);
            let Entry { kind, version, payload, .. } = entry;
            records.push(Record { kind: *kind, version: *version, payload });
        }
        self.copy(log, after, &records)?;
        Ok(taken)
    }

    /// Some records that the shared journal has after the sequence `after`, in order and without
    /// gaps.
    ///
    /// # Errors
    /// [`Refused::Shared`] and [`Refused::Failed`].
    pub fn page(&self, log: &Log, after: u64) -> Result<Vec<Entry>, Refused> {
        self.compare(log)?;
        let page = self.journal.read(after).map_err(|error| self.refused(error))?;
        let gap = (after + 1..).zip(&page).find(|pair| pair.0 != pair.1.sequence);
        if let Some((number, found)) = gap {
            return Err(self.stop(SharedError::Diverged(format!(
                "the shared journal has record {} where {number} is expected",
                found.sequence
            ))));
        }
        Ok(page)
    }

    /// Ends with the value that is returned what the shared journal may have begun when it refused an
    /// append.
    pub fn hold(&self) -> Held<'_> {
        Held(&*self.journal)
    }

    /// Uses the shared journal no more until the store is opened again, because of `fault`.
    pub fn stop(&self, fault: SharedError) -> Refused {
        Refused::Shared(self.fault.lock().insert(fault).clone())
    }

    fn check(&self) -> Result<(), Refused> {
        self.fault.lock().clone().map_or(Ok(()), |fault| Err(Refused::Shared(fault)))
    }

    fn refused(&self, error: SharedError) -> Refused {
        match error {
            SharedError::Moved => Refused::Moved,
            error if error.is_final() => self.stop(error),
            error => Refused::Shared(error),
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

fn copy_all(log: &Log, records: &[Record<'_>]) -> Result<(), Refused> {
    if records.is_empty() {
        return Ok(());
    }
    log.append_batch_unsynced(records).map(|_| ()).map_err(Refused::Behind)
}

/// The state that follows the log needs space, too.
fn check_space(log: &Log, records: &[Record<'_>]) -> Result<(), Refused> {
    if records.is_empty() || !log.is_full() { Ok(()) } else { Err(Refused::Failed(Error::Full)) }
}

fn check_end(log: &Log, after: u64) -> Result<(), Refused> {
    if let Some(error) = log.fault() {
        return Err(Refused::Failed(error));
    }
    match log.last_sequence() {
        last if last == after => Ok(()),
        last => Err(Refused::Failed(Error::Moved { expected: after, last })),
    }
}
