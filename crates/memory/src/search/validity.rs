//! Which memories were in force at a time, by their links.

use std::collections::BTreeSet;

use super::cycles::cycles;
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
        let is_in_scope = spaces.iter().any(|other| std::ptr::eq(*other, space));
        let fact = space.fact(slot).filter(|_| is_in_scope && !view.has_expired(id, now))?;
        Some(fact.lifespan().valid_from.unwrap_or(fact.created_at))
    };
    let updates = view.graph.all().filter(|item| item.kind == LinkKind::Updates);
    let updates = updates.filter_map(|update| {
        begin(update.to)?;
        Some((update.from, update.to, begin(update.from)?))
    });
    let updates: Vec<(MemoryId, MemoryId, Timestamp)> = updates.collect();
    let cycles = cycles(updates.iter().map(|(newer, older, _)| (*newer, *older)));
    let is_cycle = |newer, older| cycles.get(newer) == cycles.get(older);
    let replaced = updates.iter().filter(|(newer, older, _)| !is_cycle(newer, older));
    replaced.map(|(newer, older, begin)| if *begin <= time { *older } else { *newer }).collect()
}
