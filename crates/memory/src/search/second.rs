//! The second round: names and rare terms of the first hits lead to the memories that go with them.
//!
//! What two memories say together is often found by the words of one of them. The first round's
//! feedback takes the hits by words alone; this one takes those of all signals, titles and sessions
//! included. It scores the candidates anew and looks for no others, so its cost is bounded.

use waypost_ranking::{Feedback, Hit, Query, Range, TextSearch};

use super::candidates::{Candidate, Candidates, Scoring};
use crate::MemoryId;

/// The query, extended by the strongest terms of the first hits.
pub(super) fn second_query(scoring: &Scoring<'_>, candidates: &Candidates) -> Query {
    let params = scoring.bonuses.params;
    let feedback = Feedback::default()
        .with_documents(params.second_documents)
        .with_terms(params.second_terms)
        .with_weight(params.second_weight as f32);
    let hit = |it: Candidate| {
        let (id, score) = (it.id.get(), it.total() as f32);
        Hit { id, part: it.part, slot: it.slot, score }
    };
    let first: Vec<Hit> = ahead(candidates, feedback.documents).into_iter().map(hit).collect();
    feedback.expand(scoring.text, &first)
}

/// Gives the candidates that are ahead their scores for the query of the second round.
pub(super) fn score_again(
    scoring: &mut Scoring<'_>,
    text: &TextSearch<'_>,
    candidates: &mut Candidates,
) {
    let ahead = ahead(candidates, scoring.bonuses.params.second_candidates);
    let scores: Vec<(MemoryId, f32)> =
        ahead.iter().map(|it| (it.id, text.score(it.part, it.slot))).collect();
    for (id, score) in scores {
        if let Some(candidate) = candidates.get_mut(id) {
            candidate.lexical = score;
        }
    }
    let best = candidates.iter().map(|it| it.lexical).fold(0.0, f32::max);
    scoring.lexical_range = Range { low: 0.0, high: best };
    for candidate in candidates.iter_mut() {
        candidate.base = scoring.base(candidate);
    }
}

/// The candidates with the highest ranking scores, best first.
pub(super) fn ahead(candidates: &Candidates, count: usize) -> Vec<Candidate> {
    let by_rank =
        |a: &Candidate, b: &Candidate| b.total().total_cmp(&a.total()).then(a.id.cmp(&b.id));
    let mut all: Vec<Candidate> = candidates.iter().copied().collect();
    if count < all.len() {
        all.select_nth_unstable_by(count, by_rank);
        all.truncate(count);
    }
    all.sort_unstable_by(by_rank);
    all
}
