//! A value behind a lock, and a counter of its changes.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A lock that counts changes: data derived from the value is valid while the count is the same.
#[derive(Debug, Default)]
pub(crate) struct Watched<T> {
    value: RwLock<T>,
    changes: AtomicU64,
}

/// Access for a change, which is counted when it is released.
#[derive(Debug)]
pub(crate) struct Changing<'a, T> {
    value: RwLockWriteGuard<'a, T>,
    changes: &'a AtomicU64,
}

impl<T> Watched<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: RwLock::new(value), changes: AtomicU64::new(0) }
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
        self.value.read()
    }

    /// Access unless it must be waited for.
    pub(crate) fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        self.value.try_read()
    }

    pub(crate) fn write(&self) -> Changing<'_, T> {
        Changing { value: self.value.write(), changes: &self.changes }
    }

    /// Access for a change that does not affect data derived from the value.
    pub(crate) fn write_uncounted(&self) -> RwLockWriteGuard<'_, T> {
        self.value.write()
    }

    /// The number of changes. It stays the same while a reader holds the lock.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }
}

impl<T> Deref for Changing<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Changing<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> Drop for Changing<'_, T> {
    fn drop(&mut self) {
        // Before the lock is released, so that a reader of the change also reads the count.
        self.changes.fetch_add(1, Ordering::AcqRel);
    }
}
