//! Lexical and semantic search, with scores relative to the best.

use waypost_ranking::{
    Bm25, Hit, Slot, Slots, TextIndex, TextPart, TextSearch, VectorPart, VectorSearch,
};

use super::ask::Ask;
use crate::index::Index;

/// A query's words in one of the indexes.
pub(super) struct Search<'a> {
    pub(super) by_words: TextSearch<'a>,
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
        (Self { by_words: search, high }, hits)
    }

    /// The scores of documents, given in slot order, relative to the best one's.
    pub(super) fn shares(&self, slots: &[Slot]) -> Vec<f32> {
        if self.high <= 0.0 {
            return vec![0.0; slots.len()];
        }
        let mut shares = self.by_words.scores(0, slots);
        for it in &mut shares {
            *it /= self.high;
        }
        shares
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

/// The chunks whose vectors are nearest to the query's, with their similarity, 0 to 1.
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
    // If the query's vector is of another model, only lexical search is used.
    let Ok(search) = VectorSearch::new(&parts, query) else { return Vec::new() };
    let hits = search.top(count).hits;
    let high = hits.first().map_or(0.0, |it| it.score);
    // Any two texts are somewhat similar: only what exceeds the lowest of these counts.
    let low = hits.get(count - 1).map_or(0.0, |it| it.score.clamp(0.0, high));
    let share = |score: f32| if high > low { (score - low).max(0.0) / (high - low) } else { 0.0 };
    hits.iter().map(|it| (it.slot, share(it.score))).collect()
}
