//! The vocabulary, and how a word is split into its entries.

use serde_json::{Map, Value, json};

use super::{Checks, Fault};

/// The longest known entry is a line of 128 dashes or spaces, of two bytes each.
const WORD_BYTES_MAX: usize = 1_024;
/// Unigram looks each entry up at each byte of a text; the longest known has 48 bytes.
const PIECE_BYTES_MAX: usize = 256;
/// Unigram has a tree with a node for each byte that entries do not share, of 350 bytes each. That
/// of XLM-R's 250,000 entries has less than 2.5 million.
const NODES_MAX: usize = 3_000_000;
/// WordPiece takes time of a word's length to the power of three; 100 is usual.
const WORD_CHARS_MAX: u64 = 200;
/// Before or behind the parts of a word; `##` is usual.
const AFFIX_BYTES_MAX: usize = 64;
/// Logarithms of probabilities.
const SCORE_MAX: f64 = 1e6;

/// Checks the part `model`, and leaves only the fields that its type has.
pub(super) fn check(model: &mut Map<String, Value>) -> Checks<()> {
    let kind = kind(model)?;
    let fields: &[&str] = match kind.as_str() {
        "WordPiece" => &["unk_token", "continuing_subword_prefix", "max_input_chars_per_word"],
        "WordLevel" => &["unk_token"],
        "BPE" => &[
            "unk_token",
            "continuing_subword_prefix",
            "end_of_word_suffix",
            "dropout",
            "fuse_unk",
            "byte_fallback",
            "ignore_merges",
            "merges",
        ],
        "Unigram" => &["unk_id", "byte_fallback"],
        _ => {
            let reason = format!(
                "the type {kind:?} is not run; valid: \"WordPiece\", \"BPE\", \"Unigram\", \
                 \"WordLevel\""
            );
            return Err(Fault::unsupported("model.type", reason));
        }
    };
    model.retain(|name, _| name == "vocab" || fields.contains(&name.as_str()));
    model.insert("type".to_owned(), json!(kind));
    if kind == "Unigram" {
        return check_pieces(model.get("vocab"));
    }
    let Some(Value::Object(vocabulary)) = model.get("vocab") else {
        return Err(Fault::damaged("model.vocab", "it is not an object of words and numbers"));
    };
    if let Some(word) = vocabulary.keys().find(|word| word.len() > WORD_BYTES_MAX) {
        let shown: String = word.chars().take(40).collect();
        let count = word.len();
        let reason =
            format!("the word {shown:?}… has {count} bytes; valid: up to {WORD_BYTES_MAX}");
        return Err(Fault::unsupported("model.vocab", reason));
    }
    check_unknown(model, vocabulary, kind == "BPE")?;
    for name in ["continuing_subword_prefix", "end_of_word_suffix"] {
        check_affix(model, name)?;
    }
    check_merges(model.get("merges"))?;
    check_numbers(model)
}

/// The type, or, in files of old versions, that which has the same fields.
fn kind(model: &Map<String, Value>) -> Checks<String> {
    let by_fields = || {
        if model.contains_key("merges") {
            "BPE"
        } else if model.get("vocab").is_some_and(Value::is_array) {
            "Unigram"
        } else if model.contains_key("max_input_chars_per_word") {
            "WordPiece"
        } else {
            "WordLevel"
        }
    };
    match model.get("type") {
        None => Ok(by_fields().to_owned()),
        Some(Value::String(kind)) => Ok(kind.clone()),
        Some(_) => Err(Fault::damaged("model.type", "it is not a text")),
    }
}

/// The library fails on each text with an unknown word if the word for it is unknown, too.
fn check_unknown(
    model: &Map<String, Value>,
    vocabulary: &Map<String, Value>,
    is_optional: bool,
) -> Checks<()> {
    match model.get("unk_token") {
        None | Some(Value::Null) if is_optional => Ok(()),
        Some(Value::String(word)) if vocabulary.contains_key(word) => Ok(()),
        _ => Err(Fault::damaged(
            "model.unk_token",
            "it is not a word of the vocabulary; valid: a key of model.vocab",
        )),
    }
}

fn check_affix(model: &Map<String, Value>, name: &str) -> Checks<()> {
    match model.get(name).and_then(Value::as_str) {
        Some(text) if text.len() > AFFIX_BYTES_MAX => {
            let count = text.len();
            let reason = format!("it has {count} bytes; valid: up to {AFFIX_BYTES_MAX}");
            Err(Fault::unsupported(&format!("model.{name}"), reason))
        }
        _ => Ok(()),
    }
}

/// Whether the parts and their sum are words is checked by the library.
fn check_merges(merges: Option<&Value>) -> Checks<()> {
    let Some(merges) = merges else { return Ok(()) };
    let Value::Array(merges) = merges else {
        return Err(Fault::damaged("model.merges", "it is not a list"));
    };
    let is_pair = |merge: &Value| match merge {
        Value::String(text) => text.matches(' ').count() == 1,
        Value::Array(pair) => pair.len() == 2 && pair.iter().all(Value::is_string),
        _ => false,
    };
    let Some(index) = merges.iter().position(|merge| !is_pair(merge)) else { return Ok(()) };
    let reason = "it is not two words; valid: \"a b\" or [\"a\", \"b\"]";
    Err(Fault::damaged(&format!("model.merges[{index}]"), reason))
}

fn check_numbers(model: &Map<String, Value>) -> Checks<()> {
    let chars = model.get("max_input_chars_per_word").and_then(Value::as_u64);
    if let Some(chars) = chars.filter(|it| *it > WORD_CHARS_MAX) {
        let reason = format!("it is {chars}; valid: up to {WORD_CHARS_MAX}");
        return Err(Fault::unsupported("model.max_input_chars_per_word", reason));
    }
    match model.get("dropout") {
        None | Some(Value::Null) => Ok(()),
        Some(dropout) if dropout.as_f64() == Some(0.0) => Ok(()),
        Some(dropout) => {
            let reason = format!("it is {dropout}, so a text had other tokens each time; valid: 0");
            Err(Fault::unsupported("model.dropout", reason))
        }
    }
}

fn check_pieces(vocabulary: Option<&Value>) -> Checks<()> {
    let Some(Value::Array(vocabulary)) = vocabulary else {
        return Err(Fault::damaged("model.vocab", "it is not a list of words and scores"));
    };
    let mut pieces = Vec::with_capacity(vocabulary.len());
    for (index, piece) in vocabulary.iter().enumerate() {
        let at = || format!("model.vocab[{index}]");
        let Some([Value::String(text), score]) = piece.as_array().map(Vec::as_slice) else {
            return Err(Fault::damaged(&at(), "it is not a text and a score"));
        };
        if text.len() > PIECE_BYTES_MAX {
            let count = text.len();
            let reason = format!("it has {count} bytes; valid: up to {PIECE_BYTES_MAX}");
            return Err(Fault::unsupported(&at(), reason));
        }
        if !score.as_f64().is_some_and(|score| score.abs() <= SCORE_MAX) {
            let reason = format!("the score is not from -{SCORE_MAX} to {SCORE_MAX}");
            return Err(Fault::damaged(&at(), reason));
        }
        pieces.push(text.as_bytes());
    }
    pieces.sort_unstable();
    let before = std::iter::once(&[][..]).chain(pieces.iter().copied());
    let own = pieces.iter().zip(before).map(|(piece, before)| {
        piece.len() - piece.iter().zip(before).take_while(|(a, b)| a == b).count()
    });
    let nodes: usize = own.sum();
    if nodes > NODES_MAX {
        let reason = format!("the words differ in {nodes} bytes; valid: up to {NODES_MAX}");
        return Err(Fault::unsupported("model.vocab", reason));
    }
    Ok(())
}
