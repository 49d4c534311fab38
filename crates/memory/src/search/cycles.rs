//! Cycles of updates, in which no memory is the newest.

use std::collections::{BTreeMap, BTreeSet};

use crate::MemoryId;

type Neighbours = BTreeMap<MemoryId, Vec<MemoryId>>;

/// A number for each memory of these updates, each of a newer memory and an older one: the same for
/// the memories of a cycle, and otherwise lower for the newer memory. The strongly connected
/// components, by the algorithm of Kosaraju and Sharir (1981), in time proportional to the updates.
pub(super) fn cycles(
    updates: impl Iterator<Item = (MemoryId, MemoryId)>,
) -> BTreeMap<MemoryId, usize> {
    let (mut older, mut newer) = (Neighbours::new(), Neighbours::new());
    for (from, to) in updates {
        older.entry(from).or_default().push(to);
        newer.entry(to).or_default().push(from);
    }
    let (mut seen, mut finished) = (BTreeSet::new(), Vec::new());
    for start in older.keys() {
        visit(&older, *start, &mut seen, &mut |id| finished.push(id));
    }
    let (mut seen, mut cycles) = (BTreeSet::new(), BTreeMap::new());
    for (number, root) in finished.into_iter().rev().enumerate() {
        visit(&newer, root, &mut seen, &mut |id| {
            cycles.insert(id, number);
        });
    }
    cycles
}

/// Calls `finish` for each memory that is reached from one and was not seen before, after those that
/// are reached from it.
fn visit(
    neighbours: &Neighbours,
    start: MemoryId,
    seen: &mut BTreeSet<MemoryId>,
    finish: &mut dyn FnMut(MemoryId),
) {
    let next = |id: MemoryId| neighbours.get(&id).map_or([].as_slice(), Vec::as_slice).iter();
    let mut path = Vec::new();
    if seen.insert(start) {
        path.push((start, next(start)));
    }
    while let Some((id, others)) = path.last_mut() {
        if let Some(other) = others.find(|other| seen.insert(**other)) {
            path.push((*other, next(*other)));
        } else {
            finish(*id);
            path.pop();
        }
    }
}
