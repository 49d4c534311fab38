//! Which two machines own a store.

use crate::costs::resident_bytes;
use crate::random::{hash, unit};
use crate::stores::Store;

/// The owner that requests go to, and the one that takes over.
pub(crate) type Owners = [usize; 2];

/// Points of each machine on the ring, times its weight.
const POINTS: f64 = 128.0;

/// How far above its fair share a machine may be filled by bounded placement.
pub(crate) const EXCESS: f64 = 0.1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// Consistent hashing: the next two machines clockwise.
    Ring,
    /// The two machines with the highest hashes of machine and store, all alike.
    Rendezvous,
    /// The same by weight, passing over machines that have their share, and kept in a table: only
    /// what must move is placed again.
    Bounded,
}

/// A machine; its weight is its memory divided by that of the smallest.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    pub(crate) key: u64,
    pub(crate) weight: f64,
    pub(crate) is_live: bool,
}

/// Places stores that have no owners yet.
pub(crate) fn place(method: Method, stores: &[Store], machines: &[Machine]) -> Vec<Owners> {
    match method {
        Method::Ring => {
            let ring = Ring::new(machines);
            stores.iter().map(|store| ring.owners(store.key)).collect()
        }
        Method::Rendezvous => stores
            .iter()
            .map(|store| {
                let ranking = ranking(store.key, machines, |_| 1.0);
                [ranking[0], ranking[1]]
            })
            .collect(),
        Method::Bounded => place_bounded(stores, machines),
    }
}

/// Places stores again after machines were lost or added.
pub(crate) fn place_again(
    method: Method,
    stores: &[Store],
    machines: &[Machine],
    before: &[Owners],
) -> Vec<Owners> {
    if method != Method::Bounded {
        return place(method, stores, machines);
    }
    let mut owners = replace_lost(stores, machines, before);
    fill_added(stores, machines, &mut owners);
    owners
}

/// Numbers of copies that the second placement has and the first has not.
pub(crate) fn moved(before: &[Owners], after: &[Owners]) -> usize {
    let pairs = before.iter().zip(after);
    pairs.map(|(old, new)| new.iter().filter(|new| !old.contains(new)).count()).sum()
}

struct Ring {
    /// Sorted by position.
    points: Vec<(u64, usize)>,
}

impl Ring {
    fn new(machines: &[Machine]) -> Self {
        let live = machines.iter().enumerate().filter(|(_, it)| it.is_live);
        let mut points: Vec<(u64, usize)> = live
            .flat_map(|(number, machine)| {
                let count = (POINTS * machine.weight) as u64;
                (0..count).map(move |point| (hash(machine.key, point), number))
            })
            .collect();
        points.sort_unstable();
        Self { points }
    }

    fn owners(&self, key: u64) -> Owners {
        let from = self.points.partition_point(|point| point.0 < key);
        let mut clockwise =
            self.points[from..].iter().chain(&self.points[..from]).map(|point| point.1);
        let first = clockwise.next().expect("a machine is live");
        let second =
            clockwise.find(|clockwise| *clockwise != first).expect("two machines are live");
        [first, second]
    }
}

/// The score of a machine for a store: the highest of all belongs to a machine in proportion to its
/// weight (Schindelhauer and Schomaker, 2005).
fn score(key: u64, machine: &Machine, weight: f64) -> f64 {
    weight / -unit(hash(key, machine.key)).ln()
}

/// The live machines, the highest score first.
fn ranking(key: u64, machines: &[Machine], weight: impl Fn(&Machine) -> f64) -> Vec<usize> {
    let live = machines.iter().enumerate().filter(|(_, it)| it.is_live);
    let mut scored: Vec<(f64, usize)> =
        live.map(|(number, it)| (score(key, it, weight(it)), number)).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().map(|scored| scored.1).collect()
}

/// What machines have been given, and how much they may have.
struct Loads {
    /// Bytes of the stores that a machine owns, if all were loaded.
    bytes: Vec<f64>,
    /// Bytes that the stores whose first owner it is are likely to have open.
    open: Vec<f64>,
    bytes_max: Vec<f64>,
    open_max: Vec<f64>,
}

impl Loads {
    fn new(stores: &[Store], machines: &[Machine]) -> Self {
        let live = |machine: &Machine| if machine.is_live { machine.weight } else { 0.0 };
        let weights: f64 = machines.iter().map(live).sum();
        let bytes: f64 = stores.iter().map(|store| 2.0 * bytes(store)).sum();
        let share = |total: f64| {
            machines
                .iter()
                .map(|machine| total * (1.0 + EXCESS) * live(machine) / weights)
                .collect()
        };
        let none = vec![0.0; machines.len()];
        Self {
            bytes: none.clone(),
            open: none,
            bytes_max: share(bytes),
            open_max: share(stores.iter().map(open).sum()),
        }
    }

    fn has_room(&self, store: &Store, machine: usize, is_first: bool) -> bool {
        let bytes = self.bytes[machine] + bytes(store) <= self.bytes_max[machine];
        let open = self.open[machine] + open(store) <= self.open_max[machine];
        bytes && (open || !is_first)
    }

    fn add(&mut self, store: &Store, machine: usize, is_first: bool, sign: f64) {
        self.bytes[machine] += sign * bytes(store);
        if is_first {
            self.open[machine] += sign * open(store);
        }
    }

    /// The best machine with room; for a store that fits nowhere, the one with the most room.
    fn choose(
        &self,
        store: &Store,
        ranking: &[usize],
        other: Option<usize>,
        is_first: bool,
    ) -> usize {
        let mut others = ranking.iter().copied().filter(|ranking| Some(*ranking) != other);
        others.clone().find(|other| self.has_room(store, *other, is_first)).unwrap_or_else(|| {
            let used = |number: &usize| {
                let open = if is_first { self.open[*number] / self.open_max[*number] } else { 0.0 };
                open.max(self.bytes[*number] / self.bytes_max[*number])
            };
            let first = others.next().expect("two machines are live");
            others.fold(first, |best, it| if used(&it) < used(&best) { it } else { best })
        })
    }
}

/// Bytes of a store that is open.
pub(crate) fn bytes(store: &Store) -> f64 {
    resident_bytes(store.memories) as f64
}

/// Bytes that a store's first owner is likely to have open for it.
pub(crate) fn open(store: &Store) -> f64 {
    store.used * bytes(store)
}

fn place_bounded(stores: &[Store], machines: &[Machine]) -> Vec<Owners> {
    let mut loads = Loads::new(stores, machines);
    let mut owners = vec![[0, 0]; stores.len()];
    // The largest part of all bytes first, or of those likely to be open: the others fit the gaps.
    let all: f64 = stores.iter().map(bytes).sum();
    let all_open: f64 = stores.iter().map(open).sum();
    let part =
        |number: &usize| (bytes(&stores[*number]) / all).max(open(&stores[*number]) / all_open);
    let mut order: Vec<usize> = (0..stores.len()).collect();
    order.sort_by(|a, b| part(b).total_cmp(&part(a)).then(a.cmp(b)));
    for number in order {
        let store = &stores[number];
        let ranking = ranking(store.key, machines, |it| it.weight);
        let first = loads.choose(store, &ranking, None, true);
        loads.add(store, first, true, 1.0);
        let second = loads.choose(store, &ranking, Some(first), false);
        loads.add(store, second, false, 1.0);
        owners[number] = [first, second];
    }
    owners
}

/// Gives stores that lost an owner another one; an owner that is left becomes the first.
fn replace_lost(stores: &[Store], machines: &[Machine], before: &[Owners]) -> Vec<Owners> {
    let mut loads = Loads::new(stores, machines);
    for (store, pair) in stores.iter().zip(before) {
        let left = pair.iter().filter(|pair| machines[**pair].is_live);
        for (place, machine) in left.enumerate() {
            loads.add(store, *machine, place == 0, 1.0);
        }
    }
    let mut after = before.to_vec();
    for (store, pair) in stores.iter().zip(&mut after) {
        if pair.iter().all(|pair| machines[*pair].is_live) {
            continue;
        }
        let ranking = ranking(store.key, machines, |it| it.weight);
        let left = pair.iter().copied().find(|pair| machines[*pair].is_live);
        let first = left.unwrap_or_else(|| {
            let first = loads.choose(store, &ranking, None, true);
            loads.add(store, first, true, 1.0);
            first
        });
        let second = loads.choose(store, &ranking, Some(first), false);
        loads.add(store, second, false, 1.0);
        *pair = [first, second];
    }
    after
}

/// Gives empty machines the stores that rank them above an owner, up to their share.
fn fill_added(stores: &[Store], machines: &[Machine], owners: &mut [Owners]) {
    let mut is_empty: Vec<bool> = machines.iter().map(|machine| machine.is_live).collect();
    let mut loads = Loads::new(stores, machines);
    for (store, pair) in stores.iter().zip(owners.iter()) {
        for (place, machine) in pair.iter().enumerate() {
            is_empty[*machine] = false;
            loads.add(store, *machine, place == 0, 1.0);
        }
    }
    for (store, pair) in stores.iter().zip(owners) {
        let score = |number: usize| score(store.key, &machines[number], machines[number].weight);
        for added in (0..machines.len()).filter(|number| is_empty[*number]) {
            let lowest = usize::from(score(pair[1]) <= score(pair[0]));
            let is_higher = score(added) > score(pair[lowest]) && !pair.contains(&added);
            if is_higher && loads.has_room(store, added, lowest == 0) {
                loads.add(store, pair[lowest], lowest == 0, -1.0);
                loads.add(store, added, lowest == 0, 1.0);
                pair[lowest] = added;
            }
        }
    }
}

#[cfg(test)]
mod tests;
