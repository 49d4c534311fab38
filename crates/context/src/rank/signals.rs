//! The signals of a file and of its chunks, each 0 to 1, their weighted sums, and the searches that
//! most of them come from.

use waypost_ranking::{
    Bm25, Hit, Slot, Slots, TextIndex, TextPart, TextSearch, TitleMatch, VectorPart, VectorSearch,
};

use super::ask::{Ask, Named};
use super::candidate::Reasons;
use super::weights::Weights;
use crate::index::Index;

/// The signals of a file.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Signals {
    pub(super) body: f32,
    pub(super) path: f32,
    pub(super) commits: f32,
    pub(super) frecency: f32,
    pub(super) named: f32,
}

impl Signals {
    pub(super) fn sum(&self, weights: &Weights) -> f32 {
        weights.body * self.body
            + weights.path * self.path
            + weights.commits * self.commits
            + weights.frecency * self.frecency
            + weights.named * self.named
    }
}

/// The signals of a chunk.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Own {
    pub(super) words: f32,
    pub(super) within: f32,
    pub(super) name: f32,
    pub(super) near: f32,
    pub(super) defined: f32,
}

impl Own {
    /// The sum, to compare chunks of different files.
    fn sum(&self, weights: &Weights) -> f32 {
        self.sum_named(self.name, weights)
    }

    /// The sum with another value of the name's signal.
    fn sum_named(&self, name: f32, weights: &Weights) -> f32 {
        weights.chunk * self.words
            + weights.inside * self.within
            + weights.name * name
            + weights.meaning * self.near
            + weights.defined * self.defined
    }
}

/// The sums of the chunks of one file. The highest is that of the best chunk, which decides how the
/// file compares with others. For the order within the file, a name's match is relative to the best
/// in the file: a long query matches no name well, but one of these better than the others.
pub(super) fn sums(chunks: &[Own], weights: &Weights) -> Vec<f32> {
    let highest = |of: &dyn Fn(&Own) -> f32| chunks.iter().map(of).fold(0.0, f32::max);
    let name_high = highest(&|it| it.name);
    let relative = |own: &Own| {
        let name = if name_high > 0.0 { own.name / name_high } else { 0.0 };
        own.sum_named(name, weights)
    };
    let (high, relative_high) = (highest(&|it| it.sum(weights)), highest(&relative));
    let scale = if relative_high > 0.0 { high / relative_high } else { 0.0 };
    chunks.iter().map(|chunk| relative(chunk) * scale).collect()
}

/// How well a definition's name matches the query: the geometric mean of the share of the name that
/// is in the query and of the share of the query that is in the name.
pub(super) fn called(title: TitleMatch) -> f32 {
    (title.of_title * title.of_query).sqrt()
}

/// How certain it is that something is named.
pub(super) fn sureness(named: Named, weights: &Weights) -> f32 {
    match named {
        Named::Yes => 1.0,
        Named::Perhaps => weights.perhaps,
        Named::No => 0.0,
    }
}

/// The reasons for a chunk.
pub(super) fn why(weights: &Weights, file: &Signals, own: &Own) -> Reasons {
    let named = weights.named * file.named + weights.defined * own.defined;
    Reasons::Shares([
        named,
        weights.body * file.body + weights.inside * own.within,
        weights.chunk * own.words + weights.name * own.name,
        weights.path * file.path,
        weights.commits * file.commits,
        weights.frecency * file.frecency,
        weights.meaning * own.near,
    ])
}

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
        let high = hits.first().map_or(0.0, |hit| hit.score);
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
    let high = hits.first().map_or(0.0, |hit| hit.score);
    // Any two texts are somewhat similar: only what exceeds the lowest of these counts.
    let low = hits.get(count - 1).map_or(0.0, |hit| hit.score.clamp(0.0, high));
    let share = |score: f32| if high > low { (score - low).max(0.0) / (high - low) } else { 0.0 };
    hits.iter().map(|hit| (hit.slot, share(hit.score))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_a_file_a_name_counts_as_much_as_it_is_better_than_the_others() {
        let weights = Weights::default();
        let own = |words, name| Own { words, within: words, name, ..Own::default() };
        // A long query: no name has more than a little of it.
        let named = own(0.4, 0.2);
        let other = own(0.5, 0.05);
        assert!(named.sum(&weights) < other.sum(&weights));
        let sums = sums(&[named, other], &weights);
        assert!(sums[0] > sums[1], "{sums:?}");
        // The file as a whole is worth what its best chunk is worth beside other files.
        assert!((sums[0] - other.sum(&weights)).abs() < 1e-6, "{sums:?}");
    }

    #[test]
    fn without_names_the_sums_stay() {
        let weights = Weights::default();
        let own = |words| Own { words, ..Own::default() };
        let chunks = [own(0.4), own(0.0), own(0.8)];
        let expected: Vec<f32> = chunks.iter().map(|chunk| chunk.sum(&weights)).collect();
        assert_eq!(sums(&chunks, &weights), expected);
        assert_eq!(sums(&[], &weights), Vec::<f32>::new());
        assert_eq!(sums(&[own(0.0)], &weights), [0.0]);
    }
}
