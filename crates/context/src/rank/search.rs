//! What is found by words and by meaning, beside the best.

use std::collections::HashMap;

use waypost_ranking::{
    Bm25, Hit, Slot, Slots, TextIndex, TextPart, TextSearch, VectorPart, VectorSearch,
};

use super::ask::Ask;
use crate::index::Index;

/// A query's words in one of the indexes.
pub(super) struct Search<'a> {
    pub(super) by_words: TextSearch<'a>,
    scores: HashMap<Slot, f32>,
    high: f32,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        parts: &'a [TextPart<'a>; 1],
        words: &'a waypost_ranking::Query,
        bm25: Bm25,
        count: usize,
    ) -> (Self, Vec<Hit>) {
        let search = TextSearch::new(parts, words, bm25);
        let hits = search.top(count);
        let high = hits.first().map_or(0.0, |it| it.score);
        let scores = hits.iter().map(|it| (it.slot, it.score)).collect();
        (Self { by_words: search, scores, high }, hits)
    }

    /// Looks documents up that are in order of their slots, so that each has a share.
    pub(super) fn look_up(&mut self, slots: &[Slot]) {
        let lacking: Vec<Slot> =
            slots.iter().copied().filter(|it| !self.scores.contains_key(it)).collect();
        let scores = self.by_words.scores(0, &lacking);
        self.scores.extend(lacking.into_iter().zip(scores));
    }

    /// The score of a document, beside the best one's, that was found or looked up.
    pub(super) fn share(&self, slot: Slot) -> f32 {
        if self.high <= 0.0 {
            return 0.0;
        }
        self.scores.get(&slot).copied().unwrap_or(0.0) / self.high
    }
}

/// The only part of a search.
pub(super) fn part<'a>(
    slots: &'a Slots,
    index: &'a TextIndex,
    filter: Option<waypost_ranking::Filter<'a>>,
) -> [TextPart<'a>; 1] {
    [TextPart { slots, index, filter }]
}

/// Slots in their order, as [`Search::look_up`] wants them.
pub(super) fn sorted(slots: impl Iterator<Item = Slot>) -> Vec<Slot> {
    let mut slots: Vec<Slot> = slots.collect();
    slots.sort_unstable();
    slots
}

/// So many chunks whose vectors are nearest to the query's, with their nearness, 0 to 1.
pub(super) fn nearest(
    index: &Index,
    ask: &Ask<'_>,
    filter: Option<waypost_ranking::Filter<'_>>,
    count: usize,
) -> Vec<(Slot, f32)> {
    let (Some(vectors), Some(query)) = (&index.vectors, &ask.query.vector) else {
        return Vec::new();
    };
    let parts = [VectorPart { slots: &index.chunks, index: vectors, filter }];
    // A query whose vector is of another model is answered by words alone.
    let Ok(search) = VectorSearch::new(&parts, query) else { return Vec::new() };
    let hits = search.top(count).hits;
    let high = hits.first().map_or(0.0, |it| it.score);
    // Any two texts are somewhat near: what tells them apart is beyond what all of these have.
    let low = hits.get(count - 1).map_or(0.0, |it| it.score.clamp(0.0, high));
    let share = |score: f32| if high > low { (score - low).max(0.0) / (high - low) } else { 0.0 };
    hits.iter().map(|it| (it.slot, share(it.score))).collect()
}
