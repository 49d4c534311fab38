//! The probability that a search found an answer, independent of the order of its hits.
//!
//! A logistic regression (John Platt: *Probabilistic Outputs for Support Vector Machines*, 1999)
//! over values that the ranking computes anyway. Its weights are rounded; docs/quality.md describes
//! how they were chosen.

use super::candidates::{Bonuses, Candidate, Scoring};

/// The number of first hits whose best coverage counts.
pub(super) const COVERAGE_HITS: usize = 3;
/// The position of the hit over which the lead of the best one is measured, from 1.
pub(super) const LEAD_HITS: usize = 5;

/// Cosines of unrelated texts are below the first value; cosines of a question and its answer are
/// mostly above the second.
const CLOSENESS: [f64; 2] = [0.25, 0.55];

/// The features of the regression, each from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Evidence {
    words: Option<Words>,
    /// The position of the highest cosine between unrelated (0) and answering (1) texts.
    closeness: Option<f64>,
    /// How much lower the score of the fifth hit is, as a share of the best hit's score; where there
    /// is none, the score of a memory with nothing of the query.
    lead: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Words {
    /// The largest share of the query's terms, weighted by inverse document frequency, that one of
    /// the first hits contains.
    coverage: f64,
    /// The share of the query's names, weighted in the same way, that occur in any memory; of all
    /// its terms if it names nothing.
    named: f64,
}

/// The probability that these hits answer the query. They are sorted, best first; each has its
/// ranking score.
pub(super) fn answerable(scoring: &Scoring<'_>, hits: &[(f64, &Candidate)]) -> f64 {
    let Some((best, first)) = hits.first().copied() else { return 0.0 };
    let Bonuses { given: query, names, .. } = scoring.bonuses;
    let words = scoring.by_words.then(|| Words {
        coverage: hits
            .iter()
            .take(COVERAGE_HITS)
            .map(|(_, it)| f64::from(query.coverage(it.part, it.slot)))
            .fold(0.0, f64::max),
        named: f64::from(if names.query().is_empty() { query.known() } else { names.known() }),
    });
    let nearest = scoring.semantic.first().map(|semantic| f64::from(semantic.score));
    // If the best hit has no vector, the cosine of another one says nothing about it.
    let nearest = nearest.filter(|_| first.semantic.is_some() || words.is_none());
    let [unrelated, answering] = CLOSENESS;
    let closeness = nearest.map(|nearest| (nearest - unrelated) / (answering - unrelated));
    let lead = if best > 0.0 { 1.0 - fifth(scoring, hits) / best } else { 0.0 };
    Evidence { words, closeness: closeness.map(|closeness| closeness.clamp(0.0, 1.0)), lead }
        .probability()
}

/// The ranking score of the fifth hit. If there are fewer, the fifth memory has nothing of the query:
/// its score would be that of the cues of a statement of the mean length, so that adding such a memory
/// to the store changes the lead little.
fn fifth(scoring: &Scoring<'_>, hits: &[(f64, &Candidate)]) -> f64 {
    let Some(last) = hits.get(LEAD_HITS - 1).or(hits.last()) else { return 0.0 };
    if hits.len() < LEAD_HITS { last.0.min(scoring.bonuses.background()) } else { last.0 }
}

impl Evidence {
    fn probability(self) -> f64 {
        let sum = match (self.words, self.closeness) {
            (Some(Words { coverage, named }), Some(closeness)) => {
                2.5 * closeness + 1.5 * coverage + 2.0 * named + 3.0 * self.lead - 5.0
            }
            (Some(Words { coverage, named }), None) => {
                2.0 * coverage + 3.0 * named + 1.5 * self.lead - 4.0
            }
            (None, Some(closeness)) => 4.5 * closeness - 3.75,
            (None, None) => return 0.0,
        };
        1.0 / (1.0 + (-sum).exp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_evidence_never_makes_an_answer_less_likely() {
        let steps = [0.0, 0.25, 0.5, 0.75, 1.0];
        let ways: [fn(f64) -> Evidence; 5] = [
            |it| evidence(Some((it, 0.5)), Some(0.5), 0.5),
            |it| evidence(Some((0.5, it)), None, 0.5),
            |it| evidence(Some((0.5, 0.5)), Some(it), 0.5),
            |it| evidence(None, Some(it), 0.5),
            |it| evidence(Some((0.5, 0.5)), Some(0.5), it),
        ];
        for way in ways {
            let all = steps.map(|step| way(step).probability());
            assert!(all.is_sorted() && all[0] < all[4], "{all:?}");
            assert!(all.iter().all(|it| (0.0..=1.0).contains(it)), "{all:?}");
        }
    }

    #[test]
    fn all_evidence_or_none_is_clear_in_every_mode() {
        for (words, closeness) in [(true, true), (true, false), (false, true)] {
            let all = |value: f64| {
                evidence(words.then_some((value, value)), closeness.then_some(value), value)
                    .probability()
            };
            assert!(all(0.0) < 0.05 && all(1.0) > 0.65, "{} {}", all(0.0), all(1.0));
        }
        assert_eq!(evidence(None, None, 1.0).probability(), 0.0);
    }

    fn evidence(words: Option<(f64, f64)>, closeness: Option<f64>, lead: f64) -> Evidence {
        let words = words.map(|(coverage, named)| Words { coverage, named });
        Evidence { words, closeness, lead }
    }
}
