//! A space as plain collections: the reference for the indexes.

use std::collections::BTreeMap;

use waypost_ranking::{Bm25, Document, Hit, Query, Slots, TextIndex, TextPart, TextSearch};

/// Documents of terms that the analyzer does not change.
pub(crate) fn document(terms: &[&str]) -> Document {
    waypost_ranking::Analyzer::english().document("", &terms.join(" "))
}

/// A space under test with its expected contents: each document's terms with their counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Space {
    pub(crate) slots: Slots,
    pub(crate) index: TextIndex,
    pub(crate) documents: BTreeMap<u64, BTreeMap<String, u32>>,
}

impl Space {
    /// A space whose index seals its open part early.
    pub(crate) fn sealing_at(documents: usize) -> Self {
        let index = TextIndex::default().with_tail_documents_max(documents);
        Self { index, ..Self::default() }
    }

    pub(crate) fn put(&mut self, id: u64, terms: &[String]) {
        let words: Vec<&str> = terms.iter().map(String::as_str).collect();
        let slot = self.slots.assign(id);
        self.index.insert(slot, &document(&words));
        let mut counts = BTreeMap::new();
        for term in terms {
            *counts.entry(term.clone()).or_default() += 1;
        }
        self.documents.insert(id, counts);
    }

    pub(crate) fn delete(&mut self, id: u64) {
        let removed = self.slots.remove(id).map(|slot| self.index.remove(slot));
        assert_eq!(removed.unwrap_or(false), self.documents.remove(&id).is_some());
    }

    pub(crate) fn part(&self) -> TextPart<'_> {
        TextPart { slots: &self.slots, index: &self.index, filter: None }
    }
}

/// BM25 from its definition, in f64, for every document of all spaces that has a term.
pub(crate) fn naive(spaces: &[Space], query: &Query, bm25: Bm25) -> BTreeMap<u64, f64> {
    let all: Vec<(&u64, &BTreeMap<String, u32>)> =
        spaces.iter().flat_map(|space| &space.documents).collect();
    let (k1, b) = (f64::from(bm25.k1), f64::from(bm25.b));
    let length = |counts: &BTreeMap<String, u32>| f64::from(counts.values().sum::<u32>());
    let average = all.iter().map(|(_, counts)| length(counts)).sum::<f64>() / all.len() as f64;
    let mut scores = BTreeMap::new();
    for term in query.terms() {
        let with = all.iter().filter(|(_, counts)| counts.contains_key(&term.term)).count() as f64;
        let idf = (1.0 + (all.len() as f64 - with + 0.5) / (with + 0.5)).ln();
        for (id, counts) in &all {
            if let Some(&count) = counts.get(&term.term) {
                let count = f64::from(count);
                let norm = k1 * (1.0 - b + b * length(counts) / average.max(1.0));
                *scores.entry(**id).or_default() +=
                    f64::from(term.weight) * idf * count * (k1 + 1.0) / (count + norm);
            }
        }
    }
    scores
}

pub(crate) fn top(parts: &[TextPart<'_>], query: &Query, k: usize) -> Vec<Hit> {
    TextSearch::new(parts, query, Bm25::default()).top(k)
}

/// The parts of a hit that do not depend on the index's history.
pub(crate) fn essence(hits: &[Hit]) -> Vec<(u64, u32)> {
    hits.iter().map(|hit| (hit.id, hit.score.to_bits())).collect()
}
