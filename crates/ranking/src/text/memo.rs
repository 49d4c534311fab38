//! What the tokenizer made of common words, remembered: most words of a text were seen before.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Longer words are seldom seen twice.
const WORD_BYTES_MAX: usize = 24;
/// A memo begins anew when it has so many words: about 2 MB.
const WORDS_MAX: usize = 16_384;
/// So many memos are kept, one for each thread that analyses at the same time.
const MEMOS_MAX: usize = 8;

type Memo = HashMap<Box<str>, Box<[Box<str>]>>;

/// The memos that nobody uses just now.
#[derive(Default)]
pub(super) struct Memos(Mutex<Vec<Memo>>);

impl Memos {
    /// What `tokenize` makes of a text, given that of ASCII text it makes the same word by word:
    /// no rule of Unicode's word boundaries (UAX 29) joins what a space parts, and ASCII is
    /// transliterated to itself.
    pub(super) fn terms(&self, text: &str, tokenize: &dyn Fn(&str) -> Vec<String>) -> Vec<String> {
        if !text.is_ascii() {
            return tokenize(text);
        }
        let mut memo = self.lock().pop().unwrap_or_default();
        let mut terms = Vec::new();
        for word in text.split_ascii_whitespace() {
            if let Some(known) = memo.get(word) {
                terms.extend(known.iter().map(|it| String::from(&**it)));
                continue;
            }
            let made = tokenize(word);
            if word.len() <= WORD_BYTES_MAX {
                if memo.len() >= WORDS_MAX {
                    memo.clear();
                }
                memo.insert(word.into(), made.iter().map(|it| it.as_str().into()).collect());
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
    fn a_full_memo_begins_anew() {
        let memos = Memos::default();
        let words: Vec<String> = (0..2 * WORDS_MAX).map(|it| format!("w{it}")).collect();
        let text = words.join(" ");
        let split =
            |it: &str| it.split(' ').filter(|it| !it.is_empty()).map(str::to_owned).collect();
        assert_eq!(memos.terms(&text, &split).len(), 2 * WORDS_MAX);
        assert!(memos.lock().iter().all(|it| it.len() <= WORDS_MAX));
    }
}
