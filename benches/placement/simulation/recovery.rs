//! Copies that are made again, from the other owner or from the database, or moved to new machines.

use std::collections::VecDeque;

use super::{Change, Files, NOTICE, REPLACE, Second, Simulation};
use crate::costs::{
    COPY_RATE, DATABASE_RATE, copied_bytes, disk_bytes, open_seconds, rebuild_seconds,
    resident_bytes,
};
use crate::events::{Event, Time, micros};
use crate::place::{moved, place_again};

/// A copy of a store that a machine gets.
#[derive(Debug, Clone, Copy)]
struct Job {
    store: usize,
    target: usize,
    source: Option<Source>,
}

#[derive(Debug, Clone, Copy)]
enum Source {
    Machine(usize),
    Database(usize),
}

#[derive(Debug, Default)]
pub(super) struct Recovery {
    jobs: Vec<Job>,
    /// Those not begun, the most urgent first.
    queue: Vec<usize>,
    /// Jobs that are not finished, and those that have not been queued yet.
    unfinished: usize,
    later: Vec<Job>,
    /// Each machine sends one copy at a time, and receives one.
    sends: Vec<bool>,
    receives: Vec<bool>,
    databases: Vec<bool>,
    /// Copied stores that wait to be rebuilt, on each machine; the front one is, if the flag is set.
    rebuilds: Vec<VecDeque<usize>>,
    rebuilding: Vec<bool>,
    pub(super) moved: usize,
    pub(super) bytes: f64,
    pub(super) without_copy: usize,
    /// Stores without a copy that are not open again yet.
    unrestored: usize,
    pub(super) restored_at: Time,
    pub(super) complete_at: Time,
    has_begun: bool,
}

impl Recovery {
    pub(super) fn new(machines: usize, databases: usize) -> Self {
        Self {
            sends: vec![false; machines],
            receives: vec![false; machines],
            databases: vec![false; databases],
            rebuilds: vec![VecDeque::new(); machines],
            rebuilding: vec![false; machines],
            ..Self::default()
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.has_begun && self.unfinished == 0
    }
}

impl Simulation {
    pub(super) fn change(&mut self) {
        match self.scenario.change {
            Change::None => {}
            Change::Lose(count) => {
                for machine in self.machines.iter_mut().take(count) {
                    machine.is_live = false;
                }
                // Requests that these machines had begun are sent again.
                let waiting = std::mem::take(&mut self.waiting);
                for ((machine, store), arrivals) in waiting {
                    if self.machines[machine].is_live {
                        self.waiting.insert((machine, store), arrivals);
                    } else {
                        for arrived in arrivals {
                            self.request(store, arrived);
                        }
                    }
                }
                self.events.push(self.now + NOTICE, Event::Noticed);
            }
            Change::Add(_) => {
                for machine in &mut self.machines {
                    machine.is_live = true;
                }
                let jobs = self.plan();
                self.begin(jobs);
            }
        }
    }

    /// The router knows what is lost; stores without a copy are restored at once.
    pub(super) fn notice(&mut self) {
        let machines = &self.machines;
        for copies in &mut self.copies {
            copies.retain(|copy| machines[*copy].is_live);
        }
        let jobs = self.plan();
        let (urgent, later) = jobs.into_iter().partition(|job| self.copies[job.store].is_empty());
        self.recovery.later = later;
        self.recovery.without_copy = self.copies.iter().filter(|copy| copy.is_empty()).count();
        self.recovery.unrestored = self.recovery.without_copy;
        self.recovery.unfinished += self.recovery.later.len();
        self.events.push(self.now + REPLACE - NOTICE, Event::Replaced);
        self.begin(urgent);
    }

    pub(super) fn replace(&mut self) {
        let jobs = std::mem::take(&mut self.recovery.later);
        self.recovery.unfinished -= jobs.len();
        self.begin(jobs);
    }

    /// Places stores again, and lists the copies that this takes.
    fn plan(&mut self) -> Vec<Job> {
        let method = self.scenario.method;
        let owners = place_again(method, &self.stores, &self.machines, &self.owners);
        self.recovery.moved = moved(&self.owners, &owners);
        let pairs = self.owners.iter().zip(&owners).enumerate();
        let jobs = pairs.flat_map(|(store, (old, new))| {
            let targets = new.iter().filter(|new| !old.contains(new));
            targets.map(move |target| Job { store, target: *target, source: None })
        });
        let jobs = jobs.collect();
        self.owners = owners;
        jobs
    }

    /// Queues jobs. The largest store first: it takes longest, and the others fill the gaps.
    fn begin(&mut self, jobs: Vec<Job>) {
        self.recovery.has_begun = true;
        self.recovery.unfinished += jobs.len();
        let from = self.recovery.jobs.len();
        self.recovery.jobs.extend(jobs);
        self.recovery.queue.extend(from..self.recovery.jobs.len());
        let (stores, copies, jobs) = (&self.stores, &self.copies, &self.recovery.jobs);
        self.recovery.queue.sort_by_key(|queue| {
            let store = jobs[*queue].store;
            (!copies[store].is_empty(), std::cmp::Reverse(stores[store].memories), *queue)
        });
        self.copy_next();
    }

    /// Begins every copy whose source and target are free.
    fn copy_next(&mut self) {
        let queue = std::mem::take(&mut self.recovery.queue);
        for number in queue {
            let Job { store, target, .. } = self.recovery.jobs[number];
            let source = self.source(store).filter(|_| !self.recovery.receives[target]);
            let Some(source) = source else {
                self.recovery.queue.push(number);
                continue;
            };
            let rate = match source {
                Source::Machine(machine) => {
                    self.recovery.sends[machine] = true;
                    COPY_RATE
                }
                Source::Database(database) => {
                    self.recovery.databases[database] = true;
                    DATABASE_RATE
                }
            };
            let memories = self.stores[store].memories;
            let bytes =
                if self.has_all(source) { disk_bytes(memories) } else { copied_bytes(memories) };
            self.recovery.receives[target] = true;
            self.recovery.bytes += bytes;
            self.recovery.jobs[number].source = Some(source);
            self.events.push(self.now + micros(bytes / rate), Event::Copied { job: number });
        }
    }

    /// Whether a copy from there has state and index.
    fn has_all(&self, source: Source) -> bool {
        self.scenario.files == Files::All && matches!(source, Source::Machine(_))
    }

    /// A free machine that has the store, or its free database if no machine has it.
    fn source(&self, store: usize) -> Option<Source> {
        let copies = &self.copies[store];
        if copies.is_empty() {
            let database = self.stores[store].key as usize % self.recovery.databases.len();
            return (!self.recovery.databases[database]).then_some(Source::Database(database));
        }
        let free = copies.iter().rev().find(|copy| !self.recovery.sends[**copy]);
        free.map(|free| Source::Machine(*free))
    }

    pub(super) fn copied(&mut self, job: usize) {
        let Job { target, source, .. } = self.recovery.jobs[job];
        match source {
            Some(Source::Machine(machine)) => self.recovery.sends[machine] = false,
            Some(Source::Database(database)) => self.recovery.databases[database] = false,
            None => {}
        }
        self.recovery.receives[target] = false;
        self.recovery.rebuilds[target].push_back(job);
        self.rebuild_next(target);
        self.copy_next();
    }

    /// Derives state and index of the next copied store, or opens it, one at a time, in the memory that
    /// the open store needs.
    pub(super) fn rebuild_next(&mut self, machine: usize) {
        if self.recovery.rebuilding[machine] {
            return;
        }
        let Some(job) = self.recovery.rebuilds[machine].front().copied() else { return };
        let Job { store, source, .. } = self.recovery.jobs[job];
        let has_all = source.is_some_and(|source| self.has_all(source));
        let seconds = if has_all { open_seconds } else { rebuild_seconds };
        let memories = self.stores[store].memories;
        if self.memories[machine].reserve(store, resident_bytes(memories)) {
            self.recovery.rebuilding[machine] = true;
            let at = self.now + micros(seconds(memories));
            self.events.push(at, Event::Rebuilt { job });
        }
    }

    pub(super) fn rebuilt(&mut self, job: usize) {
        let Job { store, target, .. } = self.recovery.jobs[job];
        self.recovery.rebuilding[target] = false;
        self.recovery.rebuilds[target].pop_front();
        let is_restored = self.copies[store].is_empty();
        let is_open =
            self.copies[store].first().is_some_and(|first| self.memories[*first].has(store));
        self.opened(target, store);
        self.hand_over(store, target);
        let is_first = self.copies[store].first() == Some(&target);
        // The new owner has the store open if it is in use and it answers for it.
        let has_duty = is_first || self.scenario.second == Second::Open;
        let stays = is_restored || is_open && has_duty;
        if !stays {
            self.memories[target].close(store);
        }
        if is_restored {
            self.recovery.unrestored -= 1;
            if self.recovery.unrestored == 0 {
                self.recovery.restored_at = self.now;
            }
            for arrived in self.homeless.remove(&store).unwrap_or_default() {
                self.request(store, arrived);
            }
        }
        self.recovery.unfinished -= 1;
        if self.recovery.unfinished == 0 {
            self.recovery.complete_at = self.now;
        }
        self.rebuild_next(target);
        self.load_next(target);
        self.copy_next();
    }

    /// The router learns of a copy. Once all owners of the placement have theirs, others close it.
    fn hand_over(&mut self, store: usize, target: usize) {
        let owners = self.owners[store];
        self.copies[store].push(target);
        if owners.iter().all(|owner| self.copies[store].contains(owner)) {
            let copies = std::mem::replace(&mut self.copies[store], owners.to_vec());
            for former in copies.into_iter().filter(|copy| !owners.contains(copy)) {
                self.memories[former].close(store);
            }
        }
    }
}
