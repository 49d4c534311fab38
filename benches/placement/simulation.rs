//! Sessions of clients, the machines that serve them, and what a loss does to them.
//!
//! A store has two owners, which have its files. Requests go to the first one, which opens the store
//! if it is not open. The journal is in PostgreSQL: a store that has lost both owners is restored
//! from there.

mod loading;
mod recovery;

use std::collections::BTreeMap;

use anyhow::{Result, ensure};

use self::loading::Loader;
use self::recovery::Recovery;
use crate::costs::{ADD_SECONDS, resident_bytes, search_seconds};
use crate::events::{Event, Events, SECOND, Time, micros};
use crate::memory::{Access, Memory};
use crate::metrics::Metrics;
use crate::place::{Machine, Method, Owners, place};
use crate::random::{Random, hash};
use crate::stores::{Store, Workload, draw};

/// A request to a machine that is gone goes to the next owner after this time.
const CONNECT_TIMEOUT: Time = SECOND;
/// The router knows by then that a machine is gone.
const NOTICE: Time = 10 * SECOND;
/// A machine that is gone for so long is replaced: one that restarts is back before.
const REPLACE: Time = 60 * SECOND;
/// What is reported after a change, at least.
const AFTER: Time = 1_800 * SECOND;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    None,
    Lose(usize),
    Add(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Second {
    /// The second owner has the files and opens the store when it takes over.
    OnDisk,
    /// The second owner has the store open while the first one has.
    Open,
}

/// What a new owner copies from another one. From the database, it always rebuilds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Files {
    /// Log and vectors; it derives state and index.
    Log,
    /// State and index, too: it only opens the store.
    All,
}

#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) workload: Workload,
    pub(crate) machines: usize,
    /// Bytes of each machine for open stores.
    pub(crate) memory_bytes: u64,
    pub(crate) databases: usize,
    pub(crate) method: Method,
    pub(crate) second: Second,
    pub(crate) files: Files,
    pub(crate) change: Change,
    /// Seconds until caches are full, which are not reported, and then until the change.
    pub(crate) warm_seconds: u64,
    pub(crate) quiet_seconds: u64,
    pub(crate) seed: u64,
}

/// What came of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) quiet: Metrics,
    /// From the change on.
    pub(crate) after: Metrics,
    /// Before the change: the most bytes that each machine had in use, and its open stores.
    pub(crate) peaks: Vec<u64>,
    pub(crate) open: Vec<usize>,
    pub(crate) evicted: u64,
    /// Whether a machine ever exceeded its limit.
    pub(crate) is_over: bool,
    pub(crate) copies_moved: usize,
    pub(crate) bytes_moved: f64,
    /// Stores that lost both owners, and the seconds from the loss until the last one was open again.
    pub(crate) without_copy: usize,
    pub(crate) restored_seconds: f64,
    /// Seconds from the change until every store had the two owners of the new placement.
    pub(crate) complete_seconds: f64,
    /// The final owners and copies agree.
    pub(crate) is_complete: bool,
}

pub(crate) struct Simulation {
    scenario: Scenario,
    stores: Vec<Store>,
    /// Sums of the shares, to draw a store by.
    sums: Vec<f64>,
    machines: Vec<Machine>,
    memories: Vec<Memory>,
    owners: Vec<Owners>,
    /// The machines with a store's files, as the router knows them; requests go to the first.
    copies: Vec<Vec<usize>>,
    loaders: Vec<Loader>,
    /// Requests that wait for a store to be open on a machine, by their arrival.
    waiting: BTreeMap<(usize, usize), Vec<Time>>,
    /// Requests that wait for a store to have a machine.
    homeless: BTreeMap<usize, Vec<Time>>,
    recovery: Recovery,
    events: Events,
    random: Random,
    now: Time,
    change_at: Time,
    metrics: Metrics,
}

/// Runs a scenario to its end.
pub(crate) fn run(scenario: &Scenario) -> Result<Outcome> {
    Ok(Simulation::new(scenario.clone())?.run())
}

impl Simulation {
    fn new(scenario: Scenario) -> Result<Self> {
        let stores = draw(&scenario.workload, scenario.seed);
        let largest =
            stores.iter().map(|store| resident_bytes(store.memories)).max().unwrap_or_default();
        ensure!(largest <= scenario.memory_bytes, "a store of {largest} bytes fits no machine");
        let added = if let Change::Add(count) = scenario.change { count } else { 0 };
        let count = scenario.machines + added;
        let machines: Vec<Machine> = (0..count)
            .map(|number| Machine {
                key: hash(scenario.seed, !(number as u64)),
                weight: 1.0,
                is_live: number < scenario.machines,
            })
            .collect();
        let owners = place(scenario.method, &stores, &machines);
        let mut sum = 0.0;
        let sums = stores.iter().map(|store| {
            sum += store.share;
            sum
        });
        Ok(Self {
            sums: sums.collect(),
            memories: (0..count).map(|_| Memory::new(scenario.memory_bytes)).collect(),
            copies: owners.iter().map(|owner| owner.to_vec()).collect(),
            loaders: (0..count).map(|_| Loader::default()).collect(),
            waiting: BTreeMap::new(),
            homeless: BTreeMap::new(),
            recovery: Recovery::new(count, scenario.databases),
            events: Events::default(),
            random: Random::new(hash(scenario.seed, 1)),
            now: 0,
            change_at: (scenario.warm_seconds + scenario.quiet_seconds) * SECOND,
            metrics: Metrics::new(count),
            stores,
            machines,
            owners,
            scenario,
        })
    }

    fn run(mut self) -> Outcome {
        let is_quiet = self.scenario.change == Change::None;
        let warm = self.scenario.warm_seconds * SECOND;
        self.events.push(0, Event::SessionBegins);
        self.run_until(warm);
        self.metrics = Metrics::new(self.machines.len());
        let evicted = self.evicted();
        self.run_until(self.change_at);
        let peaks = self.memories.iter().map(Memory::peak).collect();
        let open = self.memories.iter().map(Memory::loaded).collect();
        let evicted = self.evicted() - evicted;
        let quiet = std::mem::replace(&mut self.metrics, Metrics::new(self.machines.len()));
        if !is_quiet {
            self.events.push(self.change_at, Event::Change);
            self.run_until(self.change_at + AFTER);
            while !self.recovery.is_done() {
                let until = self.now + 60 * SECOND;
                self.run_until(until);
            }
        }
        self.give_up_waiting();
        let recovery = &self.recovery;
        let seconds = |at: Time| at.saturating_sub(self.change_at) as f64 / SECOND as f64;
        let pairs = self.owners.iter().zip(&self.copies);
        let is_over = self
            .memories
            .iter()
            .any(|memory| memory.peak() > memory.limit() || memory.used() > memory.peak());
        Outcome {
            quiet,
            peaks,
            open,
            evicted,
            is_over,
            copies_moved: recovery.moved,
            bytes_moved: recovery.bytes,
            without_copy: recovery.without_copy,
            restored_seconds: seconds(recovery.restored_at),
            complete_seconds: seconds(recovery.complete_at),
            is_complete: pairs.clone().all(|(owners, copies)| copies[..] == owners[..]),
            after: self.metrics,
        }
    }

    fn evicted(&self) -> u64 {
        self.memories.iter().map(Memory::evicted).sum()
    }

    fn run_until(&mut self, end: Time) {
        while let Some((at, event)) = self.events.pop_until(end) {
            self.now = at;
            self.step(event);
        }
        self.now = end;
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::SessionBegins => self.begin_session(),
            Event::Request { store, until } => {
                self.request(store, self.now);
                let pause = micros(self.random.exponential(self.scenario.workload.pause_seconds));
                if self.now + pause < until {
                    self.events.push(self.now + pause, Event::Request { store, until });
                }
            }
            Event::Retry { store, arrived } => self.request(store, arrived),
            Event::Loaded { machine, store } => self.loaded(machine, store),
            Event::Change => self.change(),
            Event::Noticed => self.notice(),
            Event::Replaced => self.replace(),
            Event::Copied { job } => self.copied(job),
            Event::Rebuilt { job } => self.rebuilt(job),
        }
    }

    fn begin_session(&mut self) {
        let workload = &self.scenario.workload;
        let next = micros(self.random.exponential(1.0 / workload.sessions_rate));
        let length = micros(self.random.exponential(workload.session_seconds));
        let drawn = self.random.unit() * self.sums.last().expect("there are stores");
        let store = self.sums.partition_point(|sum| *sum < drawn).min(self.stores.len() - 1);
        self.events.push(self.now, Event::Request { store, until: self.now + length });
        self.events.push(self.now + next, Event::SessionBegins);
    }

    /// Sends a request to an owner of its store.
    fn request(&mut self, store: usize, arrived: Time) {
        let live = |number: &&usize| self.machines[**number].is_live;
        let copies = &self.copies[store];
        let is_first_gone = copies.first().is_some_and(|copy| !self.machines[*copy].is_live);
        if is_first_gone && arrived == self.now {
            self.events.push(self.now + CONNECT_TIMEOUT, Event::Retry { store, arrived });
            return;
        }
        let Some(machine) = copies.iter().find(live).copied() else {
            self.homeless.entry(store).or_default().push(arrived);
            return;
        };
        let second = copies.iter().filter(live).nth(1).copied();
        self.work(machine, store);
        match self.memories[machine].touch(store, self.now) {
            Access::Loaded => self.metrics.answer(arrived, self.now),
            access => {
                self.waiting.entry((machine, store)).or_default().push(arrived);
                if access == Access::Absent {
                    self.load(machine, store);
                }
            }
        }
        if let (Second::Open, Some(second)) = (self.scenario.second, second)
            && self.memories[second].touch(store, self.now) == Access::Absent
        {
            self.load(second, store);
        }
    }

    /// Counts the processor time of a request, and its append.
    fn work(&mut self, machine: usize, store: usize) {
        let is_add = self.random.unit() < self.scenario.workload.adds_share;
        if is_add {
            self.metrics.append(self.now);
        }
        let memories = self.stores[store].memories;
        self.metrics.busy[machine] += if is_add { ADD_SECONDS } else { search_seconds(memories) };
    }

    /// Requests that still wait at the end count from their arrival until now.
    fn give_up_waiting(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        let homeless = std::mem::take(&mut self.homeless);
        for arrived in waiting.into_values().chain(homeless.into_values()).flatten() {
            self.metrics.answer(arrived, self.now);
        }
    }
}

#[cfg(test)]
mod tests;
