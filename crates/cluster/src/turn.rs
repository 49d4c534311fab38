//! One part of this machine appends at a time.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use waypost_journal::{Guard, Journal};

/// The lock of the head row, which keeps other machines from appending.
pub(crate) type HeadLock = Guard<Arc<Journal>>;

use crate::part::Part;

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
}

impl Turn {
    /// Waits until no other part appends; false if that takes too long.
    pub(crate) fn enter(&self, part: Part, time: Duration) -> bool {
        let mut holder = self.holder.lock();
        let is_other = |it: &mut Holder| it.part.is_some_and(|it| it != part);
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
        !self.free.wait_while_for(&mut holder, |it| it.part.is_some(), time).timed_out()
    }

    pub(crate) fn has_lock(&self, part: Part) -> bool {
        let holder = self.holder.lock();
        holder.part == Some(part) && holder.lock.is_some()
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
