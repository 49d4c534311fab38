use std::collections::HashMap;

use super::{TermId, TextIndex};
use crate::bm25::{Collection, Scorer};
use crate::{Bm25, Filter, Hit, Query, Slot, Slots};

/// One space of a text search.
#[derive(Clone, Copy)]
pub struct TextPart<'a> {
    /// The numbering of its documents.
    pub slots: &'a Slots,
    /// Its index.
    pub index: &'a TextIndex,
    /// Which of its documents may be found; all if there is none. It does not change the statistics.
    pub filter: Option<Filter<'a>>,
}

impl std::fmt::Debug for TextPart<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextPart").field("filtered", &self.filter.is_some()).finish_non_exhaustive()
    }
}

/// A query over one or several indexes that are ranked as one collection.
#[derive(Debug)]
pub struct TextSearch<'a> {
    pub(super) parts: &'a [TextPart<'a>],
    pub(super) query: &'a Query,
    pub(super) bm25: Bm25,
    pub(super) collection: Collection,
    /// By query term: how many documents of the collection have it.
    pub(super) frequencies: Vec<u64>,
    /// By part, by query term.
    pub(super) ids: Vec<Vec<Option<TermId>>>,
    pub(super) scorer: Scorer,
}

/// How much of a query a title has; see [`TextSearch::title_match`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TitleMatch {
    /// The share of the query, by inverse document frequency, that the title has, 0 to 1.
    pub of_query: f32,
    /// The share of the title's terms, by inverse document frequency, that the query has, 0 to 1.
    pub of_title: f32,
}

impl<'a> TextSearch<'a> {
    /// Looks the query's terms up and adds the parts' statistics together.
    pub fn new(parts: &'a [TextPart<'a>], query: &'a Query, bm25: Bm25) -> Self {
        let mut collection = Collection::default();
        let mut frequencies = vec![0; query.terms().len()];
        let mut ids = Vec::with_capacity(parts.len());
        for part in parts {
            let index = part.index;
            collection.documents += index.collection.documents;
            collection.length_total += index.collection.length_total;
            let of_part: Vec<Option<TermId>> =
                query.terms().iter().map(|term| index.dictionary.id(&term.term)).collect();
            for (frequency, id) in frequencies.iter_mut().zip(&of_part) {
                *frequency += id.map_or(0, |id| index.dictionary.frequency(id));
            }
            ids.push(of_part);
        }
        let terms: Vec<(f32, u64)> = query
            .terms()
            .iter()
            .zip(&frequencies)
            .map(|(term, &with)| (if with == 0 { 0.0 } else { term.weight }, with))
            .collect();
        let scorer = Scorer::new(bm25, collection, &terms);
        Self { parts, query, bm25, collection, frequencies, ids, scorer }
    }

    /// The query.
    pub fn query(&self) -> &'a Query {
        self.query
    }

    /// The `k` best documents that have at least one of the terms, best first, ties by id.
    pub fn top(&self, k: usize) -> Vec<Hit> {
        self.exhaustive(k)
    }

    /// The same as [`top`](Self::top), found by scoring every document that has a term.
    pub fn exhaustive(&self, k: usize) -> Vec<Hit> {
        let mut hits = Vec::new();
        for (at, part) in self.parts.iter().enumerate() {
            let mut units: HashMap<Slot, u32> = HashMap::new();
            for (term, id) in self.ids[at].iter().enumerate() {
                let Some(list) = id.and_then(|id| part.index.tail.list(id)) else { continue };
                for &(slot, count) in &list.postings {
                    let length = part.index.lengths[slot as usize];
                    *units.entry(slot).or_default() += self.scorer.units(term, count, length);
                }
            }
            for (slot, units) in units {
                let Some(id) = part.slots.id(slot) else { continue };
                if part.filter.is_none_or(|filter| filter(slot)) {
                    hits.push(Hit { id, part: at as u32, slot, score: self.scorer.score(units) });
                }
            }
        }
        hits.sort_unstable_by(Hit::by_rank);
        hits.truncate(k);
        hits
    }

    /// The score of one document, the same as a search gives it; 0 if it has none of the terms.
    pub fn score(&self, part: u32, slot: Slot) -> f32 {
        let units = self.matches(part, slot).iter().map(|matched| matched.units).sum();
        self.scorer.score(units)
    }

    /// How much of the query the document's title has, and how much of the title the query has.
    pub fn title_match(&self, part: u32, slot: Slot) -> TitleMatch {
        let Some(index) = self.parts.get(part as usize).map(|part| part.index) else {
            return TitleMatch::default();
        };
        let Some(forward) = index.forward(slot) else { return TitleMatch::default() };
        let wanted = &self.ids[part as usize];
        let (mut matched_query, mut matched_title, mut title) = (0.0, 0.0, 0.0);
        for (id, _, _) in forward.iter().filter(|&(_, _, in_title)| in_title) {
            match wanted.iter().position(|&it| it == Some(id)) {
                Some(at) => {
                    let idf = self.collection.idf(self.frequencies[at]);
                    matched_query += idf * f64::from(self.query.terms()[at].weight);
                    matched_title += idf;
                    title += idf;
                }
                None => title += self.collection.idf(index.dictionary.frequency(id)),
            }
        }
        let query: f64 = self
            .query
            .terms()
            .iter()
            .zip(&self.frequencies)
            .map(|(term, &with)| self.collection.idf(with) * f64::from(term.weight))
            .sum();
        let share = |matched: f64, all: f64| if all > 0.0 { (matched / all) as f32 } else { 0.0 };
        TitleMatch { of_query: share(matched_query, query), of_title: share(matched_title, title) }
    }

    /// A document's terms, each with its BM25 contribution (for a query weight of 1).
    pub(crate) fn term_strengths(&self, part: u32, slot: Slot) -> Vec<(String, f64)> {
        let Some(index) = self.parts.get(part as usize).map(|part| part.index) else {
            return Vec::new();
        };
        let Some(forward) = index.forward(slot) else { return Vec::new() };
        let (k1, b) = (f64::from(self.bm25.k1), f64::from(self.bm25.b));
        let length = f64::from(index.lengths[slot as usize]);
        let norm = k1 * (1.0 - b + b * length / self.collection.length_average().max(1.0));
        forward
            .iter()
            .map(|(id, count, _)| {
                let term = &*index.dictionary.names[id as usize];
                let idf = self.collection.idf(self.frequency(term));
                let count = f64::from(count);
                (term.to_owned(), idf * count * (k1 + 1.0) / (count + norm))
            })
            .collect()
    }

    /// How many documents of the collection have a term.
    fn frequency(&self, term: &str) -> u64 {
        self.parts
            .iter()
            .filter_map(|part| {
                let id = part.index.dictionary.id(term)?;
                Some(part.index.dictionary.frequency(id))
            })
            .sum()
    }

    /// The query's terms that a document has, in the query's order.
    pub(super) fn matches(&self, part: u32, slot: Slot) -> Vec<Match> {
        let Some(index) = self.parts.get(part as usize).map(|part| part.index) else {
            return Vec::new();
        };
        let Some(forward) = index.forward(slot) else { return Vec::new() };
        let length = index.lengths[slot as usize];
        self.ids[part as usize]
            .iter()
            .enumerate()
            .filter_map(|(term, id)| {
                let count = forward.count((*id)?);
                let units = self.scorer.units(term, count, length);
                (count > 0).then_some(Match { term, count, length, units })
            })
            .collect()
    }
}

/// A query term that a document has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Match {
    pub(super) term: usize,
    pub(super) count: u32,
    pub(super) length: u32,
    pub(super) units: u32,
}
