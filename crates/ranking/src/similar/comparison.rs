use std::collections::HashSet;

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
/// A date has at most this many words before or after the one that differs.
const DATE_WORDS: usize = 2;
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
    /// Whether the older text is a single sentence, so that its first words are its subject.
    is_sentence: bool,
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
    Negated,
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
        let is_sentence = is_sentence(old);
        let (old, new) = (words(old, WORDS_MAX)?, words(new, WORDS_MAX)?);
        if old.is_empty() || new.is_empty() {
            return None;
        }
        let (common, all) = (common(&old, &new), old.len() + new.len());
        // In whatever order, the other words are insertions and deletions.
        let sites = if all - 2 * common > EDITS_MAX { None } else { sites(&old, &new, EDITS_MAX) };
        let sites =
            sites.map(|site| site.iter().flat_map(|it| each_value(&old, &new, it)).collect());
        let similarity = 2.0 * common as f32 / all as f32;
        Some(Comparison { analyzer: self, old, new, sites, similarity, is_sentence })
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
        let Some(sites) = &self.sites else { return self.by_share() };
        let mut changes: Vec<Change> = sites.iter().map(|site| self.change(site)).collect();
        for (at, pair) in sites.windows(2).enumerate() {
            if self.are_listed(&pair[0], &pair[1]) {
                (changes[at], changes[at + 1]) = (Change::Nothing, Change::Nothing);
            }
        }
        if changes.iter().all(|change| matches!(change, Change::Nothing)) {
            return Verdict::Same;
        }
        let negated = self.negated(sites);
        let (mut values, mut dates, mut plain) = (Vec::new(), 0, 0);
        for change in &changes {
            if let Change::Value { old, new, is_value, is_date } = change {
                values.push((cut(old), cut(new)));
                dates += usize::from(*is_date);
                plain += usize::from(!is_value);
            }
        }
        let is_rewritten = changes.iter().any(|change| matches!(change, Change::Rewritten));
        let subject_words = self.subject_words(sites);
        let is_subject =
            |least: f32, words_min| self.similarity >= least && subject_words >= words_min;
        if let Some(negated) = negated {
            let is_only_difference = values.is_empty() && !is_rewritten;
            let is_about_same = if is_only_difference {
                is_subject(SUBJECT_MIN, SUBJECT_WORDS_MIN)
            } else {
                self.by_share() == Verdict::Same
            };
            return if is_about_same { Verdict::Differ(negated) } else { Verdict::Unlike };
        }
        if is_rewritten || values.is_empty() || values.len() > VALUES_MAX {
            return self.by_share();
        }
        if plain > 0 {
            // A name in place of another is the subject at the start of a text, a value later.
            let is_of_subject = self.begins_with_subject(sites, &changes);
            let is_value = values.len() == 1
                && is_of_subject
                && is_subject(SUBJECT_OF_PLAIN_MIN, SUBJECT_WORDS_OF_PLAIN_MIN);
            return match (is_value, is_of_subject || !self.is_sentence) {
                (true, _) => Verdict::Differ(Difference::Values(values)),
                (false, true) => self.by_share(),
                (false, false) => Verdict::Unlike,
            };
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
        if self.names_others() {
            return Verdict::Unlike;
        }
        let (old, new) = self.replaced_values();
        let dates = |words: &[Word<'_>]| periods(&joined(words), Some(0));
        match (&*old, &*new) {
            ([], []) => match self.opposite() {
                Some(word) => Verdict::Differ(Difference::Negation(cut(word))),
                None => Verdict::Same,
            },
            ([one], [other]) if dates(&self.old) == dates(&self.new) => {
                Verdict::Differ(Difference::Values(vec![(cut(one.text), cut(other.text))]))
            }
            _ => Verdict::Unlike,
        }
    }

    /// The words at a site.
    fn words(&self, site: &Site) -> (&[Word<'_>], &[Word<'_>]) {
        (&self.old[site.old.clone()], &self.new[site.new.clone()])
    }

    fn sites(&self) -> &[Site] {
        self.sites.as_deref().unwrap_or_default()
    }

    /// The word with which one of the texts negates the other.
    fn opposite(&self) -> Option<&str> {
        let by_prefix = || {
            self.sites().iter().find_map(|site| {
                let (old, new) = self.words(site);
                opposite(old, new)
            })
        };
        opposite(&self.old, &self.new).or_else(by_prefix)
    }

    /// Whether two adjacent sites exchange words of a list: only "and" or other function words are
    /// between them.
    fn are_listed(&self, first: &Site, second: &Site) -> bool {
        let ((old, new), (second_old, second_new)) = (self.words(first), self.words(second));
        let between = &self.old[first.old.end..second.old.start];
        (old, new) == (second_new, second_old) && between.iter().all(Word::is_function_word)
    }

    /// Whether they say the same of others: a name replaces another one, or two words are exchanged.
    fn names_others(&self) -> bool {
        let is_said = |words: &[Word<'_>]| words.iter().any(|word| !word.is_function_word());
        let is_replaced = |site: &&Site| {
            let (old, new) = self.words(site);
            is_said(old) && is_said(new)
        };
        let replaced: Vec<&Site> = self.sites().iter().filter(is_replaced).collect();
        let pairs: Vec<_> = replaced.iter().map(|replaced| self.words(replaced)).collect();
        replaced.iter().zip(&pairs).any(|(site, (old, new))| {
            let is_inside = site.old.start > 0 && site.new.start > 0;
            let are_names = matches!((old, new), ([old], [new]) if old.is_name() && new.is_name());
            (is_inside && are_names) || pairs.contains(&(*new, *old))
        })
    }

    /// What the share of common words says: values in place of others make another text.
    fn by_share(&self) -> Verdict {
        if self.similarity < SAME_MIN {
            return Verdict::Unlike;
        }
        match self.replaced_values() {
            (old, new) if old.is_empty() || new.is_empty() => Verdict::Same,
            _ => Verdict::Unlike,
        }
    }

    /// The values that only the older text has, and those that only the newer one has.
    fn replaced_values(&self) -> (Vec<&Word<'_>>, Vec<&Word<'_>>) {
        (own_values(&self.old, &self.new), own_values(&self.new, &self.old))
    }

    fn change(&self, site: &Site) -> Change {
        let (old, new) = self.words(site);
        if opposite(old, new).is_some() {
            return Change::Negated;
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
        if !is_old_value && !is_new_value {
            let terms = self.analyzer.terms(&old_text);
            if !terms.is_empty() && terms == self.analyzer.terms(&new_text) {
                return Change::Nothing;
            }
        }
        Change::Value {
            is_value: is_old_value && is_new_value,
            is_date: self.is_date(site),
            old: old_text,
            new: new_text,
        }
    }

    /// Whether the older text names another date with the newer words of a site in it.
    fn is_date(&self, site: &Site) -> bool {
        let (old, new) = self.words(site);
        let before = &self.old[site.old.start.saturating_sub(DATE_WORDS)..site.old.start];
        let after = self.old[site.old.end..].iter().take(DATE_WORDS);
        let dates = |words: &[Word<'_>]| {
            let words = before.iter().chain(words).chain(after.clone());
            periods(&joined(words), Some(0))
        };
        dates(old) != dates(new)
    }

    /// How one of the texts negates the other, if it does.
    fn negated(&self, sites: &[Site]) -> Option<Difference> {
        let (at, word) = sites.iter().enumerate().find_map(|(at, it)| {
            let (old, new) = self.words(it);
            opposite(old, new).map(|word| (at, word))
        })?;
        let (_, new) = self.words(&sites[at]);
        let ending = |words: &[Word<'_>]| words.iter().any(Word::ends).then(|| joined(words));
        let later = || sites[at + 1..].iter().find_map(|site| ending(self.words(site).1));
        let ended = match negation(new) {
            None => None,
            Some(_) => ending(new).or_else(|| Some(format!("{word} … {}", later()?))),
        };
        Some(match ended {
            Some(words) => Difference::Ended(cut(&words)),
            None => Difference::Negation(cut(word)),
        })
    }

    /// The number of words that the texts have in common in the same order, without function words.
    fn subject_words(&self, sites: &[Site]) -> usize {
        let subject =
            |words: &[Word<'_>]| words.iter().filter(|word| !word.is_function_word()).count();
        let differing = sites.iter().map(|site| subject(self.words(site).0)).sum::<usize>();
        subject(&self.old) - differing
    }

    /// Whether a common word, other than a function word, precedes the first value.
    fn begins_with_subject(&self, sites: &[Site], changes: &[Change]) -> bool {
        let is_value = |change: &Change| matches!(change, Change::Value { .. });
        let Some(first) = changes.iter().position(is_value) else { return false };
        let differs = |at: usize| sites[..first].iter().any(|site| site.old.contains(&at));
        let mut before = self.old[..sites[first].old.start].iter().enumerate();
        before.any(|(at, word)| !word.is_function_word() && !differs(at))
    }
}

/// Whether a text is one sentence, on one line.
fn is_sentence(text: &str) -> bool {
    let ends = |c: char| matches!(c, '.' | '!' | '?' | '。' | '！' | '？');
    let text = text.trim().trim_end_matches(ends);
    let is_wide_end = |c: char| ends(c) && !c.is_ascii();
    !text.contains(|text| text == '\n' || is_wide_end(text))
        && !text.split_whitespace().any(|word| word.ends_with(ends))
}

fn negation<'a>(words: &[Word<'a>]) -> Option<&'a str> {
    words.iter().find(|word| word.negates()).map(|word| word.text)
}

/// The word with which one of them negates the other.
fn opposite<'a>(old: &[Word<'a>], new: &[Word<'a>]) -> Option<&'a str> {
    match (negation(old), negation(new), old, new) {
        (Some(word), None, ..) | (None, Some(word), ..) => Some(word),
        (None, None, [old], [new]) => old.opposite(new),
        _ => None,
    }
}

/// A site in which each value is replaced by another one as a site for each; others as they are.
fn each_value(old: &[Word<'_>], new: &[Word<'_>], site: &Site) -> Vec<Site> {
    let are_values = |words: &[Word<'_>]| words.iter().all(Word::is_value);
    let is_each = site.old.len() == site.new.len()
        && are_values(&old[site.old.clone()])
        && are_values(&new[site.new.clone()]);
    if !is_each {
        return vec![site.clone()];
    }
    let pairs = site.old.clone().zip(site.new.clone());
    pairs.map(|(old, new)| Site { old: old..old + 1, new: new..new + 1 }).collect()
}

/// The values of a text that the other one does not have.
fn own_values<'a, 'b>(own: &'b [Word<'a>], other: &[Word<'_>]) -> Vec<&'b Word<'a>> {
    let others: HashSet<&str> = other.iter().map(Word::key).collect();
    own.iter().filter(|own| own.is_value() && !others.contains(own.key())).collect()
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
fn joined<'a>(words: impl IntoIterator<Item = &'a Word<'a>>) -> String {
    let said = words.into_iter().filter(|word| !word.is_function_word());
    said.map(|said| said.text).collect::<Vec<_>>().join(" ")
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(QUOTE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
