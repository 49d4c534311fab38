//! Words as they are written, for showing what differs: terms are stems without stop words.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

use crate::text::is_spaceless;

/// A word of a text. In scripts without spaces, each character is one.
#[derive(Debug, Clone)]
pub(super) struct Word<'a> {
    /// As it is written, without punctuation around it.
    pub(super) text: &'a str,
    /// In lower case.
    key: Cow<'a, str>,
    is_quoted: bool,
}

impl PartialEq for Word<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Word<'_> {}

impl Hash for Word<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
    }
}

/// Words that say little on their own: a difference in them alone is none. Prepositions are not
/// among them ("before", "after").
const FUNCTION_WORDS: [&str; 34] = [
    "a", "an", "and", "are", "be", "been", "das", "der", "die", "ein", "eine", "el", "had", "has",
    "have", "is", "ist", "it", "its", "la", "le", "les", "los", "my", "our", "that", "the", "this",
    "un", "una", "une", "was", "were", "your",
];

/// Words that negate a statement, in the languages that have most speakers here; English
/// contractions end in `n't`.
const NEGATIONS: [&str; 26] = [
    "cannot",
    "jamais",
    "kein",
    "keine",
    "keinen",
    "nao",
    "never",
    "nicht",
    "nie",
    "niemals",
    "no",
    "non",
    "not",
    "nunca",
    "não",
    "pas",
    "without",
    "не",
    "нет",
    "никогда",
    "不",
    "无",
    "未",
    "没",
    "沒",
    "無",
];

/// Words that, after a negation, say that something was true and has ended.
const ENDINGS: [&str; 6] = ["anymore", "longer", "mehr", "plus", "больше", "再"];

/// Signs that are words of their own: the others are punctuation.
const COMPARISONS: [&str; 10] = ["!=", "<", "<=", "=", "==", ">", ">=", "≠", "≤", "≥"];

/// Prefixes of words that say the opposite, and of those that they are the opposite of.
const OPPOSITES: [(&str, &str); 7] =
    [("de", ""), ("dis", ""), ("dis", "en"), ("in", ""), ("non", ""), ("non-", ""), ("un", "")];

impl<'a> Word<'a> {
    /// The one of two words that is the other one with a negating prefix.
    pub(super) fn opposite(&self, other: &Self) -> Option<&'a str> {
        let is_opposite = |one: &Self, other: &Self| {
            OPPOSITES.iter().any(|(own, others)| {
                let rest = one.key.strip_prefix(own);
                rest.is_some() && rest == other.key.strip_prefix(others)
            })
        };
        match (is_opposite(self, other), is_opposite(other, self)) {
            (true, _) => Some(self.text),
            (_, true) => Some(other.text),
            _ => None,
        }
    }
}

impl Word<'_> {
    /// The word in lower case.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    pub(super) fn is_function_word(&self) -> bool {
        FUNCTION_WORDS.binary_search(&self.key()).is_ok()
    }

    /// Whether it is written like a name, if it is not the first word of a sentence.
    pub(super) fn is_name(&self) -> bool {
        self.text.starts_with(char::is_uppercase)
    }

    pub(super) fn negates(&self) -> bool {
        let contracted = |text: &str| text.ends_with("n't") || text.ends_with("n’t");
        NEGATIONS.contains(&self.key()) || contracted(self.key())
    }

    pub(super) fn ends(&self) -> bool {
        ENDINGS.contains(&self.key())
    }

    /// Whether it is written like a value: a number, a version, an identifier, an address, an
    /// abbreviation, or in quotes.
    pub(super) fn is_value(&self) -> bool {
        let mut chars = self.text.chars().peekable();
        let mut is_value = self.is_quoted;
        while let (false, Some(c)) = (is_value, chars.next()) {
            let next_is_upper = chars.peek().is_some_and(|char| char.is_uppercase());
            is_value = c.is_numeric()
                || matches!(c, '_' | '/' | '@' | ':' | '.' | '=' | '#')
                || (c.is_alphabetic() && next_is_upper);
        }
        is_value
    }
}

/// The words of a text; `None` if there are more than `words_max`.
pub(super) fn words(text: &str, words_max: usize) -> Option<Vec<Word<'_>>> {
    let mut words = Vec::new();
    for chunk in text.split_whitespace() {
        let mut rest = chunk;
        while let Some(first) = rest.chars().next() {
            let end = if is_spaceless(first) {
                first.len_utf8()
            } else {
                rest.find(is_spaceless).unwrap_or(rest.len())
            };
            let (part, after) = rest.split_at(end);
            rest = after;
            words.extend(word(part));
            if words.len() > words_max {
                return None;
            }
        }
    }
    Some(words)
}

/// The word in a part without spaces; `None` if it is only punctuation.
fn word(part: &str) -> Option<Word<'_>> {
    if COMPARISONS.contains(&part) {
        return Some(Word { text: part, key: Cow::Borrowed(part), is_quoted: false });
    }
    let is_sign = |c: char| matches!(c, '$' | '€' | '£' | '¥' | '%' | '+' | '-' | '°' | '#');
    let text = part.trim_matches(|c: char| !c.is_alphanumeric() && !is_sign(c));
    if !text.contains(char::is_alphanumeric) {
        return None;
    }
    let is_lower = !text.contains(char::is_uppercase);
    let key = if is_lower { Cow::Borrowed(text) } else { Cow::Owned(text.to_lowercase()) };
    let is_quote = |c: char| matches!(c, '"' | '`' | '\'' | '“' | '”' | '„' | '«' | '»');
    Some(Word { text, key, is_quoted: part.starts_with(is_quote) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_words_are_in_order_for_binary_search() {
        assert!(FUNCTION_WORDS.is_sorted());
    }

    #[test]
    fn words_are_written_without_punctuation_and_in_spaceless_scripts_characters() {
        let of = |text| -> Vec<&str> {
            words(text, 99).unwrap_or_default().iter().map(|word| word.text).collect()
        };
        assert_eq!(of("(Port: 4747), -5 °C – \"v1.2\"!"), ["Port", "4747", "-5", "°C", "v1.2"]);
        assert_eq!(of("端口是4747。"), ["端", "口", "是", "4747"]);
        assert_eq!(of("порт — 4747"), ["порт", "4747"]);
        assert!(words("one two three", 2).is_none());
    }

    #[test]
    fn values_are_numbers_names_and_what_is_quoted() {
        let is_value = |text| words(text, 9).unwrap_or_default().iter().all(Word::is_value);
        for value in
            ["16", "v1.2", "fooBar", "foo_bar", "a@b.example", "/etc/hosts", "HTTP", "`cat`"]
        {
            assert!(is_value(value), "{value}");
        }
        assert!(!["cat", "Anna", "I", "well-known", "端"].into_iter().any(is_value));
    }
}
