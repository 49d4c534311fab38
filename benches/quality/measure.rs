//! Recall, nDCG and reciprocal rank of ranked lists.

use std::collections::HashSet;
use std::iter::Sum;
use std::ops::{Add, Div};

/// How deep a ranking is looked at.
pub(crate) const DEPTH: usize = 20;

/// The measures of one question, or their mean over several.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Measures {
    pub(crate) recall_5: f64,
    pub(crate) recall_10: f64,
    pub(crate) recall_20: f64,
    pub(crate) ndcg_10: f64,
    pub(crate) reciprocal_rank: f64,
}

impl Measures {
    /// Measures one ranking (places of documents, best first) against the places that answer.
    /// Gains are binary, the discount is the logarithm to base 2; the reciprocal rank is 0 where
    /// the first [`DEPTH`] hold no answer.
    pub(crate) fn of(ranking: &[usize], relevant: &HashSet<usize>) -> Self {
        let found = |depth: usize| {
            let count =
                ranking.iter().take(depth).filter(|ranking| relevant.contains(ranking)).count();
            count as f64 / relevant.len().max(1) as f64
        };
        let discount = |place: usize| 1.0 / ((place + 2) as f64).log2();
        let hits = ranking.iter().take(10).enumerate().filter(|(_, it)| relevant.contains(it));
        let gain: f64 = hits.map(|(place, _)| discount(place)).sum();
        let ideal: f64 = (0..relevant.len().min(10)).map(discount).sum();
        let first = ranking.iter().take(DEPTH).position(|ranking| relevant.contains(ranking));
        Self {
            recall_5: found(5),
            recall_10: found(10),
            recall_20: found(20),
            ndcg_10: if ideal > 0.0 { gain / ideal } else { 0.0 },
            reciprocal_rank: first.map_or(0.0, |place| 1.0 / (place + 1) as f64),
        }
    }

    /// The mean over questions.
    pub(crate) fn mean(all: &[Self]) -> Self {
        all.iter().copied().sum::<Self>() / all.len().max(1) as f64
    }
}

impl Add for Measures {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            recall_5: self.recall_5 + other.recall_5,
            recall_10: self.recall_10 + other.recall_10,
            recall_20: self.recall_20 + other.recall_20,
            ndcg_10: self.ndcg_10 + other.ndcg_10,
            reciprocal_rank: self.reciprocal_rank + other.reciprocal_rank,
        }
    }
}

impl Sum for Measures {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

impl Div<f64> for Measures {
    type Output = Self;

    fn div(self, by: f64) -> Self {
        Self {
            recall_5: self.recall_5 / by,
            recall_10: self.recall_10 / by,
            recall_20: self.recall_20 / by,
            ndcg_10: self.ndcg_10 / by,
            reciprocal_rank: self.reciprocal_rank / by,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_perfect_ranking_scores_one() {
        let all = Measures::of(&[3, 1, 0], &HashSet::from([1, 3]));
        assert_eq!(all.recall_5, 1.0);
        assert_eq!(all.ndcg_10, 1.0);
        assert_eq!(all.reciprocal_rank, 1.0);
    }

    #[test]
    fn a_late_answer_is_discounted() {
        let one = Measures::of(&[9, 8, 1], &HashSet::from([1, 2]));
        assert_eq!(one.recall_10, 0.5);
        assert_eq!(one.reciprocal_rank, 1.0 / 3.0);
        let ideal = 1.0 + 1.0 / 3.0_f64.log2();
        assert!((one.ndcg_10 - 0.5 / ideal).abs() < 1e-12);
    }
}
