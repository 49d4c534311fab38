/// The parameters of BM25.
///
/// Stephen Robertson, Hugo Zaragoza: *The Probabilistic Relevance Framework: BM25 and Beyond*,
/// 2009, §3.5; the inverse document frequency has one added inside the logarithm, as in Lucene, so
/// that it is never negative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bm25 {
    /// How slowly repetitions of a term saturate; 0 counts presence alone. Default 0.9, the best
    /// value across two dissimilar collections (short conversation turns, abstracts of papers).
    pub k1: f32,
    /// How strongly long documents are penalised, 0 to 1. Default 0.4.
    pub b: f32,
}

impl Bm25 {
    /// `k1` and `b`, clamped to the valid ranges of the formula.
    pub(crate) fn checked(self) -> (f64, f64) {
        let within = |value: f32, high: f32| {
            f64::from(if value.is_nan() { 0.0 } else { value.clamp(0.0, high) })
        };
        (within(self.k1, 1e6), within(self.b, 1.0))
    }
}

impl Default for Bm25 {
    fn default() -> Self {
        Self { k1: 0.9, b: 0.4 }
    }
}

/// Scores are whole multiples of a power of two, and the largest possible one is below 2^24 of
/// them. Sums are therefore exact in `u32` and in `f32` in any order: no segmentation, merge or
/// pruning changes a bit of a score.
const UNITS_MAX: f64 = (1 << 24) as f64;

/// Collection statistics: exact counts over all parts of a search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Collection {
    pub(crate) documents: u64,
    pub(crate) length_total: u64,
}

impl Collection {
    pub(crate) fn length_average(self) -> f64 {
        if self.documents == 0 { 0.0 } else { self.length_total as f64 / self.documents as f64 }
    }

    /// `ln(1 + (N - n + 0.5) / (n + 0.5))`.
    pub(crate) fn idf(self, document_frequency: u64) -> f64 {
        let (all, with) = (self.documents as f64, document_frequency as f64);
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
    }
}

/// BM25 for one query over one collection, in units.
#[derive(Debug, Clone)]
pub(crate) struct Scorer {
    /// By query term: the upper bound of its contribution, in units.
    weights: Vec<f32>,
    /// A document of `length` terms adds `norm_base + norm_slope * length` to its term count.
    norm_base: f32,
    norm_slope: f32,
    units_per_one: f32,
}

impl Scorer {
    /// `terms`: weight and document frequency of each query term.
    pub(crate) fn new(bm25: Bm25, collection: Collection, terms: &[(f32, u64)]) -> Self {
        let (k1, b) = bm25.checked();
        let weights: Vec<f64> = terms
            .iter()
            .map(|&(weight, with)| f64::from(weight) * collection.idf(with) * (k1 + 1.0))
            .collect();
        let total: f64 = weights.iter().sum();
        // Every contribution can be rounded up, and is computed in f32.
        let room = UNITS_MAX - 2.0 * terms.len() as f64 - 16.0;
        let exponent =
            if total > 0.0 { (room / total).log2().floor().clamp(-126.0, 126.0) } else { 0.0 };
        let units_per_one = 2f64.powi(exponent as i32);
        Self {
            weights: weights.iter().map(|weight| (weight * units_per_one) as f32).collect(),
            norm_base: (k1 * (1.0 - b)) as f32,
            norm_slope: (k1 * b / collection.length_average().max(1.0)) as f32,
            units_per_one: units_per_one as f32,
        }
    }

    /// The contribution of a term with `count` occurrences in a document of this length.
    #[inline]
    pub(crate) fn units(&self, term: usize, count: u32, length: u32) -> u32 {
        let norm = self.norm_base + self.norm_slope * length as f32;
        let count = count as f32;
        (self.weights[term] * (count / (count + norm)) + 0.5) as u32
    }

    /// The upper bound for documents with a count up to `count_max` and a length from `length_min`
    /// on. The quotient grows with the count except for its two roundings: each is off by at most
    /// 2^-24 of up to 2^24 units, at either end, and one unit more is lost by truncating it.
    #[inline]
    pub(crate) fn units_max(&self, term: usize, count_max: u32, length_min: u32) -> u32 {
        self.units(term, count_max, length_min) + 5
    }

    /// Units as a score; exact.
    #[inline]
    pub(crate) fn score(&self, units: u32) -> f32 {
        units as f32 / self.units_per_one
    }
}
