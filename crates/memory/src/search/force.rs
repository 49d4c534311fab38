//! Which memories were in force at a time, by their links.

use std::collections::{BTreeMap, BTreeSet};

use crate::index::view::{Space, View};
use crate::{LinkKind, MemoryId, Timestamp};

/// The memories that were not in force at a time because another one had replaced them, or because
/// they had not yet replaced another one. Only links between memories of these spaces count, and none
/// of memories that have expired by `now`.
///
/// A memory replaces those that it `updates` from its `valid_from`, or else its creation, and for
/// good. In a cycle of updates no memory is the newest, and none is replaced by another one of it.
///
/// Takes time proportional to the number of links.
pub(super) fn out_of_force(
    view: &View,
    spaces: &[&Space],
    now: Option<Timestamp>,
    time: Timestamp,
) -> BTreeSet<MemoryId> {
    let begin = |id: MemoryId| {
        let (_, space, slot) = view.place(id)?;
        let is_in_scope = spaces.iter().any(|it| std::ptr::eq(*it, space));
        let fact = space.fact(slot).filter(|_| is_in_scope && !view.has_expired(id, now))?;
        Some(fact.lifespan().valid_from.unwrap_or(fact.created_at))
    };
    let updates = view.graph.all().filter(|it| it.kind == LinkKind::Updates);
    let updates = updates.filter_map(|it| {
        begin(it.to)?;
        Some((it.from, it.to, begin(it.from)?))
    });
    let updates: Vec<(MemoryId, MemoryId, Timestamp)> = updates.collect();
    let cycles = cycles(&updates);
    let is_cycle = |newer, older| cycles.get(newer) == cycles.get(older);
    let replaced = updates.iter().filter(|(newer, older, _)| !is_cycle(newer, older));
    replaced.map(|(newer, older, begin)| if *begin <= time { *older } else { *newer }).collect()
}

type Neighbours = BTreeMap<MemoryId, Vec<MemoryId>>;

/// For each memory of these updates, one memory of the cycles that it is in, the same for all
/// memories of them: itself if it is in none. The strongly connected components, by the algorithm of
/// Kosaraju and Sharir (1981).
fn cycles(updates: &[(MemoryId, MemoryId, Timestamp)]) -> BTreeMap<MemoryId, MemoryId> {
    let (mut older, mut newer) = (Neighbours::new(), Neighbours::new());
    for (from, to, _) in updates {
        older.entry(*from).or_default().push(*to);
        newer.entry(*to).or_default().push(*from);
    }
    let (mut seen, mut finished) = (BTreeSet::new(), Vec::new());
    for start in older.keys() {
        visit(&older, *start, &mut seen, &mut |id| finished.push(id));
    }
    let (mut seen, mut cycles) = (BTreeSet::new(), BTreeMap::new());
    for root in finished.into_iter().rev() {
        visit(&newer, root, &mut seen, &mut |id| {
            cycles.insert(id, root);
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
        if let Some(other) = others.find(|it| seen.insert(**it)) {
            path.push((*other, next(*other)));
        } else {
            finish(*id);
            path.pop();
        }
    }
}
