//! Stores that are opened when a request needs them.

use std::collections::VecDeque;

use super::Simulation;
use crate::costs::{load_seconds, resident_bytes};
use crate::events::{Event, micros};

/// Stores that a machine opens at a time: each needs 1.3 cores.
const LOADS_MAX: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Loader {
    running: usize,
    queue: VecDeque<usize>,
}

impl Simulation {
    /// Opens a store on a machine, as soon as it has a free loader and memory.
    pub(super) fn load(&mut self, machine: usize, store: usize) {
        let queue = &mut self.loaders[machine].queue;
        if !queue.contains(&store) {
            queue.push_back(store);
            self.load_next(machine);
        }
    }

    pub(super) fn load_next(&mut self, machine: usize) {
        while self.loaders[machine].running < LOADS_MAX {
            let Some(store) = self.loaders[machine].queue.front().copied() else { return };
            let memories = self.stores[store].memories;
            // A store that was rebuilt here meanwhile needs no load.
            if !self.memories[machine].has(store) {
                if !self.memories[machine].reserve(store, resident_bytes(memories)) {
                    return;
                }
                let loader = &mut self.loaders[machine];
                loader.running += 1;
                self.metrics.loads += 1;
                let at = self.now + micros(load_seconds(memories));
                self.events.push(at, Event::Loaded { machine, store });
            }
            self.loaders[machine].queue.pop_front();
        }
    }

    pub(super) fn loaded(&mut self, machine: usize, store: usize) {
        if !self.machines[machine].is_live {
            return;
        }
        self.loaders[machine].running -= 1;
        self.opened(machine, store);
        self.load_next(machine);
        // It may have waited for memory that can now be freed.
        self.rebuild_next(machine);
    }

    /// Answers the requests that waited for a store.
    pub(super) fn opened(&mut self, machine: usize, store: usize) {
        self.memories[machine].finish(store, self.now);
        for arrived in self.waiting.remove(&(machine, store)).unwrap_or_default() {
            self.metrics.answer(arrived, self.now);
        }
    }
}
