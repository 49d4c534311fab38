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
    /// Number of first hits that add terms in a second round, over the candidates; 0 disables it.
    pub second_documents: usize,
    /// Number of terms that they add.
    pub second_terms: usize,
    /// The weight of the best of these terms, relative to 1 for the query's own terms.
    pub second_weight: f64,
    /// Number of candidates whose words the second round scores, those that are ahead.
    pub second_candidates: usize,
    /// The bonus of a text that is long enough to be informative; see
    /// [`waypost_ranking::substance`].
    pub substance_weight: f64,
    /// The bonus of a memory whose title contains a word of the query.
    pub title_weight: f64,
    /// The bonus of the memory whose title contains most of the query's labels, the words that
    /// mostly occur in titles; others in proportion. See [`waypost_ranking::TextSearch::titles`].
    pub label_weight: f64,
    /// The bonus of a text that is no question.
    pub telling_weight: f64,
    /// The bonus of a text that names a time, if the query asks for one.
    pub time_weight: f64,
    /// The bonus of a memory that was created on a day that the query names, or whose text names
    /// one.
    pub date_weight: f64,
    /// The bonus of the newest of the best hits, by creation, if the latest is asked for; the others
    /// in proportion to their place.
    pub recency_weight: f64,
    /// The share of its lexical score that a memory lends to its neighbours in the same session,
    /// by distance from 1.
    pub neighbour_weights: [f64; 2],
    /// The share of its lexical score that a question lends, in addition, to the text after it in
    /// the same session, which likely answers it.
    pub answer_weight: f64,
    /// Hits with a lower score are dropped, unless
    /// [`SearchOptions::min_score`](crate::SearchOptions::min_score) says otherwise.
    pub min_score: f64,
    /// A search of the past fails if more memories than this were known then …
    pub past_memories_max: usize,
    /// … or if their titles and contents have more bytes.
    pub past_bytes_max: usize,
    /// The share of its score that a memory lends to those linked to it by `part_of` or
    /// `related_to`.
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
            second_documents: 10,
            second_terms: 40,
            second_weight: 0.2,
            second_candidates: 100,
            substance_weight: 0.15,
            title_weight: 0.05,
            label_weight: 0.15,
            telling_weight: 0.1,
            time_weight: 0.1,
            date_weight: 0.2,
            recency_weight: 0.2,
            neighbour_weights: [0.2, 0.1],
            answer_weight: 0.2,
            min_score: 0.0,
            past_memories_max: 100_000,
            past_bytes_max: 64 * 1024 * 1024,
            link_weight: 0.1,
        }
    }
}
