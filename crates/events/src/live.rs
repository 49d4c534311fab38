//! The end of what readers may see, and waking readers that wait for more.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex, RwLock};

type Listener = Arc<dyn Fn(u64) + Send + Sync>;

/// The end of what is visible.
#[derive(Default)]
pub(crate) struct Live {
    last: AtomicU64,
    waiting: AtomicUsize,
    lock: Mutex<()>,
    more: Condvar,
    /// Held while listeners are called, so that they get increasing ids.
    showing: Mutex<()>,
    listeners: RwLock<Arc<Vec<(u64, Listener)>>>,
    next_listener: AtomicU64,
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("last", &self.last).finish_non_exhaustive()
    }
}

impl Live {
    pub(crate) fn starting_at(last: u64) -> Self {
        Self { last: AtomicU64::new(last), ..Self::default() }
    }

    /// The last event that may be seen.
    pub(crate) fn last(&self) -> u64 {
        self.last.load(Ordering::Acquire)
    }

    /// Makes the events up to `last` visible and calls the listeners, if they were not visible.
    pub(crate) fn show(&self, last: u64) {
        if last <= self.last() {
            return;
        }
        let _in_order = self.showing.lock();
        if self.last.fetch_max(last, Ordering::SeqCst) >= last {
            return;
        }
        if self.waiting.load(Ordering::SeqCst) > 0 {
            // A reader that has checked but does not sleep yet holds the lock.
            drop(self.lock.lock());
            self.more.notify_all();
        }
        // Without the lock: a listener may end its own subscription.
        let listeners = Arc::clone(&self.listeners.read());
        for (_, listener) in listeners.iter() {
            listener(last);
        }
    }

    /// Waits until there is an event after `id` or the timeout has passed. Returns the last event.
    pub(crate) fn wait_beyond(&self, id: u64, timeout: Duration) -> u64 {
        if self.last() > id {
            return self.last();
        }
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let mut lock = self.lock.lock();
        let beyond = |(): &mut ()| self.last.load(Ordering::SeqCst) <= id;
        self.more.wait_while_for(&mut lock, beyond, timeout);
        drop(lock);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        self.last()
    }

    fn listen(&self, listener: Listener) -> u64 {
        let number = self.next_listener.fetch_add(1, Ordering::Relaxed);
        self.change(|it| it.push((number, listener)));
        number
    }

    fn change(&self, change: impl FnOnce(&mut Vec<(u64, Listener)>)) {
        let mut listeners = self.listeners.write();
        let mut changed = listeners.to_vec();
        change(&mut changed);
        *listeners = Arc::new(changed);
    }
}

/// A subscription, which calls its listener until it is dropped.
#[must_use = "dropping it ends it"]
pub struct Subscription {
    live: Arc<Live>,
    number: u64,
}

impl Subscription {
    pub(crate) fn new(live: &Arc<Live>, listener: Box<dyn Fn(u64) + Send + Sync>) -> Self {
        let number = live.listen(listener.into());
        Self { live: Arc::clone(live), number }
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.live.change(|live| live.retain(|(number, _)| *number != self.number));
    }
}
