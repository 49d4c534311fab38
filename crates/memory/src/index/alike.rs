//! Memories whose vectors are near: for each, the nearest other one when it was searched for, which
//! is soon after its vector was computed or loaded.
//!
//! It only says where to look; a suggestion compares the memories as they are.

use std::collections::{BTreeMap, BTreeSet};

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

/// The nearest other memory of those with a vector.
#[derive(Debug, Default)]
pub(crate) struct Alike {
    /// `None` if it is not near.
    nearest: BTreeMap<MemoryId, Option<Near>>,
    /// Memories with a vector for which it was not searched yet.
    unknown: BTreeSet<MemoryId>,
    /// The hash of the model whose vectors were compared.
    model: Option<[u8; 16]>,
}

/// A memory that is near another one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Near {
    pub(crate) id: MemoryId,
    /// The cosine that the two must have at least.
    pub(crate) cosine_min: f32,
}

impl Alike {
    /// What is known by the vectors of a model.
    pub(crate) fn of(
        model: Option<[u8; 16]>,
        nearest: impl Iterator<Item = (MemoryId, Option<Near>)>,
    ) -> Self {
        Self { nearest: nearest.collect(), unknown: BTreeSet::new(), model }
    }

    /// Expects vectors of this model. What another one said is dropped.
    pub(crate) fn reset(&mut self, model: Option<[u8; 16]>) {
        self.unknown.clear();
        if model.is_some() && model != self.model {
            *self = Self { model, ..Self::default() };
        }
    }

    pub(crate) fn get(&self, id: MemoryId) -> Option<Near> {
        self.nearest.get(&id).copied().flatten()
    }

    /// Adds a memory that has got a vector.
    pub(crate) fn insert(&mut self, id: MemoryId) {
        if !self.nearest.contains_key(&id) {
            self.unknown.insert(id);
        }
    }

    /// Removes a memory whose text has changed.
    pub(crate) fn remove(&mut self, id: MemoryId) {
        self.nearest.remove(&id);
        self.unknown.remove(&id);
    }

    /// The newest memory for which it was not searched yet.
    pub(crate) fn next_unknown(&self) -> Option<MemoryId> {
        self.unknown.last().copied()
    }

    /// Sets what was found for a memory, unless its text has changed meanwhile.
    pub(crate) fn set(&mut self, id: MemoryId, near: Option<Near>) {
        if self.unknown.remove(&id) {
            self.nearest.insert(id, near);
        }
    }

    pub(crate) fn model(&self) -> Option<[u8; 16]> {
        self.model
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (MemoryId, Option<Near>)> + '_ {
        self.nearest.iter().map(|(id, near)| (*id, *near))
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
    let passes = |other: Slot| other != slot;
    let parts = [VectorPart { slots: &space.slots, index, filter: Some(&passes) }];
    let found = VectorSearch::new(&parts, &vector).ok()?.top(count);
    let low = found.low.min(UNRELATED_MAX);
    let cosine_min = low + CLOSENESS_MIN * (1.0 - low);
    let hits = found.hits.into_iter().filter(|hit| hit.score >= cosine_min);
    let near = hits.filter_map(|hit| Some((MemoryId::new(hit.id)?, hit.score))).collect();
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
