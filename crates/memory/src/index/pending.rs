//! The memories that lack a vector of the current model, the last changed first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::MemoryId;

/// Memories whose vector is pending. The last added or changed one comes first: a client that adds
/// a memory often searches for it next, and must not wait for a backlog of thousands.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// The position of each in the queue: a counter, not a time.
    since: BTreeMap<MemoryId, u64>,
    order: BTreeMap<u64, MemoryId>,
    /// The next value of the counter.
    next: u64,
    /// The next value at the last [`take`](Self::take).
    seen: AtomicU64,
    /// How many were taken ahead of others since a batch had room for these.
    ahead: AtomicUsize,
}

impl Pending {
    pub(crate) fn len(&self) -> usize {
        self.since.len()
    }

    /// Puts a memory first, even if it is already pending.
    pub(crate) fn insert(&mut self, id: MemoryId) {
        let order = self.next;
        self.next += 1;
        if let Some(before) = self.since.insert(id, order) {
            self.order.remove(&before);
        }
        self.order.insert(order, id);
    }

    /// Removes a memory, and returns whether it was pending.
    pub(crate) fn remove(&mut self, id: MemoryId) -> bool {
        let order = self.since.remove(&id);
        order.is_some_and(|order| self.order.remove(&order).is_some())
    }

    /// The memories to embed next, at most `limit`, the last changed first, except those in `taken`. Called by one
    /// thread at a time.
    ///
    /// Those that changed since the last call come alone if other memories wait, because a batch takes as long as all
    /// its texts. After `limit` of them, a batch is filled up, so that the others are embedded, too.
    pub(crate) fn take(&self, limit: usize, taken: &BTreeSet<MemoryId>) -> Vec<MemoryId> {
        let mut ids: Vec<MemoryId> =
            self.iter().filter(|it| !taken.contains(it)).take(limit).collect();
        let seen = self.seen.swap(self.next, Ordering::Relaxed);
        let is_fresh = |id: &&MemoryId| self.since.get(*id).is_some_and(|order| *order >= seen);
        let fresh = ids.iter().take_while(is_fresh).count();
        let ahead = self.ahead.load(Ordering::Relaxed) + fresh;
        let goes_ahead = fresh > 0 && fresh < ids.len() && ahead <= limit;
        if goes_ahead {
            ids.truncate(fresh);
        }
        self.ahead.store(if goes_ahead { ahead } else { 0 }, Ordering::Relaxed);
        ids
    }

    /// The pending memories, the last changed first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = MemoryId> + '_ {
        self.order.values().rev().copied()
    }
}

impl Extend<MemoryId> for Pending {
    fn extend<I: IntoIterator<Item = MemoryId>>(&mut self, ids: I) {
        for id in ids {
            self.insert(id);
        }
    }
}

impl FromIterator<MemoryId> for Pending {
    fn from_iter<I: IntoIterator<Item = MemoryId>>(ids: I) -> Self {
        let mut pending = Self::default();
        pending.extend(ids);
        pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> MemoryId {
        MemoryId::new(number).expect("a valid id")
    }

    #[test]
    fn the_memory_that_changed_last_comes_first() {
        let mut pending: Pending = [1, 2, 3].map(id).into_iter().collect();
        pending.insert(id(1));
        assert_eq!(pending.iter().collect::<Vec<_>>(), [1, 3, 2].map(id));
        assert!(pending.remove(id(3)) && !pending.remove(id(3)));
        assert_eq!((pending.len(), pending.iter().count()), (2, 2));
    }
}
