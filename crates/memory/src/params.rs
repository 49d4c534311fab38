//! All weights of the search.

/// The weights of the signals of a search. The defaults are round numbers that performed best
/// across different collections.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchParams {
    /// BM25's term frequency saturation.
    pub bm25_k1: f64,
    /// BM25's length normalisation.
    pub bm25_b: f64,
    /// The lexical share of a hybrid score.
    pub lexical_weight: f64,
    /// The semantic share of a hybrid score.
    pub semantic_weight: f64,
    /// Minimum number of candidates from each signal.
    pub candidates: usize,
    /// Number of documents that add terms to the query (pseudo-relevance feedback); 0 disables it.
    pub feedback_documents: usize,
    /// Number of terms that they add.
    pub feedback_terms: usize,
    /// The weight of all added terms together, relative to 1 for the query's own terms.
    pub feedback_weight: f64,
    /// What a text has that is long enough to say something; see
    /// [`waypost_ranking::substance`].
    pub substance_weight: f64,
    /// What a memory has whose title the query names a word of.
    pub title_weight: f64,
    /// What a text has that tells and does not ask.
    pub telling_weight: f64,
    /// What a text has that names a time, if the query asks for one.
    pub time_weight: f64,
    /// What the words found in a neighbour in the same session lend, by distance from 1.
    pub neighbour_weights: [f64; 2],
    /// What the words found in a question lend to the text after it in the same session, beside
    /// the neighbour's share: it is likely the answer.
    pub answer_weight: f64,
    /// What a memory linked by `part_of` or `related_to` lends.
    pub link_weight: f64,
}

impl Default for SearchParams {
    fn default() -> Self {
        Self {
            bm25_k1: 0.9,
            bm25_b: 0.4,
            lexical_weight: 0.4,
            semantic_weight: 0.6,
            candidates: 200,
            feedback_documents: 5,
            feedback_terms: 10,
            feedback_weight: 0.2,
            substance_weight: 0.1,
            title_weight: 0.05,
            telling_weight: 0.1,
            time_weight: 0.1,
            neighbour_weights: [0.2, 0.1],
            answer_weight: 0.2,
            link_weight: 0.1,
        }
    }
}
