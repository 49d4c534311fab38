//! Orders the best hits by a cross-encoder.
//!
//! The scores stay at their places: the hit that moves to the first place gets the score that the
//! first one had. So scores never rise down a list, the best score is still the probability of an
//! answer, and the cross-encoder's own scale, which differs from model to model, decides the order
//! only.

use std::collections::HashMap;
use std::sync::Arc;

use crate::index::own_title;
use crate::{Hit, MemoryId, Rerank, Reranker, SearchOptions, SearchParams, Signal};

/// The reranking of one search, if the store has a cross-encoder.
pub(super) struct Reranking<'a> {
    reranker: Option<Arc<Reranker>>,
    options: &'a SearchOptions,
    widened: Option<SearchOptions>,
}

impl<'a> Reranking<'a> {
    pub(super) fn new(reranker: Option<Arc<Reranker>>, options: &'a SearchOptions) -> Self {
        let widened = reranker.as_deref().map(|reranker| widened(reranker, options));
        Self { reranker, options, widened }
    }

    /// The options with which to rank.
    pub(super) fn options(&self) -> &SearchOptions {
        self.widened.as_ref().unwrap_or(self.options)
    }

    /// How many of the first hits need their texts.
    pub(super) fn candidates(&self) -> usize {
        self.reranker.as_deref().map_or(0, |reranker| reranker.candidates)
    }

    /// Orders hits that were ranked with [`Self::options`], and keeps those that the search asks for;
    /// if the cross-encoder fails, the hits keep their order. `updates` are pairs of an older memory and
    /// one that must rank above it.
    pub(super) fn order(
        &self,
        query: &str,
        mut hits: Vec<Hit>,
        updates: &[(MemoryId, MemoryId)],
        params: &SearchParams,
    ) -> (Vec<Hit>, Rerank) {
        let Some(reranker) = self.reranker.as_deref() else { return (hits, Rerank::Off) };
        let least = self.options.min_score.unwrap_or(params.min_score);
        let count = hits.len().min(reranker.candidates);
        let scored = score(reranker, query, &hits[..count]);
        let outcome = if scored.is_some() { Rerank::Applied } else { Rerank::Skipped };
        if let Some(scores) = scored {
            let rest = hits.split_off(count);
            hits = ordered(hits, &scores, updates);
            hits.extend(rest);
        }
        hits.retain(|hit| hit.score >= least);
        hits.truncate(self.options.limit);
        (hits, outcome)
    }
}

/// The options with which to rank for `options`: as many hits as are ordered, whatever their scores.
fn widened(reranker: &Reranker, options: &SearchOptions) -> SearchOptions {
    let limit = options.limit.max(reranker.candidates);
    SearchOptions { limit, min_score: Some(0.0), ..options.clone() }
}

fn score(reranker: &Reranker, query: &str, hits: &[Hit]) -> Option<Vec<f32>> {
    let text = |hit: &Hit| match own_title(&hit.memory.title, &hit.memory.content) {
        "" => hit.memory.content.clone(),
        title => format!("{title}\n{}", hit.memory.content),
    };
    let texts: Vec<String> = hits.iter().map(text).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let scores = (reranker.score)(query, &texts).ok()?;
    let fits = scores.len() == texts.len() && scores.iter().all(|score| score.is_finite());
    fits.then_some(scores)
}

fn ordered(hits: Vec<Hit>, scores: &[f32], updates: &[(MemoryId, MemoryId)]) -> Vec<Hit> {
    let places: Vec<f64> = hits.iter().map(|hit| hit.score).collect();
    let keys = keys(&hits, scores, updates);
    let mut order: Vec<usize> = (0..hits.len()).collect();
    order.sort_by(|&a, &b| {
        let [(one, depth), (other, other_depth)] = [keys[a], keys[b]];
        other.total_cmp(&one).then(depth.cmp(&other_depth)).then(a.cmp(&b))
    });
    let mut hits: Vec<Option<Hit>> = hits.into_iter().map(Some).collect();
    let moved = order.iter().filter_map(|&at| Some((hits[at].take()?, scores[at])));
    let mut moved: Vec<(Hit, f32)> = moved.collect();
    for (place, ((hit, score), to)) in moved.iter_mut().zip(places).enumerate() {
        let contribution = to - hit.score;
        hit.score = to;
        if let Some(explanation) = &mut hit.explanation {
            explanation.signals.push(Signal {
                name: "rerank",
                value: f64::from(*score),
                rank: Some(place as u32 + 1),
                weight: 1.0,
                contribution,
            });
        }
    }
    moved.into_iter().map(|(hit, _)| hit).collect()
}

/// What to order hits by, descending: the score, of an updated hit at most that of each one that
/// updates it; then, ascending, how many newer ones are ahead of it.
fn keys(hits: &[Hit], scores: &[f32], updates: &[(MemoryId, MemoryId)]) -> Vec<(f32, usize)> {
    let places: HashMap<MemoryId, usize> =
        hits.iter().enumerate().map(|(at, hit)| (hit.memory.id, at)).collect();
    let place = |id: &MemoryId| places.get(id).copied();
    // The newest come first, so what an update takes from the newer hit is final.
    let pairs = updates.iter().filter_map(|(older, newer)| Some((place(older)?, place(newer)?)));
    let mut keys: Vec<(f32, usize)> = scores.iter().map(|score| (*score, 0)).collect();
    for (older, newer) in pairs {
        let ((key, depth), (least, above)) = (keys[older], keys[newer]);
        keys[older] = (key.min(least), depth.max(above + 1));
    }
    keys
}
