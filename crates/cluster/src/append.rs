//! Appends the records of a part, whatever other parts and machines append in between.

use std::sync::Arc;
use std::time::Duration;

use waypost_journal::{Error, Fence, Journal, Outcome, Position, Until};
use waypost_journal::{LOCKED_BYTES_MAX, LOCKED_RECORDS_MAX};
use waypost_log::{AppendMax, Record, SharedError};

use crate::contact::now;
use crate::hub::Hub;
use crate::part::Part;
use crate::read::check_reached;
use crate::turn::HeadLock;

/// How often an append that is too large for the lock may lose against other machines.
const ROUNDS_MAX: u32 = 100;

/// How many connections may end during one operation.
pub(crate) const CUTS_MAX: u32 = 3;

/// How much one append may have under the lock of the head row.
const LOCKED_MAX: AppendMax = AppendMax { records: LOCKED_RECORDS_MAX, bytes: LOCKED_BYTES_MAX };
/// How much a group of commands should have: a group of one command may have more.
const GROUP_MAX: AppendMax = AppendMax { records: 8192, bytes: 16 << 20 };

/// For this long after another machine was first, an append takes the lock before it is sent. Without
/// it, it would wait for the lock of another one, lose, and wait for the lock again.
const CONTENDED: Duration = Duration::from_millis(100);

/// A part that lacks more records, or a machine that has more to read, catches up before it takes the
/// lock: other machines wait while it has it.
const LACKS_MAX: u64 = 1024;

impl Hub {
    pub(crate) fn append_max(&self, part: Part) -> AppendMax {
        if self.turn.has_lock(part) || self.is_contended(part) { LOCKED_MAX } else { GROUP_MAX }
    }

    /// Whether another machine was first just now, or in this turn.
    fn is_contended(&self, part: Part) -> bool {
        self.turn.catches_up(part) || self.lost_at.lock().is_some_and(|at| now() - at < CONTENDED)
    }

    /// Appends the records of a part behind its record `after`. After `Moved`, the part has the turn
    /// until it appends again or [ends it](Self::end_turn).
    pub(crate) fn append(
        &self,
        part: Part,
        after: u64,
        records: &[Record<'_>],
    ) -> Result<(), SharedError> {
        self.check_compared()?;
        if !self.turn.enter(part, self.options.append_time) {
            let why = "another write of this machine waits for the database";
            return Err(SharedError::Unavailable(why.to_owned()));
        }
        let appended = self.append_in_turn(part, after, records);
        if let Err(why) = &appended
            && why.is_final()
        {
            // The other parts share the journal.
            self.exclude(why.clone());
        }
        if matches!(appended, Err(SharedError::Moved)) {
            self.queues.lock().refused(part, after);
        } else {
            self.end_turn(part);
        }
        appended
    }

    /// Lets other parts append, and other machines.
    pub(crate) fn end_turn(&self, part: Part) {
        self.queues.lock().end_turn(part);
        self.turn.leave(part);
    }

    fn append_in_turn(
        &self,
        part: Part,
        after: u64,
        records: &[Record<'_>],
    ) -> Result<(), SharedError> {
        let until = self.within(self.options.append_time);
        let journal = self.connected(&until)?;
        self.settle(&journal, &until)?;
        let fence = self.fence_of(part)?;
        let new = New { part, after, records: rows(part, after, records), fence };
        let mut cut = 0;
        for _ in 0..ROUNDS_MAX {
            match self.try_append(&journal, &new, &until) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                // Nothing was written, and another connection may do better.
                Err(Stopped::Cut(_)) if cut < CUTS_MAX => cut += 1,
                Err(stopped) => return Err(stopped.into()),
            }
        }
        Err(SharedError::Unavailable(
            "other machines append all the time; try again with a smaller request".to_owned(),
        ))
    }

    /// Appends behind the tail; false if other machines have moved the end, and the part still has
    /// everything.
    fn try_append(
        &self,
        journal: &Arc<Journal>,
        new: &New,
        until: &Until,
    ) -> Result<bool, Stopped> {
        if self.is_contended(new.part) && !new.records.is_empty() && !self.turn.has_lock(new.part) {
            let before = self.tail().seq;
            self.lock_end(journal, new, before, until)?;
            *self.lost_at.lock() = (self.tail().seq > before).then(now);
        }
        let tail = self.tail_with(journal, new.part, new.after, until)?;
        let outcome = if new.records.is_empty() {
            let head = journal.confirm(tail, until).map_err(|error| self.stopped(&error))?;
            let is_same = head.position == tail;
            if is_same { Outcome::Appended(tail) } else { Outcome::Moved(head.position) }
        } else {
            self.append_at(journal, new, tail, until)?
        };
        match outcome {
            Outcome::Appended(end) => {
                self.queues.lock().appended(new.part, tail, &new.records, end);
                self.contact.succeeded();
                Ok(true)
            }
            Outcome::Fenced(_) => Err(self.not_leading().into()),
            Outcome::Moved(end) => {
                *self.lost_at.lock() = Some(now());
                self.lock_end(journal, new, end.seq, until).map(|()| false)
            }
        }
    }

    /// The tail, if the part has everything up to there. `Moved` if it has not.
    fn tail_with(
        &self,
        journal: &Journal,
        part: Part,
        after: u64,
        until: &Until,
    ) -> Result<Position, Stopped> {
        loop {
            let (tail, place) = {
                let queues = self.queues.lock();
                (queues.tail(), queues.place(part))
            };
            if place > after {
                self.turn.catch_up(part);
                return Err(SharedError::Moved.into());
            }
            if place == after {
                return Ok(tail);
            }
            if self.fetch(journal, until)? == Some(tail) {
                check_reached(part, after, place)?;
            }
        }
    }

    /// Appends behind the tail: under the lock of the head row, if the part has it.
    fn append_at(
        &self,
        journal: &Journal,
        new: &New,
        tail: Position,
        until: &Until,
    ) -> Result<Outcome, Stopped> {
        let New { part, records, fence, .. } = new;
        let appended = match self.turn.take_lock(*part) {
            Some(lock) if fits_lock(records) => append_locked(lock, tail, new, until),
            // Without the lock, which is dropped here.
            _ => journal.append(tail, records, *fence, until),
        };
        appended.map_err(|error| {
            if let Error::Unresolved { pending, reason } = &error {
                *self.unsettled.lock() = Some(*pending);
                self.contact.failed(reason.clone());
                return SharedError::Unknown(reason.clone()).into();
            }
            self.stopped(&error)
        })
    }

    /// Reads what other machines have appended up to `end`, and keeps them from appending more, unless
    /// the part must catch up before.
    fn lock_end(
        &self,
        journal: &Arc<Journal>,
        new: &New,
        mut end: u64,
        until: &Until,
    ) -> Result<(), Stopped> {
        if fits_lock(&new.records) && !self.turn.has_lock(new.part) {
            let known = self.end().max(end);
            if known > self.tail().seq + LACKS_MAX {
                self.read_to(known, journal, until)?;
            }
            let lacks = self.queues.lock().place(new.part).saturating_sub(new.after);
            if lacks > LACKS_MAX && self.turn.may_catch_up(new.part) {
                // `tail_with` refuses the append.
                return Ok(());
            }
            let lock = journal.lock(until).map_err(|error| self.stopped(&error))?;
            end = end.max(lock.position().seq);
            // If this machine has read more, the lock has ended while its answer was on its way, or
            // the server has lost records: an append without the lock finds out.
            if lock.position().seq >= self.tail().seq {
                self.turn.put_lock(new.part, lock);
            }
        }
        self.read_to(end, journal, until)?;
        if self.turn.has_lock(new.part) {
            // Nothing can follow.
            self.queues.lock().set_locked(new.part);
        }
        Ok(())
    }

    fn read_to(&self, end: u64, journal: &Journal, until: &Until) -> Result<(), Stopped> {
        while self.tail().seq < end && self.fetch(journal, until)?.is_none() {}
        Ok(())
    }

    /// The fence of a part's appends.
    fn fence_of(&self, part: Part) -> Result<Fence, SharedError> {
        match part {
            Part::Flows => self.fence().map(Some).ok_or_else(|| self.not_leading()),
            Part::Memory | Part::Events | Part::Notices => Ok(None),
        }
    }

    /// The error of what only the machine with the lease may do, with that machine's name.
    pub fn not_leading(&self) -> SharedError {
        SharedError::Elsewhere(match self.leader() {
            Some((_, name)) => format!("the machine {name} of the cluster runs the flows"),
            None => "another machine of the cluster runs the flows".to_owned(),
        })
    }

    /// Finds out what became of an append whose outcome is unknown, if there is one. Its records are
    /// read as those of other machines are.
    pub(crate) fn settle(&self, journal: &Journal, until: &Until) -> Result<(), Stopped> {
        let mut unsettled = self.unsettled.lock();
        let Some(pending) = &*unsettled else { return Ok(()) };
        journal.resolve(pending, until).map_err(|error| self.stopped(&error))?;
        *unsettled = None;
        Ok(())
    }

    pub(crate) fn connected(&self, until: &Until) -> Result<Arc<Journal>, SharedError> {
        self.journal(until).map_err(|error| {
            self.contact.failed(error.to_string());
            error.into()
        })
    }

    /// Notes a failure.
    pub(crate) fn stopped(&self, error: &Error) -> Stopped {
        self.contact.failed(error.to_string());
        match error {
            Error::Connection(_) => Stopped::Cut(crate::shared::shared(error)),
            error => Stopped::Failed(crate::shared::shared(error)),
        }
    }
}

/// What a part appends.
struct New {
    part: Part,
    after: u64,
    records: Vec<waypost_journal::Record>,
    fence: Fence,
}

/// Why an operation on the journal stopped.
#[derive(Debug)]
pub(crate) enum Stopped {
    /// The connection ended, and nothing was written: another one may do better.
    Cut(SharedError),
    Failed(SharedError),
}

impl From<SharedError> for Stopped {
    fn from(error: SharedError) -> Self {
        Self::Failed(error)
    }
}

impl From<Stopped> for SharedError {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Cut(error) | Stopped::Failed(error) => error,
        }
    }
}

fn append_locked(
    lock: HeadLock,
    tail: Position,
    new: &New,
    until: &Until,
) -> Result<Outcome, Error> {
    match lock.append(tail, &new.records, new.fence, until) {
        // Nothing was written, and others may have appended.
        Err(Error::LockLost) => Ok(Outcome::Moved(tail)),
        other => other,
    }
}

fn fits_lock(records: &[waypost_journal::Record]) -> bool {
    let bytes: usize = records.iter().map(|record| record.payload.len()).sum();
    records.len() <= LOCKED_RECORDS_MAX && bytes <= LOCKED_BYTES_MAX
}

fn rows(part: Part, after: u64, records: &[Record<'_>]) -> Vec<waypost_journal::Record> {
    let row = |(place, it): (u64, &Record<'_>)| waypost_journal::Record {
        part: part.number(),
        place,
        kind: it.kind,
        version: it.version,
        payload: it.payload.to_vec(),
    };
    (after + 1..).zip(records).map(row).collect()
}
