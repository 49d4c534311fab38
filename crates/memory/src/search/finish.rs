//! From candidates to hits, and why.

use std::collections::BTreeSet;

use waypost_ranking::TextSearch;

use super::candidates::{Candidate, Candidates, Scoring};
use crate::view::View;
use crate::{HitExplanation, Link, LinkKind, MemoryId, SearchOptions, Signal};

/// An explanation shows so many links at most.
const LINKS_EXPLAINED_MAX: usize = 100;

/// A memory that is a hit, without its content.
#[derive(Debug)]
pub(super) struct Ranked {
    pub(super) id: MemoryId,
    pub(super) score: f64,
    pub(super) embedded: bool,
    pub(super) superseded_by: Option<MemoryId>,
    pub(super) contradicts: Vec<MemoryId>,
    pub(super) explanation: Option<HitExplanation>,
}

/// Brings scores into 0 to 1, sorts, cuts and explains.
pub(super) fn finish(
    view: &View,
    text: &TextSearch<'_>,
    scoring: &Scoring<'_>,
    candidates: Candidates,
    options: &SearchOptions,
) -> Vec<Ranked> {
    let best = candidates.values().map(|it| it.total() + it.lifted).fold(1.0, f64::max);
    let mut scored: Vec<(MemoryId, f64, Candidate)> = candidates
        .into_iter()
        .map(|(id, it)| (id, ((it.total() + it.lifted) * it.superseded / best).clamp(0.0, 1.0), it))
        .filter(|(_, _, it)| it.found || it.total() + it.lifted > it.cues)
        .filter(|(_, score, _)| options.min_score.is_none_or(|least| *score >= least))
        .collect();
    scored.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    scored.truncate(options.limit);
    scored
        .into_iter()
        .map(|(id, score, candidate)| Ranked {
            id,
            score,
            embedded: view.fact(id).is_some_and(|it| it.embedded),
            superseded_by: view.graph.superseded_by(id),
            contradicts: view.graph.linked_by(id, LinkKind::Contradicts),
            explanation: options
                .explain
                .then(|| explain(view, text, scoring, id, &candidate, best)),
        })
        .collect()
}

fn explain(
    view: &View,
    text: &TextSearch<'_>,
    scoring: &Scoring<'_>,
    id: MemoryId,
    candidate: &Candidate,
    best: f64,
) -> HitExplanation {
    let mut signals = Vec::new();
    if scoring.lexical_weight > 0.0 {
        signals.push(Signal {
            name: "bm25",
            value: f64::from(candidate.lexical),
            rank: scoring.lexical_ranks.get(&id.get()).copied(),
            weight: scoring.lexical_weight,
            contribution: scoring.lexical_share(candidate.lexical) / best,
        });
    }
    if let Some(semantic) = candidate.semantic.filter(|_| scoring.semantic_weight > 0.0) {
        signals.push(Signal {
            name: "semantic",
            value: f64::from(semantic),
            rank: scoring.semantic_ranks.get(&id.get()).copied(),
            weight: scoring.semantic_weight,
            contribution: scoring.semantic_share(candidate.semantic) / best,
        });
    }
    let beside = [
        ("cues", candidate.cues),
        ("neighbours", candidate.neighbours),
        ("links", candidate.links),
        ("updates", candidate.lifted),
    ];
    for (name, value) in beside.into_iter().filter(|(_, value)| *value > 0.0) {
        let contribution = value / best;
        signals.push(Signal { name, value, rank: None, weight: 1.0, contribution });
    }
    if candidate.superseded < 1.0 {
        let before = (candidate.total() + candidate.lifted) / best;
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
    let links: Vec<Link> = view.graph.around(id).take(LINKS_EXPLAINED_MAX).collect();
    HitExplanation { signals, matched_terms: matched_terms.into_iter().collect(), links }
}
