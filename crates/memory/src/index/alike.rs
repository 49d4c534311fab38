//! Memories whose vectors are near: for each, the nearest other one when its vector was computed.
//!
//! It only says where to look; a suggestion compares the memories as they are.

use std::collections::BTreeMap;

use waypost_ranking::{Slot, VectorPart, VectorSearch};

use crate::MemoryId;
use crate::index::view::{Space, View};

/// The position of a cosine from which on two texts mean nearly the same, on a scale from the least
/// similar memory of the space (0) to equal vectors (1). Models differ in the range of their
/// cosines, and the least similar memory shows where it begins.
const CLOSENESS_MIN: f32 = 0.85;
/// The beginning of the range is at most this, the cosine of unrelated texts by the default model: in
/// a small store, the least similar memory may be near.
const UNRELATED_MAX: f32 = 0.25;

/// The nearest other memory of some memories.
#[derive(Debug, Default)]
pub(crate) struct Alike(BTreeMap<MemoryId, Near>);

/// A memory that is near another one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Near {
    pub(crate) id: MemoryId,
    /// The cosine that the two must have at least.
    pub(crate) cosine_min: f32,
}

impl Alike {
    pub(crate) fn get(&self, id: MemoryId) -> Option<Near> {
        self.0.get(&id).copied()
    }

    /// Sets or removes the nearest other memory.
    pub(crate) fn set(&mut self, id: MemoryId, near: Option<Near>) {
        match near {
            Some(near) => drop(self.0.insert(id, near)),
            None => drop(self.0.remove(&id)),
        }
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (MemoryId, Near)> + '_ {
        self.0.iter().map(|(id, near)| (*id, *near))
    }
}

/// The other memories nearest to one by their vectors, at most `count`, each with its cosine, and the
/// cosine from which on they mean nearly the same.
pub(crate) fn nearest(
    space: &Space,
    slot: Slot,
    count: usize,
) -> Option<(Vec<(MemoryId, f32)>, f32)> {
    let index = space.vectors.as_ref()?;
    let vector = index.vector(slot)?;
    let passes = |it: Slot| it != slot;
    let parts = [VectorPart { slots: &space.slots, index, filter: Some(&passes) }];
    let found = VectorSearch::new(&parts, &vector).ok()?.top(count);
    let low = found.low.min(UNRELATED_MAX);
    let cosine_min = low + CLOSENESS_MIN * (1.0 - low);
    let hits = found.hits.into_iter().filter(|it| it.score >= cosine_min);
    let near = hits.filter_map(|it| Some((MemoryId::new(it.id)?, it.score))).collect();
    Some((near, cosine_min))
}

impl View {
    /// The nearest other memory of one that has a vector, if there is one that means nearly the same.
    pub(crate) fn nearest_to(&self, id: MemoryId) -> Option<Near> {
        let (_, space, slot) = self.place(id)?;
        let (near, cosine_min) = nearest(space, slot, 1)?;
        near.first().map(|(id, _)| Near { id: *id, cosine_min })
    }
}
