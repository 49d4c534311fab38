//! The memory of one machine: which stores are loaded, and which one leaves when there is no room.

use std::collections::{BTreeMap, BTreeSet};

/// What a request finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Loaded,
    /// Being loaded, rebuilt or moved here.
    Loading,
    Absent,
}

#[derive(Debug)]
struct Entry {
    bytes: u64,
    /// When it was used last; none while it is being loaded.
    used: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Memory {
    limit: u64,
    used: u64,
    peak: u64,
    evicted: u64,
    entries: BTreeMap<usize, Entry>,
    /// Loaded stores by their last use.
    order: BTreeSet<(u64, usize)>,
}

impl Memory {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            limit,
            used: 0,
            peak: 0,
            evicted: 0,
            entries: BTreeMap::new(),
            order: BTreeSet::new(),
        }
    }

    /// Notes that a store is used.
    pub(crate) fn touch(&mut self, store: usize, now: u64) -> Access {
        let Some(entry) = self.entries.get_mut(&store) else { return Access::Absent };
        let Some(used) = entry.used else { return Access::Loading };
        self.order.remove(&(used, store));
        self.order.insert((now, store));
        entry.used = Some(now);
        Access::Loaded
    }

    pub(crate) fn has(&self, store: usize) -> bool {
        self.entries.contains_key(&store)
    }

    /// Makes room for a store that is then loaded. Evicts the least recently used stores, or nothing
    /// if even all of them would not be enough.
    pub(crate) fn reserve(&mut self, store: usize, bytes: u64) -> bool {
        let loaded: u64 = self.order.iter().map(|order| self.entries[&order.1].bytes).sum();
        if self.used - loaded + bytes > self.limit {
            return false;
        }
        while self.used + bytes > self.limit {
            let (_, oldest) = self.order.first().copied().expect("enough is loaded");
            self.remove(oldest);
            self.evicted += 1;
        }
        self.used += bytes;
        self.peak = self.peak.max(self.used);
        self.entries.insert(store, Entry { bytes, used: None });
        true
    }

    /// A reserved store is loaded.
    pub(crate) fn finish(&mut self, store: usize, now: u64) {
        let entry = self.entries.get_mut(&store).expect("a load has reserved its memory");
        entry.used = Some(now);
        self.order.insert((now, store));
    }

    /// Closes a store, if it is open here; one that is being loaded stays.
    pub(crate) fn close(&mut self, store: usize) {
        if self.entries.get(&store).is_some_and(|entry| entry.used.is_some()) {
            self.remove(store);
        }
    }

    fn remove(&mut self, store: usize) {
        if let Some(entry) = self.entries.remove(&store) {
            self.used -= entry.bytes;
            if let Some(used) = entry.used {
                self.order.remove(&(used, store));
            }
        }
    }

    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    pub(crate) fn peak(&self) -> u64 {
        self.peak
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    pub(crate) fn evicted(&self) -> u64 {
        self.evicted
    }

    pub(crate) fn loaded(&self) -> usize {
        self.order.len()
    }
}

#[cfg(test)]
mod tests {
    use super::{Access, Memory};

    #[test]
    fn the_least_recently_used_store_leaves() {
        let mut memory = Memory::new(10);
        for (now, store) in [(1, 0), (2, 1)] {
            assert!(memory.reserve(store, 5));
            memory.finish(store, now);
        }
        assert_eq!(memory.touch(0, 3), Access::Loaded);
        assert!(memory.reserve(2, 5));
        assert_eq!(memory.touch(0, 4), Access::Loaded);
        assert_eq!(memory.touch(1, 4), Access::Absent);
        assert_eq!(memory.touch(2, 4), Access::Loading);
        assert_eq!((memory.used(), memory.peak(), memory.evicted()), (10, 10, 1));
    }

    #[test]
    fn a_store_that_does_not_fit_evicts_nothing() {
        let mut memory = Memory::new(10);
        assert!(memory.reserve(0, 6));
        assert!(memory.reserve(1, 4));
        memory.finish(1, 1);
        assert!(!memory.reserve(2, 5), "a store that is being loaded stays");
        assert_eq!(memory.touch(1, 2), Access::Loaded);
        memory.close(0);
        assert!(!memory.reserve(2, 5), "a store that is being loaded cannot be closed");
        memory.finish(0, 3);
        memory.close(0);
        assert!(memory.reserve(2, 5));
        assert_eq!(memory.used(), 9);
    }
}
