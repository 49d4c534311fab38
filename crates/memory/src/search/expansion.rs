//! The second round: names and rare terms of the first hits lead to the memories that go with them.
//!
//! What two memories say together is often found by the words of one of them. The first round's
//! feedback takes the hits by words alone; this one takes those of all signals, titles and sessions
//! included. It scores the candidates anew and looks for no others, so its cost is bounded.

use waypost_ranking::{Feedback, Hit, Query, Range, Slot, TextSearch};

use super::candidates::{Candidates, Scoring};

/// The query, extended by the strongest terms of the first hits.
pub(super) fn second_query(scoring: &Scoring<'_>, candidates: &Candidates) -> Query {
    let params = scoring.bonuses.params;
    let feedback = Feedback::default()
        .with_documents(params.second_documents)
        .with_terms(params.second_terms)
        .with_weight(params.second_weight as f32);
    let hit = |place: usize| {
        let it = candidates.at(place);
        Hit { id: it.id.get(), part: it.part, slot: it.slot, score: it.total() as f32 }
    };
    let first: Vec<Hit> = ahead(candidates, feedback.documents).into_iter().map(hit).collect();
    feedback.expand(scoring.bonuses.given, scoring.text, &first)
}

/// Gives the candidates that are ahead their scores for the query of the second round.
pub(super) fn score_again(
    scoring: &mut Scoring<'_>,
    text: &TextSearch<'_>,
    candidates: &mut Candidates,
) {
    let ahead = ahead(candidates, scoring.bonuses.params.second_candidates);
    let place = |number: &usize| (candidates.at(*number).part, candidates.at(*number).slot);
    let places: Vec<(u32, Slot)> = ahead.iter().map(place).collect();
    for (place, score) in ahead.into_iter().zip(text.scores_of(&places)) {
        candidates.at_mut(place).lexical = score;
    }
    let best = candidates.iter().map(|candidate| candidate.lexical).fold(0.0, f32::max);
    scoring.lexical_range = Range { low: 0.0, high: best };
    for candidate in candidates.iter_mut() {
        candidate.base = scoring.base(candidate);
    }
}

/// The positions of the candidates with the highest ranking scores, best first.
pub(super) fn ahead(candidates: &Candidates, count: usize) -> Vec<usize> {
    // Candidates are sorted by id, so that positions break ties as ids do.
    let by_rank = |a: &(f64, usize), b: &(f64, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    let mut all: Vec<(f64, usize)> =
        candidates.iter().enumerate().map(|(place, it)| (it.total(), place)).collect();
    if count < all.len() {
        all.select_nth_unstable_by(count, by_rank);
        all.truncate(count);
    }
    all.sort_unstable_by(by_rank);
    all.into_iter().map(|(_, place)| place).collect()
}
