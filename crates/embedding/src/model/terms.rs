//! Converts texts to token ids.

use std::path::Path;

use serde_json::{Map, Value};
use tokenizers::{EncodeInput, Tokenizer, TruncationParams};

use super::batch::Row;
use super::guarded::guarded;
use crate::files::TOKENIZER;
use crate::recipe::{Config, Recipe};
use crate::{Error, Result};

/// This many bytes nearly always fill a model's 256 or 512 tokens; the rest of a text of a megabyte
/// need not be tokenized only to be discarded.
const HEAD_BYTES: usize = 16 << 10;

/// What tokenizers call the padding.
const PADDINGS: [&str; 2] = ["<pad>", "[PAD]"];

pub(super) struct Terms {
    tokenizer: Tokenizer,
    length_max: usize,
    lower_case: bool,
    padding: Option<u32>,
    is_typed: bool,
}

impl Terms {
    pub(super) fn load(folder: &Path, tokenizer: &[u8], recipe: &Recipe) -> Result<Self> {
        let path = folder.join(TOKENIZER);
        let used = used_parts(tokenizer).map_err(|error| Error::damaged(&path, error))?;
        let mut tokenizer = guarded(|| Tokenizer::from_bytes(used))
            .map_err(|panic| Error::damaged(&path, contradiction(&panic)))?
            .map_err(|error| Error::damaged(&path, error))?;
        check_words(&tokenizer, &recipe.config)
            .map_err(|reason| Error::Mismatch { folder: folder.to_owned(), reason })?;
        let truncation =
            TruncationParams { max_length: recipe.terms_max, ..TruncationParams::default() };
        tokenizer
            .with_truncation(Some(truncation))
            .map_err(|error| Error::damaged(&path, error))?
            .with_padding(None);
        let terms = Self {
            tokenizer,
            length_max: recipe.terms_max,
            lower_case: recipe.lower_case,
            padding: recipe.config.padding(),
            is_typed: recipe.config.type_vocab_size > 1,
        };
        // Some damage shows only in use.
        terms.of("a").map_err(|error| Error::damaged(&path, error))?;
        Ok(terms)
    }

    /// The tokens of a text, at least one and at most the model's length.
    pub(super) fn of(&self, text: &str) -> std::result::Result<Row, String> {
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
        let heads = [one, other].map(|it| head(it).unwrap_or(it));
        let row = self.encode((heads[0], heads[1]).into())?;
        if row.len() >= self.length_max || heads == [one, other] {
            return Ok(row);
        }
        self.encode((one, other).into())
    }

    fn split(&self, text: &str) -> std::result::Result<Row, String> {
        let lowered = self.lower_case.then(|| text.to_lowercase());
        self.encode(lowered.as_deref().unwrap_or(text).into())
    }

    fn encode(&self, text: EncodeInput<'_>) -> std::result::Result<Row, String> {
        // The library panics if a template names a special token that the file does not define.
        let encoding = guarded(|| self.tokenizer.encode_fast(text, true))
            .map_err(|panic| contradiction(&panic))?
            .map_err(|error| format!("tokenizer.json failed on it ({error})"))?;
        let words = encoding.get_ids().to_vec();
        if words.is_empty() {
            return Err(
                "tokenizer.json produces no tokens for it, not even [CLS] and [SEP]".to_owned()
            );
        }
        let types =
            if self.is_typed { encoding.get_type_ids().to_vec() } else { vec![0; words.len()] };
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
    let named = PADDINGS.into_iter().find_map(|it| Some((it, *vocabulary.get(it)?)));
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

/// The parts of `tokenizer.json` that turn a text into tokens.
///
/// The decoder turns tokens into text, which nothing here does; truncation and padding belong to
/// the recipe. Unused parts are not parsed: the library panics on some damaged decoders.
fn used_parts(tokenizer: &[u8]) -> serde_json::Result<Vec<u8>> {
    let mut parts: Map<String, Value> = serde_json::from_slice(tokenizer)?;
    for unused in ["decoder", "truncation", "padding"] {
        parts.remove(unused);
    }
    serde_json::to_vec(&parts)
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
