//! Converts texts to token ids.

use std::cmp::Ordering;
use std::path::Path;

use tokenizers::{Encoding, Tokenizer, TruncationDirection, TruncationParams};
use waypost_encoder::Row;

use super::guarded::guarded;
use super::tokenizer_file;
use crate::files::TOKENIZER;
use crate::recipe::{Config, Recipe};
use crate::{Error, Result};

/// This many bytes nearly always fill a model's 256 or 512 tokens; the rest of a text of a megabyte
/// need not be tokenized only to be discarded.
const HEAD_BYTES: usize = 16 << 10;

/// What a model is tried with when it is loaded.
pub(super) const TRIALS: [&str; 2] =
    ["A trial: does the model give a vector?", "lighthouse keepers tend a lamp"];

/// Characters that no vocabulary has, and that no known normalisation removes.
const UNKNOWN: &str = "\u{12031}\u{1F9FF}";

/// What tokenizers call the padding.
const PADDINGS: [&str; 2] = ["<pad>", "[PAD]"];

pub(super) struct Terms {
    tokenizer: Tokenizer,
    length_max: usize,
    lower_case: bool,
    /// Bytes of a text that are tokenized; the rest is cut.
    text_bytes_max: usize,
    padding: Option<u32>,
    /// The network's.
    words: usize,
    types: usize,
}

impl Terms {
    pub(super) fn load(folder: &Path, tokenizer: &[u8], recipe: &Recipe) -> Result<Self> {
        let path = folder.join(TOKENIZER);
        let checked = tokenizer_file::check(&path, tokenizer)?;
        let truncation =
            TruncationParams { max_length: recipe.terms_max, ..TruncationParams::default() };
        let load = || {
            let mut tokenizer = Tokenizer::from_bytes(checked.json)?;
            tokenizer.with_truncation(Some(truncation))?.with_padding(None);
            Ok::<_, tokenizers::Error>(tokenizer)
        };
        let tokenizer = guarded(load)
            .map_err(|panic| Error::damaged(&path, contradiction(&panic)))?
            .map_err(|error| Error::damaged(&path, error))?;
        check_words(&tokenizer, &recipe.config).map_err(|reason| Error::damaged(folder, reason))?;
        let terms = Self {
            tokenizer,
            length_max: recipe.terms_max,
            lower_case: recipe.lower_case,
            text_bytes_max: checked.text_bytes_max,
            padding: recipe.config.padding(),
            words: recipe.config.vocab_size,
            types: recipe.config.type_vocab_size,
        };
        // Some damage shows only in use.
        let trial = |text| terms.of(text).map_err(|error| Error::damaged(&path, error));
        trial("a")?;
        trial(UNKNOWN)?;
        if trial(TRIALS[0])? == trial(TRIALS[1])? {
            return Err(Error::damaged(&path, "it gives two different texts the same tokens"));
        }
        Ok(terms)
    }

    /// The tokens of a text, at least one and at most the model's length.
    pub(super) fn of(&self, text: &str) -> std::result::Result<Row, String> {
        let text = cut(text, self.text_bytes_max);
        if let Some(head) = head(text) {
            let row = self.split(head)?;
            // The head fills the model's length: the rest would be cut anyway.
            if row.len() >= self.length_max {
                return Ok(row);
            }
        }
        self.split(text)
    }

    /// The tokens of a pair of texts, of which the longer one is cut first.
    pub(super) fn of_pair(&self, one: &str, other: &str) -> std::result::Result<Row, String> {
        let [one, other] = [one, other].map(|it| self.part(head(it).unwrap_or(it)));
        let ((mut one, one_length), (mut other, other_length)) = (one?, other?);
        // Cut in pairs, the library combines every part that is cut off with every other. Each text
        // has at most the model's length here, and the longer one stays the longer one.
        match one_length.cmp(&other_length) {
            Ordering::Less => one.truncate(self.length_max - 1, 0, TruncationDirection::Right),
            Ordering::Greater => other.truncate(self.length_max - 1, 0, TruncationDirection::Right),
            Ordering::Equal => {}
        }
        drop((one.take_overflowing(), other.take_overflowing()));
        other.set_type_ids(vec![1; other.len()]);
        let pair = guarded(|| self.tokenizer.post_process(one, Some(other), true));
        self.row(pair)
    }

    /// The tokens of a part of a pair, at most the model's length, and how many the text has.
    fn part(&self, text: &str) -> std::result::Result<(Encoding, usize), String> {
        let text = cut(text, self.text_bytes_max);
        let mut part = guarded(|| self.tokenizer.encode_fast(text, false))
            .map_err(|panic| contradiction(&panic))?
            .map_err(|error| format!("tokenizer.json failed on it ({error})"))?;
        let rest: usize = part.take_overflowing().iter().map(Encoding::len).sum();
        let length = part.len() + rest;
        Ok((part, length))
    }

    fn split(&self, text: &str) -> std::result::Result<Row, String> {
        let lowered = self.lower_case.then(|| text.to_lowercase());
        let text = lowered.as_deref().unwrap_or(text);
        self.row(guarded(|| self.tokenizer.encode_fast(text, true)))
    }

    fn row(
        &self,
        encoded: std::result::Result<tokenizers::Result<Encoding>, String>,
    ) -> std::result::Result<Row, String> {
        // The library panics if a template names a special token that the file does not define.
        let encoding = encoded
            .map_err(|panic| contradiction(&panic))?
            .map_err(|error| format!("tokenizer.json failed on it ({error})"))?;
        let words = encoding.get_ids().to_vec();
        if words.is_empty() {
            return Err(
                "tokenizer.json produces no tokens for it, not even [CLS] and [SEP]".to_owned()
            );
        }
        if words.len() > self.length_max {
            let (count, max) = (words.len(), self.length_max);
            return Err(format!(
                "tokenizer.json produces {count} tokens for it; valid: up to {max}"
            ));
        }
        // A network with one type, or none, reads none.
        let types =
            if self.types > 1 { encoding.get_type_ids().to_vec() } else { vec![0; words.len()] };
        for (what, numbers, count) in [("token", &words, self.words), ("type", &types, self.types)]
        {
            if let Some(number) = numbers.iter().find(|number| **number as usize >= count.max(1)) {
                return Err(format!(
                    "tokenizer.json produces the {what} {number}, which is not one of the {count} \
                     that config.json has"
                ));
            }
        }
        Ok(Row::new(words, types, self.padding))
    }
}

/// Checks that the tokenizer's words can be those of the network.
fn check_words(tokenizer: &Tokenizer, config: &Config) -> std::result::Result<(), String> {
    let vocabulary = tokenizer.get_vocab(true);
    let (count, words) = (vocabulary.len(), config.vocab_size);
    let highest = vocabulary.values().max().copied().unwrap_or(0);
    if highest as usize >= words {
        return Err(format!(
            "tokenizer.json counts its words up to {highest}, config.json has {words}"
        ));
    }
    // Networks have up to a few hundred more, for a round number.
    if count < words - words / 10 {
        return Err(format!("tokenizer.json has {count} words, config.json has {words}"));
    }
    let Some(padding) = config.padding() else { return Ok(()) };
    let named = PADDINGS.into_iter().find_map(|padding| Some((padding, *vocabulary.get(padding)?)));
    match named {
        Some((name, id)) if id != padding => Err(format!(
            "tokenizer.json has {name} as {id}, config.json has pad_token_id {padding}"
        )),
        _ => Ok(()),
    }
}

fn contradiction(panic: &str) -> String {
    format!("tokenizer.json is inconsistent ({panic})")
}

/// A text's first bytes, up to `bytes_max`, without a part of a character.
fn cut(text: &str, bytes_max: usize) -> &str {
    let mut end = bytes_max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// A long text up to the first white space after [`HEAD_BYTES`]: words stay whole, so the tokens
/// before the cut are those of the whole text.
fn head(text: &str) -> Option<&str> {
    let mut start = HEAD_BYTES;
    while !text.is_char_boundary(start) {
        start += 1;
        if start >= text.len() {
            return None;
        }
    }
    let (before, after) = text.split_at_checked(start)?;
    let space = after.find(char::is_whitespace)?;
    text.get(..before.len() + space)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_text_has_whole_characters() {
        for (text, bytes_max, expected) in
            [("sea", 3, "sea"), ("sea", 2, "se"), ("日本", 5, "日"), ("日", 2, ""), ("", 7, "")]
        {
            assert_eq!(cut(text, bytes_max), expected);
        }
    }

    #[test]
    fn a_head_ends_before_white_space_and_inside_no_character() {
        assert_eq!(head("short"), None);
        assert_eq!(head(&"x".repeat(HEAD_BYTES)), None);
        assert_eq!(head(&"x".repeat(3 * HEAD_BYTES)), None);
        let text = format!("{}é tail", "é".repeat(HEAD_BYTES));
        assert_eq!(head(&text), text.strip_suffix(" tail"));
        let text = format!("x{} tail", "日".repeat(HEAD_BYTES));
        assert_eq!(head(&text), text.strip_suffix(" tail"));
    }
}
