//! A cache of the tokenizer's output for common words: most words of a text have been seen before.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Longer words seldom recur.
const WORD_BYTES_MAX: usize = 24;
/// The usual size of a word, including the following space.
const WORD_BYTES_USUAL: usize = 6;
/// After this many new words, a memo drops those not used since the last time: it holds at most
/// twice as many, about 2 MB.
const WORDS_MAX: usize = 8_192;
/// The most memos stored, one for each concurrently analysing thread.
const MEMOS_MAX: usize = 8;

/// Words and their terms.
type Words = HashMap<Box<str>, Box<[Box<str>]>>;

#[derive(Default)]
struct Memo {
    recent: Words,
    /// Words used before that.
    older: Words,
}

impl Memo {
    /// Appends a word's terms; false if it is not cached.
    fn recall(&mut self, word: &str, terms: &mut Vec<String>) -> bool {
        let mut recall =
            |made: &[Box<str>]| terms.extend(made.iter().map(|made| String::from(&**made)));
        if let Some(made) = self.recent.get(word) {
            recall(made);
            return true;
        }
        let Some((word, made)) = self.older.remove_entry(word) else { return false };
        recall(&made);
        self.keep(word, made);
        true
    }

    fn keep(&mut self, word: Box<str>, made: Box<[Box<str>]>) {
        if self.recent.len() >= WORDS_MAX {
            std::mem::swap(&mut self.recent, &mut self.older);
            self.recent.clear();
        }
        self.recent.insert(word, made);
    }
}

/// The memos not in use.
#[derive(Default)]
pub(super) struct Memos(Mutex<Vec<Memo>>);

impl Memos {
    /// The result of `tokenize` for a text, given that it tokenizes ASCII text word by word: no
    /// rule of Unicode's word boundaries (UAX 29) joins across a space, and ASCII is transliterated
    /// to itself.
    pub(super) fn terms(&self, text: &str, tokenize: &dyn Fn(&str) -> Vec<String>) -> Vec<String> {
        if !text.is_ascii() {
            return tokenize(text);
        }
        let mut memo = self.lock().pop().unwrap_or_default();
        let mut terms = Vec::with_capacity(text.len() / WORD_BYTES_USUAL + 1);
        for word in text.split_ascii_whitespace() {
            if memo.recall(word, &mut terms) {
                continue;
            }
            let made = tokenize(word);
            if word.len() <= WORD_BYTES_MAX {
                memo.keep(word.into(), made.iter().map(|made| made.as_str().into()).collect());
            }
            terms.extend(made);
        }
        let mut memos = self.lock();
        if memos.len() < MEMOS_MAX {
            memos.push(memo);
        }
        terms
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Memo>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use bm25::{DefaultTokenizer, Language, Tokenizer};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn word_by_word_is_the_same_as_at_once(
            text in "([a-zA-Z0-9_.:,;'\"()/@#$%&*+=~^|<>?!\\[\\]{}`\\\\-]{0,9} ?){0,40}",
            again in "(the |running |don't |e\\.g\\. |3\\.14 |x_y |O'Neil's |a\\.\\.b |1,000 |['.:] ?){0,40}",
        ) {
            let tokenizer =
                DefaultTokenizer::builder().language_mode(Language::English).stopwords(true).build();
            let memos = Memos::default();
            for text in [&text, &again, &text, &format!("{text} {again}"), "na\u{ef}ve caf\u{e9}"] {
                let terms = memos.terms(text, &|it| tokenizer.tokenize(it));
                prop_assert_eq!(terms, tokenizer.tokenize(text));
            }
        }
    }

    #[test]
    fn a_full_memo_forgets_what_it_has_not_met_for_long() {
        let memos = Memos::default();
        let words: Vec<String> =
            (0..5 * WORDS_MAX / 2).map(|number| format!("w{number}")).collect();
        let text = words.join(" ");
        let split = |text: &str| {
            text.split(' ').filter(|part| !part.is_empty()).map(str::to_owned).collect()
        };
        assert_eq!(memos.terms(&text, &split).len(), words.len());
        let mut memos = memos.lock();
        let memo = memos.first_mut().expect("it was given back");
        assert_eq!((memo.recent.len(), memo.older.len()), (WORDS_MAX / 2, WORDS_MAX));
        let mut terms = Vec::new();
        assert!(!memo.recall("w0", &mut terms));
        let known = format!("w{}", 2 * WORDS_MAX - 1);
        assert!(memo.recall(&known, &mut terms));
        assert_eq!(terms, [known]);
        assert_eq!((memo.recent.len(), memo.older.len()), (WORDS_MAX / 2 + 1, WORDS_MAX - 1));
    }
}
