//! Every weight of the search, in one place.

/// How search weighs its signals. The defaults are round numbers that served best across unlike
/// collections.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchParams {
    /// BM25's term frequency saturation.
    pub bm25_k1: f64,
    /// BM25's length normalisation.
    pub bm25_b: f64,
    /// The words' share of a hybrid score.
    pub lexical_weight: f64,
    /// The meaning's share of a hybrid score.
    pub semantic_weight: f64,
    /// How many candidates each signal brings, at least.
    pub candidates: usize,
    /// Documents that lend terms to the query (pseudo-relevance feedback); 0 turns it off.
    pub feedback_documents: usize,
    /// Terms that they lend.
    pub feedback_terms: usize,
    /// What the lent terms weigh together, against 1 for the query's own.
    pub feedback_weight: f64,
    /// What a neighbour in the same session lends, by distance from 1.
    pub neighbour_weights: [f64; 2],
    /// What a memory linked by `part_of` or `related_to` lends.
    pub link_weight: f64,
}

impl Default for SearchParams {
    fn default() -> Self {
        Self {
            bm25_k1: 0.9,
            bm25_b: 0.4,
            lexical_weight: 0.5,
            semantic_weight: 0.5,
            candidates: 200,
            feedback_documents: 5,
            feedback_terms: 10,
            feedback_weight: 0.2,
            neighbour_weights: [0.2, 0.1],
            link_weight: 0.1,
        }
    }
}
