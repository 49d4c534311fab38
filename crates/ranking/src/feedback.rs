use std::collections::HashMap;

use crate::index::TermKey;
use crate::numbers::NumberMap;
use crate::{Hit, Query, TextSearch, VectorSearch};

/// Pseudo-relevance feedback: adds the terms that distinguish the first results to the query.
///
/// After RM3: Nasreen Abdul-Jaleel and others: *UMass at TREC 2004: Novelty and HARD*, 2004, with
/// BM25 contributions in place of a language model's probabilities.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Feedback {
    /// How many of the first results count as relevant. Default 5.
    pub documents: usize,
    /// How many terms are added. Default 10.
    pub terms: usize,
    /// The weight of the best added term; the others' are in proportion. A query term has weight 1.
    /// Default 0.2.
    ///
    /// It is lower where the added terms would otherwise outweigh the query's own: see
    /// [`expand`](Self::expand).
    pub weight: f32,
}

impl Default for Feedback {
    fn default() -> Self {
        Self { documents: 5, terms: 10, weight: 0.2 }
    }
}

impl Feedback {
    /// Sets how many of the first results count as relevant.
    #[must_use]
    pub fn with_documents(self, documents: usize) -> Self {
        Self { documents, ..self }
    }

    /// Sets how many terms are added.
    #[must_use]
    pub fn with_terms(self, terms: usize) -> Self {
        Self { terms, ..self }
    }

    /// Sets the weight of the best added term.
    #[must_use]
    pub fn with_weight(self, weight: f32) -> Self {
        Self { weight, ..self }
    }

    /// The query of `search` extended by the strongest terms of the first of `hits`. A document
    /// counts in proportion to its score.
    ///
    /// `own` is the search for the terms that were asked for, over the same parts: `search` itself, or
    /// one that `search` extends. The terms that are added to these weigh, each multiplied by its
    /// inverse document frequency, together at most as much as these, so that no document is found
    /// better by what the first hits say than by what was asked. Without the bound, a query for a word
    /// that nearly all documents have, whose inverse document frequency is nearly 0, would find the
    /// rare terms of arbitrary first hits.
    pub fn expand(&self, own: &TextSearch<'_>, search: &TextSearch<'_>, hits: &[Hit]) -> Query {
        let query = search.query();
        let mut added: Vec<(TermKey, f64)> = Vec::new();
        let mut by_id = NumberMap::default();
        let mut by_term = HashMap::new();
        // The terms of several documents are added in the order of the hits, so that the sum is
        // always the same.
        for hit in hits.iter().take(self.documents) {
            let score = f64::from(hit.score);
            for (key, strength) in search.term_strengths(hit.part, hit.slot) {
                let place = if search.has_one_numbering() {
                    *by_id.entry(key.id).or_insert(added.len())
                } else {
                    *by_term.entry(search.term(key)).or_insert(added.len())
                };
                match added.get_mut(place) {
                    Some((_, sum)) => *sum += strength * score,
                    None => added.push((key, strength * score)),
                }
            }
        }
        let by_rank = |(key, strength): &(TermKey, f64), (other_key, other): &(TermKey, f64)| {
            other.total_cmp(strength).then_with(|| search.term(*key).cmp(search.term(*other_key)))
        };
        if self.terms < added.len() {
            added.select_nth_unstable_by(self.terms, by_rank);
            added.truncate(self.terms);
        }
        added.sort_unstable_by(by_rank);
        let best = added.first().map_or(1.0, |(_, strength)| *strength);
        let is_own = |key: TermKey| {
            let term = search.term(key);
            own.query().terms().iter().any(|other| other.term == term)
        };
        let foreign = added.iter().filter(|(key, _)| !is_own(*key));
        let foreign: f64 =
            foreign.map(|(key, strength)| strength / best * search.idf_of(*key)).sum();
        let bound = (own.total_weight() / foreign) as f32;
        let weight = if foreign > 0.0 { self.weight.min(bound) } else { self.weight };
        let given = query.terms().iter().map(|term| (term.term.clone(), term.weight));
        let weighted = |(key, strength): (TermKey, f64)| {
            (search.term(key).to_owned(), weight * (strength / best) as f32)
        };
        Query::new(given.chain(added.into_iter().map(weighted)))
    }
}

/// Pseudo-relevance feedback for vectors: moves the query towards the first results.
///
/// After Joseph Rocchio: *Relevance Feedback in Information Retrieval*, 1971, without negative
/// examples.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct VectorFeedback {
    /// How many of the first results count as relevant. Default 3.
    pub documents: usize,
    /// The weight of their mean; the query has weight 1. Default 0.2.
    pub weight: f32,
}

impl Default for VectorFeedback {
    fn default() -> Self {
        Self { documents: 3, weight: 0.2 }
    }
}

impl VectorFeedback {
    /// Sets how many of the first results count as relevant.
    #[must_use]
    pub fn with_documents(self, documents: usize) -> Self {
        Self { documents, ..self }
    }

    /// Sets the weight of their mean.
    #[must_use]
    pub fn with_weight(self, weight: f32) -> Self {
        Self { weight, ..self }
    }

    /// The query vector of `search`, moved towards the first of `hits`, which it returned.
    pub fn expand(&self, search: &VectorSearch<'_>, hits: &[Hit]) -> Vec<f32> {
        let near: Vec<Vec<f32>> = hits
            .iter()
            .take(self.documents)
            .filter_map(|hit| search.vector(hit.part, hit.slot))
            .collect();
        let share = self.weight / near.len().max(1) as f32;
        let mut query = search.query().to_vec();
        for vector in &near {
            for (sum, component) in query.iter_mut().zip(vector) {
                *sum += share * component;
            }
        }
        query
    }
}
