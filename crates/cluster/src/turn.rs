//! One part of this machine appends at a time.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use waypost_journal::Guard;

/// The lock of the head row, which keeps other machines from appending.
pub(crate) type HeadLock = Guard;

use crate::part::Part;

/// How often a part catches up without the lock in one turn. If others append faster than it does, it
/// takes the lock after that, and they wait.
const CATCH_UPS_MAX: u32 = 10;

/// Who appends.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    holder: Mutex<Holder>,
    free: Condvar,
}

#[derive(Debug, Default)]
struct Holder {
    part: Option<Part>,
    /// Kept between an append that was refused and the next one.
    lock: Option<HeadLock>,
    /// How often an append of the part was refused because it lacks records.
    catch_ups: u32,
}

impl Turn {
    /// Waits until no other part appends; false if that takes too long.
    pub(crate) fn enter(&self, part: Part, time: Duration) -> bool {
        let mut holder = self.holder.lock();
        let is_other = |holder: &mut Holder| holder.part.is_some_and(|other| other != part);
        if self.free.wait_while_for(&mut holder, is_other, time).timed_out() {
            return false;
        }
        holder.part = Some(part);
        true
    }

    /// Lets other parts append, and other machines.
    pub(crate) fn leave(&self, part: Part) {
        let mut holder = self.holder.lock();
        if holder.part == Some(part) {
            let lock = std::mem::take(&mut *holder).lock;
            drop(holder);
            // Dropping it talks to the database.
            drop(lock);
            self.free.notify_all();
        }
    }

    /// Whether no part appends, now or within this time.
    pub(crate) fn is_free_within(&self, time: Duration) -> bool {
        let mut holder = self.holder.lock();
        !self.free.wait_while_for(&mut holder, |free| free.part.is_some(), time).timed_out()
    }

    pub(crate) fn has_lock(&self, part: Part) -> bool {
        let holder = self.holder.lock();
        holder.part == Some(part) && holder.lock.is_some()
    }

    /// Notes that an append of a part was refused because it lacks records.
    pub(crate) fn catch_up(&self, part: Part) {
        let mut holder = self.holder.lock();
        if holder.part == Some(part) {
            holder.catch_ups += 1;
        }
    }

    /// Whether a part has to [catch up](Self::catch_up) in its turn.
    pub(crate) fn catches_up(&self, part: Part) -> bool {
        self.catch_ups(part) > 0
    }

    /// Whether a part may catch up once more before it takes the lock.
    pub(crate) fn may_catch_up(&self, part: Part) -> bool {
        self.catch_ups(part) < CATCH_UPS_MAX
    }

    fn catch_ups(&self, part: Part) -> u32 {
        let holder = self.holder.lock();
        if holder.part == Some(part) { holder.catch_ups } else { 0 }
    }

    /// Takes the lock of the head row out of the turn of a part.
    pub(crate) fn take_lock(&self, part: Part) -> Option<HeadLock> {
        let mut holder = self.holder.lock();
        if holder.part == Some(part) { holder.lock.take() } else { None }
    }

    pub(crate) fn put_lock(&self, part: Part, lock: HeadLock) {
        let mut holder = self.holder.lock();
        if holder.part == Some(part) {
            holder.lock = Some(lock);
        }
    }
}
