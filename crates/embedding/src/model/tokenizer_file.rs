//! Limits what `tokenizer.json` can make the tokenizer library do.
//!
//! A model's files are untrusted. The library reports or panics on what is invalid, but it does what
//! a valid file says: a few lines of normalisation can turn a word into gigabytes. So what grows or
//! takes time is limited here, in whatever part it is, and the rest is left to the library.

use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokenizers::normalizers::Precompiled;

use super::guarded::guarded;
use crate::{Error, Result};

/// The largest known, of ModernBERT's multilingual kin, has 34 MB.
const FILE_BYTES_MAX: usize = 64 << 20;
/// The values of the file in memory take up to 100 bytes each; the largest known has 1.6 million.
const VALUES_MAX: usize = 6_000_000;
/// XLM-R's normalisation and pre-tokenization reach 44, which is the most of the supported models.
const GROWTH_MAX: f64 = 128.0;
/// Each byte takes up to about 250 bytes while a text is tokenized.
const NORMALISED_BYTES_MAX: usize = 4 << 20;
/// Sixteen bytes for each token of the longest models.
const TEXT_BYTES_MAX: usize = 128 << 10;
/// Four are the most of the supported models.
const STEPS_MAX: usize = 32;
/// The library searches each text for all added tokens; the most known are 10,000 of a few letters.
const ADDED_BYTES_MAX: usize = 128 << 10;
/// A template of this length gives at most some hundred times the tokens of its text.
const POST_PROCESSOR_BYTES_MAX: usize = 16 << 10;
/// Unigram looks each entry up at each byte of a text; the longest known has 48 bytes.
const PIECE_BYTES_MAX: usize = 256;
/// Unigram takes up to 350 bytes for each byte of its entries; XLM-R's have 2.6 million.
const PIECES_BYTES_MAX: usize = 3 << 20;
/// WordPiece takes time of a word's length to the power of three; 100 is usual.
const WORD_CHARS_MAX: u64 = 200;
/// Before or behind the parts of a word; `##` is usual.
const AFFIX_BYTES_MAX: usize = 64;

/// The steps that rewrite a text and split it into words, and the bytes that a byte can become in
/// each, besides the texts that the step adds. Those of Unicode's forms are in its FAQ on
/// normalisation; lower case has half as much again, and a Chinese character gets two spaces.
const STEPS: [(&str, f64); 21] = [
    ("BertNormalizer", 3.0 * 1.5 * 5.0 / 3.0),
    ("BertPreTokenizer", 1.0),
    ("ByteLevel", 4.0),
    ("Digits", 1.0),
    ("Lowercase", 1.5),
    ("Metaspace", 1.0),
    ("NFC", 3.0),
    ("NFD", 3.0),
    ("NFKC", 11.0),
    ("NFKD", 11.0),
    ("Nmt", 1.0),
    ("Precompiled", 1.0),
    ("Prepend", 1.0),
    ("Punctuation", 1.0),
    ("Replace", 1.0),
    ("Sequence", 1.0),
    ("Split", 1.0),
    ("Strip", 1.0),
    ("StripAccents", 1.0),
    ("Whitespace", 1.0),
    ("WhitespaceSplit", 1.0),
];

/// The patterns of known models, and the bytes of each one's shortest match. Any other could take
/// time that grows with a power of the text's length or faster.
const PATTERNS: [(&str, usize); 13] = [
    (" {2,}", 2),
    (r"\s{2,}", 2),
    (" +", 1),
    (r"\s", 1),
    (r"\s+", 1),
    (r"\n", 1),
    (r"\n+", 1),
    (r"[\n\r\t]", 1),
    (r"\d", 1),
    ("[0-9]", 1),
    (r"\w+|[^\w\s]+", 1),
    // GPT-2's and Llama 3's words.
    (r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", 1),
    (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        1,
    ),
];

/// A file that passed.
pub(super) struct Checked {
    /// The parts that turn a text into tokens. Truncation and padding belong to the recipe, and
    /// nothing here turns tokens into a text.
    pub(super) json: Vec<u8>,
    /// Bytes of a text that may be tokenized at once.
    pub(super) text_bytes_max: usize,
}

/// What the library may read. The parts besides the vocabulary are written again as they were
/// checked, without what is there twice.
#[derive(Deserialize, Serialize)]
struct Parts<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(default)]
    added_tokens: Vec<Value>,
    normalizer: Option<Value>,
    pre_tokenizer: Option<Value>,
    post_processor: Option<Value>,
    #[serde(borrow)]
    model: &'a RawValue,
}

/// What is limited of a vocabulary.
#[derive(Deserialize)]
struct Words<'a> {
    #[serde(borrow)]
    vocab: &'a RawValue,
    max_input_chars_per_word: Option<u64>,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
    dropout: Option<f64>,
}

/// What is wrong in a place of the file.
type Checks<T> = std::result::Result<T, String>;

/// Checks the file at `path`, and returns what the library may read of it.
pub(super) fn check(path: &Path, bytes: &[u8]) -> Result<Checked> {
    let damaged = |error| Error::damaged(path, error);
    let unsupported = |reason| Error::Unsupported { path: path.to_owned(), reason };
    within("", bytes.len(), "bytes", FILE_BYTES_MAX).map_err(unsupported)?;
    // Each value but the first follows one of these. Those inside texts count too, which only
    // makes the limit stricter.
    let values = bytes.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
    within("", values, "values", VALUES_MAX).map_err(unsupported)?;

    let parts: Parts<'_> = serde_json::from_slice(bytes).map_err(damaged)?;
    let words: Words<'_> = serde_json::from_str(parts.model.get())
        .map_err(|error| Error::damaged(path, format!("model: {error}")))?;
    let pieces: Vec<(String, f64)> = if words.vocab.get().starts_with('[') {
        serde_json::from_str(words.vocab.get())
            .map_err(|error| Error::damaged(path, format!("model.vocab: {error}")))?
    } else {
        Vec::new()
    };
    check_words(&words, &pieces).map_err(unsupported)?;
    let growth = check_parts(&parts).map_err(unsupported)?;
    let json = serde_json::to_vec(&parts).map_err(damaged)?;
    let text_bytes_max = (NORMALISED_BYTES_MAX as f64 / growth) as usize;
    Ok(Checked { json, text_bytes_max: text_bytes_max.min(TEXT_BYTES_MAX) })
}

fn within(at: &str, count: usize, what: &str, max: usize) -> Checks<()> {
    if count <= max {
        return Ok(());
    }
    let colon = if at.is_empty() { "" } else { ": " };
    Err(format!("{at}{colon}it has {count} {what}; valid: up to {max}"))
}

fn check_words(words: &Words<'_>, pieces: &[(String, f64)]) -> Checks<()> {
    if let Some(chars) = words.max_input_chars_per_word.filter(|chars| *chars > WORD_CHARS_MAX) {
        return Err(format!(
            "model.max_input_chars_per_word: it is {chars}; valid: up to {WORD_CHARS_MAX}"
        ));
    }
    if let Some(dropout) = words.dropout.filter(|dropout| *dropout != 0.0) {
        return Err(format!(
            "model.dropout: it is {dropout}, so a text had other tokens each time; valid: 0"
        ));
    }
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let prefix = length(&words.continuing_subword_prefix);
    within("model.continuing_subword_prefix", prefix, "bytes", AFFIX_BYTES_MAX)?;
    let suffix = length(&words.end_of_word_suffix);
    within("model.end_of_word_suffix", suffix, "bytes", AFFIX_BYTES_MAX)?;
    for (index, (piece, _)) in pieces.iter().enumerate() {
        within(&format!("model.vocab[{index}]"), piece.len(), "bytes", PIECE_BYTES_MAX)?;
    }
    let bytes = pieces.iter().map(|(piece, _)| piece.len()).sum();
    within("model.vocab", bytes, "bytes of words", PIECES_BYTES_MAX)
}

/// Checks all parts but the vocabulary, and returns the bytes that a byte of a text can become.
fn check_parts(parts: &Parts<'_>) -> Checks<f64> {
    let contents = parts.added_tokens.iter().filter_map(|token| token["content"].as_str());
    within("added_tokens", contents.map(str::len).sum(), "bytes of tokens", ADDED_BYTES_MAX)?;
    let post_processor = json!(parts.post_processor).to_string();
    within("post_processor", post_processor.len(), "bytes", POST_PROCESSOR_BYTES_MAX)?;
    within("post_processor", post_processor.matches("\"single\":").count(), "templates", 1)?;

    let mut budget = Budget { steps: 0, growth: 1.0 };
    budget.spend("normalizer", &json!(parts.normalizer))?;
    budget.spend("pre_tokenizer", &json!(parts.pre_tokenizer))?;
    Ok(budget.growth)
}

/// How much steps may add to a text.
struct Budget {
    steps: usize,
    growth: f64,
}

impl Budget {
    /// Spends what a step, and those in it, can add. The library guesses a step by its fields in
    /// some cases, so each field counts, whatever the type.
    fn spend(&mut self, at: &str, part: &Value) -> Checks<()> {
        let step = match part {
            Value::Object(step) => step,
            Value::Array(parts) => {
                let mut parts = parts.iter().enumerate();
                return parts
                    .try_for_each(|(index, part)| self.spend(&format!("{at}[{index}]"), part));
            }
            _ => return Ok(()),
        };
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return Err(format!(
                "{at}: there are more steps before it than the limit, {STEPS_MAX}"
            ));
        }
        self.growth *= growth(at, step)?.max(1.0);
        if self.growth > GROWTH_MAX {
            let growth = self.growth;
            return Err(format!(
                "{at}: after this step, a text can be {growth:.0} times as long; \
                 valid: up to {GROWTH_MAX} times"
            ));
        }
        let mut fields = step.iter().filter(|(name, _)| *name != "pattern");
        fields.try_for_each(|(name, field)| self.spend(&format!("{at}.{name}"), field))
    }
}

/// The bytes that a byte can become in a step.
fn growth(at: &str, step: &Map<String, Value>) -> Checks<f64> {
    let text = |name: &str| step.get(name).and_then(Value::as_str);
    let known = STEPS.iter().find(|(name, _)| text("type") == Some(name));
    let Some(&(_, mut growth)) = known else {
        let valid = STEPS.map(|(name, _)| name).join(", ");
        return Err(format!("{at}: it has no known type; valid: {valid}"));
    };
    let match_bytes = match step.get("pattern") {
        Some(pattern) => match_bytes_min(&format!("{at}.pattern"), pattern)? as f64,
        None => 1.0,
    };
    growth *= (text("content").unwrap_or_default().len() as f64 / match_bytes).max(1.0);
    // Once for each text between two added tokens, or each space, which has at least a byte.
    for name in ["prepend", "replacement"] {
        growth *= text(name).map_or(1.0, |added| 1.0 + added.len() as f64);
    }
    if let Some(rules) = text("precompiled_charsmap") {
        growth *= charsmap_growth(rules).ok_or_else(|| {
            format!("{at}.precompiled_charsmap: it is not SentencePiece's rules in base64")
        })?;
    }
    Ok(growth)
}

/// The bytes of the shortest match. A pattern that matches nothing is found everywhere.
fn match_bytes_min(at: &str, pattern: &Value) -> Checks<usize> {
    if let Some(text) = pattern["String"].as_str().filter(|text| !text.is_empty()) {
        return Ok(text.len());
    }
    let known = PATTERNS.iter().find(|(known, _)| pattern["Regex"] == *known);
    known.map(|(_, bytes)| *bytes).ok_or_else(|| {
        let valid = json!(PATTERNS.map(|(known, _)| known));
        let shown: String = pattern.to_string().chars().take(80).collect();
        format!("{at}: {shown} is not a text, nor one of known models; valid: {valid}")
    })
}

/// The bytes that a byte can become by SentencePiece's compiled rules: the length of the trie of what
/// is replaced, the trie, and the replacements, each of which ends at a zero byte.
fn charsmap_growth(rules: &str) -> Option<f64> {
    let bytes = BASE64_STANDARD.decode(rules).ok()?;
    let (trie_bytes, rest) = bytes.split_first_chunk()?;
    let replacements = rest.get(u32::from_le_bytes(*trie_bytes) as usize / 4 * 4..)?;
    let longest = replacements.split(|byte| *byte == 0).map(<[u8]>::len).max()?;
    // All that one or two bytes can be; three or more become the longest replacement at most.
    let short = (0..0x800).filter_map(char::from_u32).map(String::from);
    let growth = guarded(|| {
        let rules = Precompiled::from(&bytes).ok()?;
        let growths = short
            .chain(["\r\n".to_owned()])
            .map(|key| rules.normalize_string(&key).len() as f64 / key.len() as f64);
        Some(growths.fold(longest as f64 / 3.0, f64::max))
    });
    growth.ok().flatten()
}
