//! The steps that rewrite a text and split it into words.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Checks, Fault, GROWTH_MAX, STEPS_MAX, charsmap, check_literal, parse, sequence};

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

/// How much steps may add to a text.
#[derive(Debug)]
pub(super) struct Budget {
    steps: usize,
    growth: f64,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self { steps: 0, growth: 1.0 }
    }

    /// The bytes that a byte of a text can become in all steps.
    pub(super) fn growth(&self) -> f64 {
        self.growth
    }

    fn spend(&mut self, at: &str, growth: f64) -> Checks<()> {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            let reason = format!("there are more steps before it than the limit, {STEPS_MAX}");
            return Err(Fault::unsupported(at, reason));
        }
        self.growth *= growth.max(1.0);
        if self.growth > GROWTH_MAX {
            let reason = format!(
                "after this step, a text can be {:.0} times as long; valid: up to {GROWTH_MAX} times",
                self.growth
            );
            return Err(Fault::unsupported(at, reason));
        }
        Ok(())
    }
}

#[derive(Deserialize, Serialize)]
#[serde(tag = "type")]
enum Normalizer {
    #[serde(rename = "BertNormalizer")]
    Bert {
        clean_text: bool,
        handle_chinese_chars: bool,
        strip_accents: Option<bool>,
        lowercase: bool,
    },
    ByteLevel,
    Lowercase,
    #[serde(rename = "NFC")]
    Nfc,
    #[serde(rename = "NFD")]
    Nfd,
    #[serde(rename = "NFKC")]
    Nfkc,
    #[serde(rename = "NFKD")]
    Nfkd,
    Nmt,
    Precompiled {
        precompiled_charsmap: String,
    },
    Prepend {
        prepend: String,
    },
    Replace {
        pattern: Pattern,
        content: String,
    },
    Strip {
        strip_left: bool,
        strip_right: bool,
    },
    StripAccents,
}

impl Step for Normalizer {
    const PARTS: &'static str = "normalizers";

    /// Those of Unicode's forms are in its FAQ on normalisation.
    fn growth(&self, at: &str) -> Checks<f64> {
        const LOWER_CASE: f64 = 1.5;
        const CANONICAL: f64 = 3.0;
        const COMPATIBLE: f64 = 11.0;
        // A space on each side of three bytes.
        const CHINESE: f64 = 5.0 / 3.0;
        Ok(match self {
            Self::Bert { .. } => CHINESE * CANONICAL * LOWER_CASE,
            Self::ByteLevel => 2.0,
            Self::Lowercase => LOWER_CASE,
            Self::Nfc | Self::Nfd => CANONICAL,
            Self::Nfkc | Self::Nfkd => COMPATIBLE,
            Self::Nmt | Self::Strip { .. } | Self::StripAccents => 1.0,
            Self::Precompiled { precompiled_charsmap } => {
                charsmap::growth(&format!("{at}.precompiled_charsmap"), precompiled_charsmap)?
            }
            // Once for each text between two marks, which has at least a byte.
            Self::Prepend { prepend } => 1.0 + prepend.len() as f64,
            Self::Replace { pattern, content } => {
                check_literal(&format!("{at}.content"), content)?;
                content.len() as f64 / pattern.match_bytes_min(&format!("{at}.pattern"))? as f64
            }
        })
    }
}

#[derive(Deserialize, Serialize)]
#[serde(tag = "type")]
enum PreTokenizer {
    #[serde(rename = "BertPreTokenizer")]
    Bert,
    ByteLevel {
        add_prefix_space: bool,
        trim_offsets: bool,
        #[serde(default = "yes")]
        use_regex: bool,
    },
    Digits {
        individual_digits: bool,
    },
    Metaspace {
        replacement: char,
        #[serde(skip_serializing_if = "Option::is_none")]
        add_prefix_space: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        prepend_scheme: Option<PrependScheme>,
        split: Option<bool>,
    },
    Punctuation {
        #[serde(default)]
        behavior: Behavior,
    },
    Split {
        pattern: Pattern,
        behavior: Behavior,
        invert: bool,
    },
    Whitespace,
    WhitespaceSplit,
}

impl Step for PreTokenizer {
    const PARTS: &'static str = "pretokenizers";

    fn growth(&self, at: &str) -> Checks<f64> {
        Ok(match self {
            // Each byte becomes a character of up to two, and a space may come before a byte.
            Self::ByteLevel { add_prefix_space: true, .. } => 4.0,
            Self::ByteLevel { .. } => 2.0,
            // For each space, and once more before a word of at least a byte.
            Self::Metaspace { replacement, .. } => 1.0 + replacement.len_utf8() as f64,
            Self::Split { pattern, .. } => {
                pattern.match_bytes_min(&format!("{at}.pattern"))?;
                1.0
            }
            _ => 1.0,
        })
    }
}

fn yes() -> bool {
    true
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum PrependScheme {
    First,
    Never,
    Always,
}

#[derive(Deserialize, Serialize, Default)]
enum Behavior {
    Removed,
    #[default]
    Isolated,
    MergedWithPrevious,
    MergedWithNext,
    Contiguous,
}

#[derive(Deserialize, Serialize)]
enum Pattern {
    String(String),
    Regex(String),
}

impl Pattern {
    /// The bytes of the shortest match. A pattern that matches nothing is found everywhere.
    fn match_bytes_min(&self, at: &str) -> Checks<usize> {
        match self {
            Self::String(text) if text.is_empty() => {
                Err(Fault::unsupported(at, "it is empty; valid: a text of at least one character"))
            }
            Self::String(text) => check_literal(at, text).map(|()| text.len()),
            Self::Regex(regex) => {
                let known = PATTERNS.iter().find(|(known, _)| known == regex);
                known.map(|(_, bytes)| *bytes).ok_or_else(|| {
                    let valid: Vec<&str> = PATTERNS.iter().map(|(known, _)| *known).collect();
                    let shown: String = regex.chars().take(80).collect();
                    let reason = format!(
                        "the regular expression {shown:?} is not one of known models; \
                         valid: {}",
                        json!(valid)
                    );
                    Fault::unsupported(at, reason)
                })
            }
        }
    }
}

/// Checks the normaliser, and returns it without fields that were not checked.
pub(super) fn normalizer(budget: &mut Budget, at: &str, value: Value) -> Checks<Value> {
    checked::<Normalizer>(budget, at, value)
}

/// Checks the pre-tokenizer, as [`normalizer`] does.
pub(super) fn pre_tokenizer(budget: &mut Budget, at: &str, value: Value) -> Checks<Value> {
    checked::<PreTokenizer>(budget, at, value)
}

/// A step, or a part of a sequence of such steps.
trait Step: DeserializeOwned + Serialize {
    /// The field of a sequence that has its parts.
    const PARTS: &'static str;

    /// The bytes that a byte can become.
    fn growth(&self, at: &str) -> Checks<f64>;
}

fn checked<S: Step>(budget: &mut Budget, at: &str, mut value: Value) -> Checks<Value> {
    if let Some(parts) = sequence(at, &mut value, S::PARTS)? {
        budget.spend(at, 1.0)?;
        let parts = parts.into_iter().map(|(at, part)| checked::<S>(budget, &at, part));
        let parts = parts.collect::<Checks<Vec<Value>>>()?;
        return Ok(json!({ "type": "Sequence", (S::PARTS): parts }));
    }
    let step: S = parse(at, value)?;
    budget.spend(at, step.growth(at)?)?;
    Ok(json!(step))
}
