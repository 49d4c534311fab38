use super::align::{Site, sites};
use super::words::{Word, words};
use crate::dates::periods;
use crate::text::Analyzer;

/// Longer texts are not compared word by word.
const WORDS_MAX: usize = 16_384;
/// Texts with more insertions and deletions of words are not aligned.
const EDITS_MAX: usize = 32;
/// A longer replacement is not another value, but another text.
const VALUE_WORDS_MAX: usize = 5;
/// Texts with more replaced values have been rewritten.
const VALUES_MAX: usize = 3;
/// Texts with this share of common words say the same, unless a value differs.
const SAME_MIN: f32 = 0.85;
/// Texts with this share of common words may say different things about the same subject.
const SUBJECT_MIN: f32 = 0.5;
/// How many common words, other than function words, make up the same subject.
const SUBJECT_WORDS_MIN: usize = 2;
/// The same two for texts that differ in a plain word, which may be part of the subject.
const SUBJECT_OF_PLAIN_MIN: f32 = 0.75;
const SUBJECT_WORDS_OF_PLAIN_MIN: usize = 3;
/// Quoted values are cut to this many characters.
const QUOTE_CHARS_MAX: usize = 40;

/// Two texts, an older and a newer one, compared word by word. See [`Analyzer::compare`].
#[derive(Debug)]
pub struct Comparison<'a> {
    analyzer: &'a Analyzer,
    old: Vec<Word<'a>>,
    new: Vec<Word<'a>>,
    sites: Option<Vec<Site>>,
    similarity: f32,
}

/// What a comparison says about two texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// They say nearly the same.
    Same,
    /// They say different things about the same subject.
    Differ(Difference),
    /// Neither.
    Unlike,
}

/// In what two texts about the same subject differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// The values that the older text has, and what the newer one has instead. Long ones are cut.
    Values(Vec<(String, String)>),
    /// One of the texts negates the other, with this word.
    Negation(String),
    /// The newer text says that the older one was true and no longer is, with this word.
    Ended(String),
}

/// What a site means.
enum Change {
    /// Another form of the same words, or function words.
    Nothing,
    Added,
    Rewritten,
    Value {
        old: String,
        new: String,
        is_value: bool,
        is_date: bool,
    },
    Negated(Difference),
}

impl Analyzer {
    /// Compares an older text with a newer one word by word; `None` if one of them has no words or
    /// more than 16,384.
    ///
    /// ```
    /// use waypost_ranking::{Analyzer, Difference, Verdict};
    ///
    /// let analyzer = Analyzer::english();
    /// let old = "The service listens on port 4000.";
    /// let compared = analyzer.compare(old, "The service listens on port 4747.").expect("words");
    /// let values = vec![("4000".to_owned(), "4747".to_owned())];
    /// assert_eq!(compared.verdict(), Verdict::Differ(Difference::Values(values)));
    /// ```
    pub fn compare<'a>(&'a self, old: &'a str, new: &'a str) -> Option<Comparison<'a>> {
        let (old, new) = (words(old, WORDS_MAX)?, words(new, WORDS_MAX)?);
        if old.is_empty() || new.is_empty() {
            return None;
        }
        let sites = sites(&old, &new, EDITS_MAX);
        let similarity = 2.0 * common(&old, &new) as f32 / (old.len() + new.len()) as f32;
        Some(Comparison { analyzer: self, old, new, sites, similarity })
    }
}

impl Comparison<'_> {
    /// The share of words that the texts have in common, 0 to 1, in any order.
    pub fn similarity(&self) -> f32 {
        self.similarity
    }

    /// Whether they have the same words in the same order.
    pub fn is_equal(&self) -> bool {
        self.sites.as_ref().is_some_and(Vec::is_empty)
    }

    /// What their words say.
    pub fn verdict(&self) -> Verdict {
        let by_share = if self.similarity >= SAME_MIN { Verdict::Same } else { Verdict::Unlike };
        let Some(sites) = &self.sites else { return by_share };
        let changes: Vec<Change> = sites.iter().map(|it| self.change(it)).collect();
        if changes.iter().all(|it| matches!(it, Change::Nothing)) {
            return Verdict::Same;
        }
        if changes.iter().any(|it| matches!(it, Change::Rewritten)) {
            return by_share;
        }
        let (mut values, mut dates, mut plain) = (Vec::new(), 0, 0);
        let mut negated = None;
        for change in &changes {
            match change {
                Change::Value { old, new, is_value, is_date } => {
                    values.push((old.clone(), new.clone()));
                    dates += usize::from(*is_date);
                    plain += usize::from(!is_value);
                }
                Change::Negated(difference) => negated = Some(difference),
                Change::Nothing | Change::Added | Change::Rewritten => {}
            }
        }
        let subject_words = self.subject_words(sites);
        let is_subject =
            |least: f32, words_min| self.similarity >= least && subject_words >= words_min;
        if let Some(negated) = negated.filter(|_| values.is_empty()) {
            let is_about_same = is_subject(SUBJECT_MIN, SUBJECT_WORDS_MIN);
            return if is_about_same { Verdict::Differ(negated.clone()) } else { Verdict::Unlike };
        }
        if values.is_empty() || values.len() > VALUES_MAX {
            return by_share;
        }
        if plain > 0 {
            // A name in place of another is the subject at the start of a text, a value later.
            let is_value = values.len() == 1
                && is_subject(SUBJECT_OF_PLAIN_MIN, SUBJECT_WORDS_OF_PLAIN_MIN)
                && self.begins_with_subject(sites, &changes);
            return if is_value { Verdict::Differ(Difference::Values(values)) } else { by_share };
        }
        // Texts of another date with other values are a series.
        let is_series = dates > 0 && dates < values.len();
        if is_series || !is_subject(SUBJECT_MIN, SUBJECT_WORDS_MIN) {
            return Verdict::Unlike;
        }
        Verdict::Differ(Difference::Values(values))
    }

    /// What they say if their meaning is known to be near, although their words may differ.
    pub fn verdict_by_meaning(&self) -> Verdict {
        let verdict = self.verdict();
        if verdict != Verdict::Unlike {
            return verdict;
        }
        let values = |own: &[Word<'_>], other: &[Word<'_>]| -> Vec<String> {
            let is_own = |it: &&Word<'_>| it.is_value() && !other.contains(it);
            own.iter().filter(is_own).map(|it| cut(it.text)).collect()
        };
        let (old, new) = (values(&self.old, &self.new), values(&self.new, &self.old));
        let has_date = |it: &[String]| !periods(&it.join(" "), Some(0)).is_empty();
        match (&*old, &*new) {
            ([], []) => match (negation(&self.old), negation(&self.new)) {
                (Some(word), None) | (None, Some(word)) => {
                    Verdict::Differ(Difference::Negation(cut(word.text)))
                }
                _ => Verdict::Same,
            },
            ([one], [other]) if !has_date(&old) && !has_date(&new) => {
                Verdict::Differ(Difference::Values(vec![(one.clone(), other.clone())]))
            }
            _ => Verdict::Unlike,
        }
    }

    fn change(&self, site: &Site) -> Change {
        let (old, new) = (&self.old[site.old.clone()], &self.new[site.new.clone()]);
        let ended = |word: &Word<'_>, words: &[Word<'_>]| {
            let is_ended = words.iter().any(Word::ends);
            let text = if is_ended { joined(words) } else { cut(word.text) };
            if is_ended { Difference::Ended(text) } else { Difference::Negation(text) }
        };
        match (negation(old), negation(new)) {
            (None, Some(word)) => return Change::Negated(ended(word, new)),
            (Some(word), None) => return Change::Negated(Difference::Negation(cut(word.text))),
            _ => {}
        }
        let says_nothing = |words: &[Word<'_>]| words.iter().all(Word::is_function_word);
        match (says_nothing(old), says_nothing(new)) {
            (true, true) => return Change::Nothing,
            (false, false) => {}
            _ => return Change::Added,
        }
        if old.len() > VALUE_WORDS_MAX || new.len() > VALUE_WORDS_MAX {
            return Change::Rewritten;
        }
        let has_value = |words: &[Word<'_>]| words.iter().any(Word::is_value);
        let (is_old_value, is_new_value) = (has_value(old), has_value(new));
        let (old_text, new_text) = (joined(old), joined(new));
        let terms = |text: &str| self.analyzer.terms(text);
        if !is_old_value && !is_new_value && terms(&old_text) == terms(&new_text) {
            return Change::Nothing;
        }
        let is_date = |text: &str| !periods(text, Some(0)).is_empty();
        Change::Value {
            is_value: is_old_value && is_new_value,
            is_date: is_date(&old_text) && is_date(&new_text),
            old: old_text,
            new: new_text,
        }
    }

    /// The number of words that the texts have in common in the same order, without function words.
    fn subject_words(&self, sites: &[Site]) -> usize {
        let subject = |words: &[Word<'_>]| words.iter().filter(|it| !it.is_function_word()).count();
        let differing = sites.iter().map(|it| subject(&self.old[it.old.clone()])).sum::<usize>();
        subject(&self.old) - differing
    }

    /// Whether a common word, other than a function word, precedes the first value.
    fn begins_with_subject(&self, sites: &[Site], changes: &[Change]) -> bool {
        let is_value = |it: &Change| matches!(it, Change::Value { .. });
        let Some(first) = changes.iter().position(is_value) else { return false };
        let differs = |at: usize| sites[..first].iter().any(|it| it.old.contains(&at));
        let mut before = self.old[..sites[first].old.start].iter().enumerate();
        before.any(|(at, word)| !word.is_function_word() && !differs(at))
    }
}

fn negation<'a, 'b>(words: &'b [Word<'a>]) -> Option<&'b Word<'a>> {
    words.iter().find(|it| it.negates())
}

/// The number of common words, counting repetitions.
fn common(old: &[Word<'_>], new: &[Word<'_>]) -> usize {
    let (old, new) = (sorted(old), sorted(new));
    let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
    let mut common = 0;
    while let (Some(one), Some(other)) = (old.peek(), new.peek()) {
        match one.cmp(other) {
            std::cmp::Ordering::Less => drop(old.next()),
            std::cmp::Ordering::Greater => drop(new.next()),
            std::cmp::Ordering::Equal => {
                common += 1;
                old.next();
                new.next();
            }
        }
    }
    common
}

fn sorted<'a>(words: &'a [Word<'_>]) -> Vec<&'a str> {
    let mut keys: Vec<&str> = words.iter().map(Word::key).collect();
    keys.sort_unstable();
    keys
}

/// The words without function words, as they are written.
fn joined(words: &[Word<'_>]) -> String {
    let said = words.iter().filter(|it| !it.is_function_word());
    cut(&said.map(|it| it.text).collect::<Vec<_>>().join(" "))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(QUOTE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
