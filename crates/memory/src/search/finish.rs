//! Turns candidates into hits and explains their scores.

use std::collections::BTreeSet;

use waypost_ranking::TextSearch;

use super::answerable::{LEAD_HITS, answerable};
use super::candidates::{Candidate, Candidates, Scoring};
use crate::index::view::View;
use crate::index::visible_links::Sight;
use crate::{HitExplanation, Link, LinkKind, MemoryId, SearchOptions, Signal};

/// Maximum number of links in an explanation.
const LINKS_EXPLAINED_MAX: usize = 100;

/// A hit without the content of its memory.
#[derive(Debug)]
pub(super) struct Ranked {
    pub(super) id: MemoryId,
    pub(super) score: f64,
    pub(super) embedded: bool,
    pub(super) superseded_by: Option<MemoryId>,
    pub(super) contradicts: Vec<MemoryId>,
    pub(super) explanation: Option<HitExplanation>,
}

/// The hits, best first, and the probability that they answer the query.
#[derive(Debug)]
pub(super) struct Ranking {
    pub(super) answerable: f64,
    pub(super) hits: Vec<Ranked>,
    /// Pairs of an updated candidate and one that updates it and therefore ranks above it.
    pub(super) updates: Vec<(MemoryId, MemoryId)>,
}

/// Sorts the candidates, scales scores to 0 to 1, applies the limit and explains. The score of the
/// best hit is the probability of an answer; the other scores are in proportion to it.
pub(super) fn finish(
    (view, sight): (&View, Sight<'_>),
    text: &TextSearch<'_>,
    scoring: &Scoring<'_>,
    candidates: &Candidates,
    options: &SearchOptions,
) -> Ranking {
    let mut scored: Vec<(f64, &Candidate)> = candidates
        .iter()
        .filter(|candidate| {
            candidate.found
                || candidate.total() + candidate.lifted
                    > candidate.cues + candidate.dates + candidate.recency
        })
        .map(|candidate| ((candidate.total() + candidate.lifted) * candidate.superseded, candidate))
        .collect();
    let by_rank = |a: &(f64, &Candidate), b: &(f64, &Candidate)| {
        b.0.total_cmp(&a.0).then(a.1.id.cmp(&b.1.id))
    };
    let kept = options.limit.max(LEAD_HITS);
    if kept < scored.len() {
        scored.select_nth_unstable_by(kept, by_rank);
        scored.truncate(kept);
    }
    scored.sort_unstable_by(by_rank);
    let answerable = answerable(scoring, &scored);
    let least = options.min_score.unwrap_or(scoring.bonuses.params.min_score);
    let best = scored.first().map_or(0.0, |(score, _)| *score);
    // The factor from ranking scores to the scores of this result.
    let unit = if best > 0.0 { answerable / best } else { 0.0 };
    let by_words = if options.explain { by_words(candidates) } else { Vec::new() };
    let hits = scored
        .into_iter()
        .take(options.limit)
        .map(|(score, candidate)| ((score * unit).clamp(0.0, 1.0), candidate))
        .filter(|(score, _)| *score >= least)
        .map(|(score, candidate)| Ranked {
            id: candidate.id,
            score,
            embedded: view.fact(candidate.id).is_some_and(|fact| fact.embedded),
            superseded_by: sight.superseded_by(candidate.id),
            contradicts: sight.linked_by(candidate.id, LinkKind::Contradicts).collect(),
            explanation: options
                .explain
                .then(|| explain(sight, text, (scoring, &by_words), candidate, unit)),
        })
        .collect();
    Ranking { answerable, hits, updates: Vec::new() }
}

fn explain(
    sight: Sight<'_>,
    text: &TextSearch<'_>,
    (scoring, by_words): (&Scoring<'_>, &[MemoryId]),
    candidate: &Candidate,
    unit: f64,
) -> HitExplanation {
    let mut signals = Vec::new();
    if scoring.lexical_weight > 0.0 {
        signals.push(Signal {
            name: "bm25",
            value: f64::from(candidate.lexical),
            rank: rank_of(candidate.id, by_words.iter().copied()),
            weight: candidate.lexical_weight,
            contribution: candidate.lexical_weight * scoring.words(candidate.lexical) * unit,
        });
    }
    if let Some(semantic) = candidate.semantic.filter(|_| scoring.semantic_weight > 0.0) {
        signals.push(Signal {
            name: "semantic",
            value: f64::from(semantic),
            rank: rank_of(
                candidate.id,
                scoring.semantic.iter().filter_map(|semantic| MemoryId::new(semantic.id)),
            ),
            weight: scoring.semantic_weight,
            contribution: scoring.semantic_share(candidate.semantic) * unit,
        });
    }
    let beside = [
        ("cues", candidate.cues),
        ("dates", candidate.dates),
        ("recency", candidate.recency),
        ("neighbours", candidate.neighbours),
        ("links", candidate.links),
        ("updates", candidate.lifted),
    ];
    for (name, value) in beside.into_iter().filter(|(_, value)| *value > 0.0) {
        let contribution = value * unit;
        signals.push(Signal { name, value, rank: None, weight: 1.0, contribution });
    }
    if candidate.superseded < 1.0 {
        let before = (candidate.total() + candidate.lifted) * unit;
        signals.push(Signal {
            name: "superseded",
            value: candidate.superseded,
            rank: None,
            weight: 1.0,
            contribution: before * candidate.superseded - before,
        });
    }
    let matched = text.matched_terms(candidate.part, candidate.slot);
    let matched_terms: BTreeSet<String> = matched.into_iter().map(str::to_owned).collect();
    let links: Vec<Link> = sight.around(candidate.id).take(LINKS_EXPLAINED_MAX).collect();
    HitExplanation { signals, matched_terms: matched_terms.into_iter().collect(), links }
}

/// The candidates with a lexical score, best first: the second round orders them anew.
fn by_words(candidates: &Candidates) -> Vec<MemoryId> {
    let mut scored: Vec<&Candidate> =
        candidates.iter().filter(|candidate| candidate.lexical > 0.0).collect();
    scored.sort_unstable_by(|a, b| b.lexical.total_cmp(&a.lexical).then(a.id.cmp(&b.id)));
    scored.into_iter().map(|scored| scored.id).collect()
}

/// The rank of a memory in a list, from 1.
fn rank_of(id: MemoryId, mut list: impl Iterator<Item = MemoryId>) -> Option<u32> {
    list.position(|item| item == id).map(|at| at as u32 + 1)
}
