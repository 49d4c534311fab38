use std::collections::HashMap;

use crate::{Explanation, Hit};

/// Maps a signal's scores to a common scale: `low` becomes 0, `high` becomes 1, values outside are
/// clamped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// The score that maps to 0.
    pub low: f32,
    /// The score that maps to 1.
    pub high: f32,
}

impl Range {
    /// From the worst score to the best: min-max normalisation (Joon Ho Lee: *Analyses of Multiple
    /// Evidence Combination*, 1997).
    pub fn min_max(hits: &[Hit]) -> Self {
        let low = hits.iter().map(|hit| hit.score).fold(f32::INFINITY, f32::min);
        let high = hits.iter().map(|hit| hit.score).fold(f32::NEG_INFINITY, f32::max);
        Self { low, high }
    }

    /// From 0 to the best score. For BM25, this is min-max over the whole collection, because a
    /// document without any of the terms scores 0.
    pub fn from_zero(hits: &[Hit]) -> Self {
        Self { low: 0.0, ..Self::min_max(hits) }
    }

    /// From three standard deviations below the mean to three above: distribution-based score fusion
    /// (Qdrant's DBSF, 2024; after Mark Montague and Javed Aslam: *Relevance Score Normalization for
    /// Metasearch*, 2001, which shifts and scales by mean and variance).
    pub fn distribution(hits: &[Hit]) -> Self {
        let count = hits.len().max(1) as f64;
        let mean = hits.iter().map(|hit| f64::from(hit.score)).sum::<f64>() / count;
        let square = hits.iter().map(|hit| (f64::from(hit.score) - mean).powi(2)).sum::<f64>();
        let deviation = (square / (count - 1.0).max(1.0)).sqrt();
        Self { low: (mean - 3.0 * deviation) as f32, high: (mean + 3.0 * deviation) as f32 }
    }

    /// The score on the common scale, 0 to 1. In a range of zero width everything from `low` on is
    /// 1.
    pub fn apply(&self, score: f32) -> f32 {
        if self.high > self.low {
            ((score - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
        } else if score >= self.low {
            1.0
        } else {
            0.0
        }
    }
}

/// One list of scores in a fusion.
#[derive(Debug, Clone, Copy)]
pub struct Signal<'a> {
    /// The name in explanations.
    pub name: &'a str,
    /// The factor for its normalised scores.
    pub weight: f32,
    /// How they are normalised.
    pub range: Range,
    /// The scores; a missing document adds nothing.
    pub hits: &'a [Hit],
}

impl<'a> Signal<'a> {
    /// A signal from these hits.
    pub fn new(name: &'a str, weight: f32, range: Range, hits: &'a [Hit]) -> Self {
        Self { name, weight, range, hits }
    }

    fn share(&self, score: f32) -> f32 {
        self.weight * self.range.apply(score)
    }
}

/// Adds the signals' weighted, normalised scores. Best first, ties by id; the sum follows the order
/// of the signals.
pub fn fuse(signals: &[Signal<'_>]) -> Vec<Hit> {
    combine(
        signals.iter().map(|signal| signal.hits.iter().map(|hit| (*hit, signal.share(hit.score)))),
    )
}

/// Fuses by rank: each list adds `weight / (60 + rank)`, ranks from 1. For comparison; it loses how
/// far the first is ahead of the second.
///
/// Gordon Cormack, Charles Clarke, Stefan Büttcher: *Reciprocal Rank Fusion Outperforms Condorcet
/// and Individual Rank Learning Methods*, 2009.
pub fn reciprocal_rank_fusion(lists: &[(f32, &[Hit])]) -> Vec<Hit> {
    combine(lists.iter().map(|(weight, hits)| {
        hits.iter().enumerate().map(move |(place, hit)| (*hit, weight / (61.0 + place as f32)))
    }))
}

/// Explains a document's score from [`fuse`]: the value is that score, to the bit.
pub fn explain_fused(signals: &[Signal<'_>], id: u64) -> Explanation {
    let children = signals
        .iter()
        .filter_map(|signal| {
            let hit = signal.hits.iter().find(|hit| hit.id == id)?;
            let normalised = Explanation::computed(
                signal.range.apply(hit.score),
                format!(
                    "{} {} within {} to {}",
                    signal.name, hit.score, signal.range.low, signal.range.high
                ),
                vec![Explanation::leaf(hit.score, format!("{} score", signal.name))],
            );
            let weight = Explanation::leaf(signal.weight, "weight");
            Some(Explanation::product(signal.name, vec![weight, normalised]))
        })
        .collect();
    Explanation::sum("sum of signals", children)
}

fn combine(lists: impl Iterator<Item = impl Iterator<Item = (Hit, f32)>>) -> Vec<Hit> {
    let mut places: HashMap<u64, usize> = HashMap::new();
    let mut fused: Vec<Hit> = Vec::new();
    for (hit, share) in lists.flatten() {
        let place = *places.entry(hit.id).or_insert_with(|| {
            fused.push(Hit { score: 0.0, ..hit });
            fused.len() - 1
        });
        fused[place].score += share;
    }
    fused.sort_unstable_by(Hit::by_rank);
    fused
}
