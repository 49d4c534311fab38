use super::dictionary::TermId;
use super::inverted::TextIndex;
use super::sealed::Home;
use super::segment::Postings;
use crate::bm25::{Collection, Scorer};
use crate::numbers::NumberMap;
use crate::{Bm25, Filter, Hit, Query, Slot, Slots};

/// One space of a text search.
#[derive(Clone, Copy)]
pub struct TextPart<'a> {
    /// The numbering of its documents.
    pub slots: &'a Slots,
    /// Its index.
    pub index: &'a TextIndex,
    /// Which of its documents may be found; all if `None`. It does not change the statistics.
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
    /// By query term: its document frequency in the collection.
    pub(super) frequencies: Vec<u64>,
    /// By part, by query term.
    pub(super) ids: Vec<Vec<Option<TermId>>>,
    /// By part: the position in the query of each term that the part contains, by number.
    places: Vec<NumberMap<TermId, usize>>,
    /// By query term: its inverse document frequency; and their weighted sum.
    idf: Vec<f64>,
    idf_total: f64,
    pub(super) scorer: Scorer,
}

/// How well a title and a query match; see [`TextSearch::title_match`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TitleMatch {
    /// The share of the query, by inverse document frequency, that the title contains, 0 to 1.
    pub of_query: f32,
    /// The share of the title's terms, by inverse document frequency, that the query contains, 0 to
    /// 1.
    pub of_title: f32,
}

impl<'a> TextSearch<'a> {
    /// Looks up the query's terms and adds up the parts' statistics.
    pub fn new(parts: &'a [TextPart<'a>], query: &'a Query, bm25: Bm25) -> Self {
        let mut collection = Collection::default();
        let mut frequencies = vec![0; query.terms().len()];
        let mut ids = Vec::with_capacity(parts.len());
        let mut places = Vec::with_capacity(parts.len());
        for part in parts {
            let index = part.index;
            collection.documents += index.collection.documents;
            collection.length_total += index.collection.length_total;
            let of_part: Vec<Option<TermId>> =
                query.terms().iter().map(|term| index.dictionary.id(&term.term)).collect();
            for (frequency, id) in frequencies.iter_mut().zip(&of_part) {
                *frequency += id.map_or(0, |id| index.dictionary.frequency(id));
            }
            let known = of_part.iter().enumerate().filter_map(|(at, id)| Some(((*id)?, at)));
            places.push(known.collect());
            ids.push(of_part);
        }
        let terms: Vec<(f32, u64)> = query
            .terms()
            .iter()
            .zip(&frequencies)
            .map(|(term, &with)| (if with == 0 { 0.0 } else { term.weight }, with))
            .collect();
        let scorer = Scorer::new(bm25, collection, &terms);
        let idf: Vec<f64> = frequencies.iter().map(|&with| collection.idf(with)).collect();
        let weighed = query.terms().iter().zip(&idf).map(|(it, idf)| idf * f64::from(it.weight));
        let idf_total = weighed.sum();
        Self { parts, query, bm25, collection, frequencies, ids, places, idf, idf_total, scorer }
    }

    /// Its query.
    pub fn query(&self) -> &'a Query {
        self.query
    }

    /// The same as [`top`](Self::top), computed by scoring every document that contains a term.
    pub fn exhaustive(&self, k: usize) -> Vec<Hit> {
        let mut hits = Vec::new();
        for at in 0..self.parts.len() {
            let index = self.parts[at].index;
            for sealed in &index.sealed {
                let lists = self.lists(at, |term| sealed.postings.list(term));
                self.score_lists(at, Some(sealed.home), &lists, &mut hits);
            }
            let lists = self.lists(at, |term| index.tail.list(term).map(Postings::Open));
            self.score_lists(at, None, &lists, &mut hits);
        }
        hits.sort_unstable_by(Hit::by_rank);
        hits.truncate(k);
        hits
    }

    /// The query's terms that a part contains, each with its postings.
    pub(super) fn lists<'b>(
        &self,
        part: usize,
        list: impl Fn(TermId) -> Option<Postings<'b>>,
    ) -> Vec<(usize, Postings<'b>)> {
        let ids = self.ids[part].iter().enumerate();
        ids.filter_map(|(term, id)| Some((term, list((*id)?)?))).collect()
    }

    fn score_lists(
        &self,
        at: usize,
        home: Option<Home>,
        lists: &[(usize, Postings<'_>)],
        hits: &mut Vec<Hit>,
    ) {
        let part = &self.parts[at];
        let mut sums: NumberMap<Slot, u32> = NumberMap::default();
        for (term, postings) in lists {
            postings.for_each(|slot, count| {
                let length = part.index.lengths[slot as usize];
                *sums.entry(slot).or_default() += self.scorer.units(*term, count, length);
            });
        }
        for (slot, units) in sums {
            let current = home.is_none_or(|home| part.index.homes[slot as usize] == home);
            if current
                && part.filter.is_none_or(|filter| filter(slot))
                && let Some(id) = part.slots.id(slot)
            {
                hits.push(Hit { id, part: at as u32, slot, score: self.scorer.score(units) });
            }
        }
    }

    /// Whether the document's title contains a term of the query.
    fn is_in_title(&self, part: u32, slot: Slot) -> bool {
        let Some(index) = self.parts.get(part as usize).map(|part| part.index) else {
            return false;
        };
        // Most have no title, and need no lookup.
        if !index.titled.get(slot as usize).is_some_and(|titled| *titled) {
            return false;
        }
        let Some(forward) = index.forward(slot) else { return false };
        let mut titles = forward.iter().filter(|&(_, _, in_title)| in_title);
        titles.any(|(id, _, _)| self.place_of(part, id).is_some())
    }

    /// How much of the query the document's title contains, and how much of the title the query
    /// contains.
    pub fn title_match(&self, part: u32, slot: Slot) -> TitleMatch {
        let Some(index) = self.parts.get(part as usize).map(|part| part.index) else {
            return TitleMatch::default();
        };
        if !self.is_in_title(part, slot) {
            return TitleMatch::default();
        }
        let Some(forward) = index.forward(slot) else { return TitleMatch::default() };
        let (mut matched_query, mut matched_title, mut title) = (0.0, 0.0, 0.0);
        for (id, _, _) in forward.iter().filter(|&(_, _, in_title)| in_title) {
            match self.place_of(part, id) {
                Some(at) => {
                    let idf = self.idf[at];
                    matched_query += idf * f64::from(self.query.terms()[at].weight);
                    matched_title += idf;
                    title += idf;
                }
                None => title += self.collection.idf(index.dictionary.frequency(id)),
            }
        }
        let share = |matched: f64, all: f64| if all > 0.0 { (matched / all) as f32 } else { 0.0 };
        TitleMatch {
            of_query: share(matched_query, self.idf_total),
            of_title: share(matched_title, title),
        }
    }

    /// How much of the query the document contains, by inverse document frequency, 0 to 1.
    pub fn coverage(&self, part: u32, slot: Slot) -> f32 {
        self.share_of(self.matches(part, slot).into_iter().map(|matched| matched.term))
    }

    /// How much of the query the documents that may be found contain, by inverse document frequency,
    /// 0 to 1.
    pub fn known(&self) -> f32 {
        self.share_of((0..self.idf.len()).filter(|&term| self.is_known(term)))
    }

    /// Whether a document that may be found contains a query term.
    fn is_known(&self, term: usize) -> bool {
        self.parts.iter().enumerate().any(|(at, part)| {
            let Some(id) = self.ids[at][term] else { return false };
            // A part numbers only terms that one of its documents contains.
            let Some(filter) = part.filter else { return true };
            let index = part.index;
            let has_one = |home: Home, postings: Option<Postings<'_>>| {
                let found = |slot| index.homes[slot as usize] == home && filter(slot);
                postings.is_some_and(|posting| posting.any(found))
            };
            has_one(index.tail_home, index.tail.list(id).map(Postings::Open))
                || index.sealed.iter().any(|sealed| has_one(sealed.home, sealed.postings.list(id)))
        })
    }

    /// The mean number of terms of a document.
    pub fn mean_length(&self) -> f64 {
        self.collection.length_average()
    }

    /// What the query's terms weigh together, those that a document contains.
    pub(crate) fn total_weight(&self) -> f64 {
        let known = (0..self.idf.len()).filter(|&term| self.frequencies[term] > 0);
        known.map(|known| self.weight(known)).sum()
    }

    /// What a query term weighs, by inverse document frequency.
    pub(super) fn weight(&self, term: usize) -> f64 {
        self.idf[term] * f64::from(self.query.terms()[term].weight)
    }

    /// The place in the query of a part's term.
    pub(super) fn place_of(&self, part: u32, id: TermId) -> Option<usize> {
        self.places.get(part as usize)?.get(&id).copied()
    }

    fn share_of(&self, terms: impl Iterator<Item = usize>) -> f32 {
        let found: f64 = terms.map(|term| self.weight(term)).sum();
        if self.idf_total > 0.0 { (found / self.idf_total) as f32 } else { 0.0 }
    }

    /// A document's terms, each with its BM25 contribution (for a query weight of 1).
    pub(crate) fn term_strengths(
        &self,
        part: u32,
        slot: Slot,
    ) -> impl Iterator<Item = (TermKey, f64)> + '_ {
        let index = self.parts.get(part as usize).map(|part| part.index);
        let found = index.and_then(|index| Some((index, index.forward(slot)?)));
        let (k1, b) = self.bm25.checked();
        let average = self.collection.length_average().max(1.0);
        found.into_iter().flat_map(move |(index, forward)| {
            let length = f64::from(index.lengths[slot as usize]);
            let norm = k1 * (1.0 - b + b * length / average);
            forward.iter().map(move |(id, count, _)| {
                let key = TermKey { part, id };
                let idf = self.idf_of(key);
                let count = f64::from(count);
                (key, idf * count * (k1 + 1.0) / (count + norm))
            })
        })
    }

    /// The inverse document frequency of a term that [`term_strengths`](Self::term_strengths)
    /// returned.
    pub(crate) fn idf_of(&self, key: TermKey) -> f64 {
        self.collection.idf(self.frequency_of(key))
    }

    /// The statistics cover all parts, which may number the term differently.
    fn frequency_of(&self, key: TermKey) -> u64 {
        match self.parts {
            [part] => part.index.dictionary.frequency(key.id),
            _ => self.frequency(self.term(key)),
        }
    }

    /// The term of a key that [`term_strengths`](Self::term_strengths) returned.
    pub(crate) fn term(&self, TermKey { part, id }: TermKey) -> &'a str {
        self.parts[part as usize].index.dictionary.name(id)
    }

    /// Whether terms have the same number throughout the collection.
    pub(crate) fn has_one_numbering(&self) -> bool {
        self.parts.len() == 1
    }

    /// The document frequency of a term in the collection.
    fn frequency(&self, term: &str) -> u64 {
        self.parts
            .iter()
            .filter_map(|part| {
                let id = part.index.dictionary.id(term)?;
                Some(part.index.dictionary.frequency(id))
            })
            .sum()
    }

    /// The query terms that a document contains, in the query's order.
    pub(super) fn matches(&self, part: u32, slot: Slot) -> Vec<Match> {
        let Some(index) = self.parts.get(part as usize).map(|part| part.index) else {
            return Vec::new();
        };
        let Some(forward) = index.forward(slot) else { return Vec::new() };
        let length = index.lengths[slot as usize];
        let mut matches: Vec<Match> = forward
            .iter()
            .filter_map(|(id, count, _)| {
                let term = self.place_of(part, id)?;
                Some(Match { term, count, length, units: self.scorer.units(term, count, length) })
            })
            .collect();
        matches.sort_unstable_by_key(|matched| matched.term);
        matches
    }
}

/// A term in a part.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TermKey {
    part: u32,
    /// Its number in the part.
    pub(crate) id: TermId,
}

/// A query term that a document contains.
#[derive(Debug, Clone, Copy)]
pub(super) struct Match {
    pub(super) term: usize,
    pub(super) count: u32,
    pub(super) length: u32,
    pub(super) units: u32,
}
