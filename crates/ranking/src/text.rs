mod memo;
mod scan;
mod stems;

use std::collections::HashMap;
use std::fmt;

use bm25::{DefaultTokenizer, Language, Tokenizer};

use self::memo::Memos;
pub(crate) use self::scan::is_spaceless;
use self::scan::{Purpose, Scanned};
use self::stems::Stems;

/// Longer terms are cut, so that a megabyte without a space does not become a term.
const TERM_CHARS_MAX: usize = 64;

/// Longer words are cut before they are stemmed: some stemmers copy the word for each of its letters.
/// They change only the end of a word, so what a term keeps of a word is the same.
const WORD_CHARS_MAX: usize = 2 * TERM_CHARS_MAX;

/// Further query terms are omitted, which keeps the arithmetic of scores within bounds.
const QUERY_TERMS_MAX: usize = 4096;

/// The highest weight of a query term; its inverse is the lowest.
const WEIGHT_MAX: f32 = 1e9;

/// Turns text into terms.
///
/// Words come from the `bm25` crate's tokenizer: Unicode word boundaries, transliteration to ASCII
/// (`é` is `e`, an emoji is its name), lower case, English stop words, the Snowball stemmer. In
/// addition:
///
/// - Identifiers are found as a whole and by their parts: `parseHttpURL`, `snake_case`,
///   `HTTPServer2`, `foo.bar::baz`.
/// - Words in Cyrillic, Greek, Arabic, Hebrew and Devanagari letters are stemmed by rules of Russian,
///   Greek, Arabic, Hebrew and Hindi before they are transliterated.
/// - Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese become pairs of adjacent characters
///   (bigrams); in documents single characters are also terms, so that a query for one finds them.
/// - A title or a content of stop words only keeps them; other texts lose theirs. So "the who" finds
///   a title "The Who", and a query of stop words finds such texts and nothing else.
/// - A text without words (punctuation, unnamed symbols) has no terms; a query without terms finds
///   nothing.
pub struct Analyzer {
    stopping: DefaultTokenizer,
    unstopped: DefaultTokenizer,
    unstemmed: DefaultTokenizer,
    stems: Stems,
    memos: Memos,
}

impl fmt::Debug for Analyzer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Analyzer").finish_non_exhaustive()
    }
}

impl Analyzer {
    /// Changes when a text gets other terms: indexes with another version must be built again.
    pub const VERSION: u32 = 1;

    /// An analyzer for English, and in any language for identifiers and the scripts named above.
    pub fn english() -> Self {
        let tokenizer = |stopwords, stemming| {
            let builder = DefaultTokenizer::builder().language_mode(Language::English);
            builder.stopwords(stopwords).stemming(stemming).build()
        };
        Self {
            stopping: tokenizer(true, true),
            unstopped: tokenizer(false, true),
            unstemmed: tokenizer(false, false),
            stems: Stems::new(),
            memos: Memos::default(),
        }
    }

    /// The terms of a text as in a document's field, in order, with repetitions.
    pub fn terms(&self, text: &str) -> Vec<String> {
        self.analyze(text, Purpose::Document)
    }

    /// Analyses a document. Title and content are one field; the title is also recorded for
    /// [`TextSearch::title_match`](crate::TextSearch::title_match).
    pub fn document(&self, title: &str, content: &str) -> Document {
        let mut terms = self.terms(title);
        let titled = terms.len();
        terms.extend(self.terms(content));
        // The first position and the count of each distinct term.
        let mut distinct: Vec<(usize, u32)> = Vec::with_capacity(terms.len());
        let mut places: HashMap<&str, usize> = HashMap::with_capacity(terms.len());
        for (at, term) in terms.iter().enumerate() {
            let place = *places.entry(term).or_insert(distinct.len());
            match distinct.get_mut(place) {
                Some((_, count)) => *count += 1,
                None => distinct.push((at, 1)),
            }
        }
        drop(places);
        let length = terms.len() as u32;
        let mut term = |(at, count): (usize, u32)| DocumentTerm {
            term: std::mem::take(&mut terms[at]),
            count,
            in_title: at < titled,
        };
        let distinct = distinct.into_iter().map(&mut term).collect();
        Document { terms: distinct, length }
    }

    /// Analyses a query. A repeated term counts once for each occurrence.
    pub fn query(&self, text: &str) -> Query {
        Query::new(self.analyze(text, Purpose::Query).into_iter().map(|term| (term, 1.0)))
    }

    /// Whether a query has words, but only stop words. It finds only texts that have no other words,
    /// because stop words of other texts are not indexed.
    pub fn has_only_stop_words(&self, query: &str) -> bool {
        let mut scanned = scan::scan(query, Purpose::Query);
        self.without_stop_words(&mut scanned).is_empty()
            && !self.tokenize(&self.unstopped, &scanned.words).is_empty()
    }

    /// The terms of a text without those of stop words; takes its grams.
    fn without_stop_words(&self, scanned: &mut Scanned) -> Vec<String> {
        let tokenize = |words: &str| self.tokenize(&self.stopping, words);
        let mut terms = self.memos.terms(&scanned.words, &tokenize);
        for (script, word) in &scanned.stemmed {
            terms.extend(self.stems.terms(*script, word));
        }
        terms.append(&mut scanned.grams);
        terms
    }

    fn analyze(&self, text: &str, purpose: Purpose) -> Vec<String> {
        let mut scanned = scan::scan(text, purpose);
        let mut terms = self.without_stop_words(&mut scanned);
        if terms.is_empty() {
            terms = self.tokenize(&self.unstopped, &scanned.words);
        }
        for term in &mut terms {
            term.truncate(head(term, TERM_CHARS_MAX).len());
        }
        terms
    }

    /// The terms of a text by a tokenizer, which gets no long words.
    fn tokenize(&self, tokenizer: &DefaultTokenizer, text: &str) -> Vec<String> {
        if text.split_ascii_whitespace().all(|run| run.len() <= WORD_CHARS_MAX) {
            return tokenizer.tokenize(text);
        }
        let words = self.unstemmed.tokenize(text);
        words.iter().flat_map(|word| tokenizer.tokenize(head(word, WORD_CHARS_MAX))).collect()
    }
}

/// The first characters of a word.
fn head(word: &str, chars: usize) -> &str {
    word.char_indices().nth(chars).map_or(word, |(end, _)| &word[..end])
}

/// An analysed document: its distinct terms with their counts.
#[derive(Debug, Clone, Default)]
pub struct Document {
    pub(crate) terms: Vec<DocumentTerm>,
    pub(crate) length: u32,
}

#[derive(Debug, Clone)]
pub(crate) struct DocumentTerm {
    pub(crate) term: String,
    pub(crate) count: u32,
    pub(crate) in_title: bool,
}

impl Document {
    /// The number of its terms, with repetitions: its length in BM25.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// One document with the terms of several: their counts are added, and a term is in the title
    /// if it is in one of their titles.
    pub fn union<'a>(documents: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut union = Self::default();
        for document in documents {
            union.length = union.length.saturating_add(document.length);
            for term in &document.terms {
                if let Some(&place) = places.get(term.term.as_str()) {
                    let known: &mut DocumentTerm = &mut union.terms[place];
                    known.count = known.count.saturating_add(term.count);
                    known.in_title |= term.in_title;
                } else {
                    places.insert(&term.term, union.terms.len());
                    union.terms.push(term.clone());
                }
            }
        }
        union
    }
}

/// An analysed query: distinct terms, each with a weight, in the order of their first appearance.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query {
    terms: Vec<QueryTerm>,
}

/// One term of a [`Query`].
#[derive(Debug, Clone, PartialEq)]
pub struct QueryTerm {
    /// The term, as [`Analyzer::terms`] returns it.
    pub term: String,
    /// The factor for its BM25 score; 1 for a term that occurs once in the query.
    pub weight: f32,
}

impl Query {
    /// A query of terms with weights. The weights of a repeated term are added. Useful weights are
    /// from a billionth to a billion: a term with a lower weight (or NaN) is omitted, a higher
    /// weight counts as a billion. From the 4,097th on, distinct terms are omitted as well.
    pub fn new(terms: impl IntoIterator<Item = (String, f32)>) -> Self {
        let is_useful = |(_, weight): &(String, f32)| *weight >= 1.0 / WEIGHT_MAX;
        let terms: Vec<(String, f32)> = terms.into_iter().filter(is_useful).collect();
        let mut weights: Vec<f32> = Vec::with_capacity(terms.len());
        let mut places: HashMap<&str, usize> = HashMap::with_capacity(terms.len());
        let mut is_new = Vec::with_capacity(terms.len());
        for (term, weight) in &terms {
            let place = places.get(term.as_str()).copied();
            is_new.push(place.is_none() && weights.len() < QUERY_TERMS_MAX);
            match place {
                Some(place) => weights[place] = (weights[place] + weight).min(WEIGHT_MAX),
                None if weights.len() < QUERY_TERMS_MAX => {
                    places.insert(term, weights.len());
                    weights.push(weight.min(WEIGHT_MAX));
                }
                None => {}
            }
        }
        let distinct = terms.into_iter().zip(is_new).filter(|(_, is_new)| *is_new);
        let weighted =
            distinct.zip(weights).map(|(((term, _), _), weight)| QueryTerm { term, weight });
        Self { terms: weighted.collect() }
    }

    /// The terms.
    pub fn terms(&self) -> &[QueryTerm] {
        &self.terms
    }

    /// Whether it has no terms and therefore finds nothing.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_word_that_is_cut_before_it_is_stemmed_has_the_same_term(
            words in proptest::collection::vec("(don't |the |[a-zé.']{0,9} |([a-yY]{1,9}|[0-9]|y){20,60})\
                ((ational|fulness|ed|ing|s|'s|ement|ly|ies|y|é){0,6} ?)", 1..6),
        ) {
            let analyzer = Analyzer::english();
            let text = words.concat();
            let cut = |terms: Vec<String>| -> Vec<String> {
                terms.iter().map(|term| head(term, TERM_CHARS_MAX).to_owned()).collect()
            };
            for tokenizer in [&analyzer.stopping, &analyzer.unstopped] {
                let terms = analyzer.tokenize(tokenizer, &text);
                prop_assert_eq!(cut(terms), cut(tokenizer.tokenize(&text)));
            }
        }
    }
}
