//! Finds memories that may be similar to one, by the index alone.

use waypost_ranking::Slot;

use crate::index::alike::nearest;
use crate::index::view::{Space, View};
use crate::{MemoryId, Timestamp};

/// The least estimated similarity of the terms of two texts that are compared. Texts of similarity
/// 0.5 have at least this estimate with a probability of 0.98.
const SIMILARITY_MIN: f32 = 1.0 / 3.0;
/// How many of the nearest vectors are considered.
const NEAREST_MAX: usize = 16;

/// A memory that is likely similar to another one of its space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    pub(super) id: MemoryId,
    /// The estimated similarity of their terms.
    pub(super) similarity: f32,
    /// The cosine of their vectors, if they are near.
    pub(super) cosine: Option<f32>,
}

#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// The most similar first.
    pub(super) candidates: Vec<Candidate>,
    /// Whether there may be more.
    pub(super) is_cut: bool,
}

/// With which memories one is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// With all others; the nearest vectors are searched for.
    Around,
    /// By words with those that have a lower id, by meaning with the nearest one, if it is known.
    Older,
}

/// The memories that may be suggested.
pub(super) struct Scope<'a> {
    pub(super) view: &'a View,
    pub(super) now: Option<Timestamp>,
}

impl Scope<'_> {
    /// The memories to compare with one, at most `count`.
    pub(super) fn candidates(&self, id: MemoryId, extent: Extent, count: usize) -> Candidates {
        let Some((_, space, slot)) = self.view.place(id) else { return Candidates::default() };
        if !self.is_open(space, id) {
            return Candidates::default();
        }
        let is_wanted =
            |other: MemoryId| self.is_open(space, other) && !self.view.graph.are_linked(id, other);
        let (similar, mut is_cut) = space.similar.similar(slot, SIMILARITY_MIN);
        let mut candidates = Vec::new();
        for found in similar {
            let Some(other) = space.slots.id(found.slot).and_then(MemoryId::new) else { continue };
            if (extent == Extent::Around || other < id) && is_wanted(other) {
                // Of two memories, the one that got its vector first does not know the other one.
                let is_near = extent == Extent::Older && self.nearest_known(other) == Some(id);
                let cosine = if is_near { self.cosine(space, (other, id)) } else { None };
                let similarity = found.similarity;
                candidates.push(Candidate { id: other, similarity, cosine });
            }
        }
        for (other, cosine) in self.near(space, (id, slot), extent, &is_wanted) {
            if let Some(known) = candidates.iter_mut().find(|candidate| candidate.id == other) {
                known.cosine = Some(cosine);
            } else {
                let (similarity, cosine) = (0.0, Some(cosine));
                candidates.push(Candidate { id: other, similarity, cosine });
            }
        }
        let strength = |candidate: &Candidate| {
            candidate.cosine.map_or(candidate.similarity, |cosine| cosine.max(candidate.similarity))
        };
        candidates.sort_by(|one, other| {
            strength(other).total_cmp(&strength(one)).then(other.id.cmp(&one.id))
        });
        is_cut |= candidates.len() > count;
        candidates.truncate(count);
        Candidates { candidates, is_cut }
    }

    /// Whether there is a memory to compare with one, by words.
    pub(super) fn has_similar(&self, id: MemoryId) -> bool {
        let Some((_, space, slot)) = self.view.place(id) else { return false };
        let (similar, _) = space.similar.similar(slot, SIMILARITY_MIN);
        let mut ids =
            similar.iter().filter_map(|similar| MemoryId::new(space.slots.id(similar.slot)?));
        ids.any(|id| self.is_open(space, id))
    }

    fn near(
        &self,
        space: &Space,
        (id, slot): (MemoryId, Slot),
        extent: Extent,
        is_wanted: &dyn Fn(MemoryId) -> bool,
    ) -> Vec<(MemoryId, f32)> {
        if extent == Extent::Around {
            let (mut near, _) = nearest(space, slot, NEAREST_MAX).unwrap_or_default();
            near.retain(|(id, _)| is_wanted(*id));
            return near;
        }
        let known = self.nearest_known(id).filter(|known| is_wanted(*known));
        known
            .and_then(|known| Some((known, self.cosine(space, (id, known))?)))
            .into_iter()
            .collect()
    }

    fn nearest_known(&self, id: MemoryId) -> Option<MemoryId> {
        self.view.alike.get(id).map(|alike| alike.id)
    }

    /// The cosine of a memory and its nearest one, if they are still near.
    fn cosine(&self, space: &Space, (id, nearest): (MemoryId, MemoryId)) -> Option<f32> {
        let least = self.view.alike.get(id)?.cosine_min;
        let vectors = space.vectors.as_ref()?;
        let vector = |id: MemoryId| vectors.vector(space.slots.slot(id.get())?);
        let cosine = vector(id)?.iter().zip(&vector(nearest)?).map(|(a, b)| a * b).sum::<f32>();
        (cosine >= least).then_some(cosine)
    }

    /// Whether a memory of the space exists, has not expired, and no memory of the space that does
    /// replaces it.
    fn is_open(&self, space: &Space, id: MemoryId) -> bool {
        let exists = |id: MemoryId| {
            space.slots.slot(id.get()).is_some() && !self.view.has_expired(id, self.now)
        };
        exists(id) && !self.view.graph.updaters(id).any(exists)
    }
}
