//! How a text becomes one vector, according to a model folder's settings.

use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::files::{self, CONFIG, MODULES, POOLING, SENTENCE, TOKENIZER_SETTINGS};
use crate::{Error, Result};

/// How the vectors of a text's tokens become the text's vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pooling {
    /// Their mean.
    Mean,
    /// The first one, that of the `[CLS]` token.
    First,
}

/// The part of `config.json` needed for inference.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Config {
    #[serde(default = "bert")]
    pub(crate) model_type: String,
    pub(crate) vocab_size: usize,
    pub(crate) hidden_size: usize,
    pub(crate) num_hidden_layers: usize,
    pub(crate) num_attention_heads: usize,
    pub(crate) intermediate_size: usize,
    pub(crate) hidden_act: Activation,
    pub(crate) max_position_embeddings: usize,
    #[serde(default = "two")]
    pub(crate) type_vocab_size: usize,
    #[serde(default = "epsilon")]
    pub(crate) layer_norm_eps: f64,
    #[serde(default)]
    position_embedding_type: Option<String>,
}

/// The activation between the two halves of a feed-forward step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Activation {
    #[serde(rename = "gelu", alias = "gelu_python")]
    Gelu,
    #[serde(rename = "gelu_new", alias = "gelu_pytorch_tanh", alias = "gelu_fast")]
    GeluTanh,
    #[serde(rename = "relu")]
    Relu,
}

fn bert() -> String {
    "bert".to_owned()
}

fn two() -> usize {
    2
}

fn epsilon() -> f64 {
    1e-12
}

/// Everything besides the files' contents that determines a vector.
#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    pub(crate) config: Config,
    pub(crate) pooling: Pooling,
    /// Texts are cut to this many tokens, including `[CLS]` and `[SEP]`.
    pub(crate) terms_max: usize,
    pub(crate) lower_case: bool,
}

#[derive(Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "the file's own fields")]
struct PoolingSettings {
    #[serde(default)]
    pooling_mode_cls_token: bool,
    #[serde(default)]
    pooling_mode_mean_tokens: bool,
    #[serde(default)]
    pooling_mode_max_tokens: bool,
    #[serde(default)]
    pooling_mode_mean_sqrt_len_tokens: bool,
    #[serde(default)]
    pooling_mode_weightedmean_tokens: bool,
    #[serde(default)]
    pooling_mode_lasttoken: bool,
}

#[derive(Deserialize)]
struct ModuleSettings {
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize, Default)]
struct SentenceSettings {
    max_seq_length: Option<usize>,
    #[serde(default)]
    do_lower_case: bool,
}

#[derive(Deserialize, Default)]
struct TokenizerSettings {
    /// A float, because some folders write 1e30 for "no limit".
    model_max_length: Option<f64>,
}

impl Recipe {
    /// Reads the settings of a model folder.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let config: Config = parse(folder, CONFIG, &files::read(folder, CONFIG)?)?;
        config.check(&folder.join(CONFIG))?;
        check_modules(folder)?;
        let pooling = read_pooling(folder)?;
        let sentence: SentenceSettings = read_settings(folder, SENTENCE)?.unwrap_or_default();
        let terms_max = match sentence.max_seq_length {
            Some(terms) => terms,
            None => read_settings::<TokenizerSettings>(folder, TOKENIZER_SETTINGS)?
                .and_then(|settings| settings.model_max_length)
                // A cast from f64 saturates, so 1e30 means "no limit" here as well.
                .map_or(usize::MAX, |terms| terms as usize),
        };
        // `[CLS]`, `[SEP]` and one token are the useful minimum.
        if terms_max < 3 {
            let path = folder.join(SENTENCE);
            return Err(Error::damaged(
                &path,
                format!("a maximum length of {terms_max} tokens is too short"),
            ));
        }
        let terms_max = terms_max.min(config.max_position_embeddings);
        Ok(Self { config, pooling, terms_max, lower_case: sentence.do_lower_case })
    }

    /// SHA-256 over the files' digests and the settings: equal if and only if the same text gets
    /// the same vector from the same numbers.
    pub(crate) fn fingerprint(&self, config: &str, tokenizer: &str, weights: &str) -> String {
        let Self { pooling, terms_max, lower_case, .. } = self;
        let pooling = match pooling {
            Pooling::Mean => "mean",
            Pooling::First => "first",
        };
        let text = format!(
            "waypost-embedding 1\nconfig {config}\ntokenizer {tokenizer}\nweights {weights}\n\
             pooling {pooling}\nterms {terms_max}\nlower {lower_case}\nunit length\n"
        );
        files::digest(text.as_bytes())
    }
}

impl Config {
    fn check(&self, path: &Path) -> Result<()> {
        if self.model_type != "bert" {
            let reason = format!(
                "model_type \"{}\"; only \"bert\" is run (MiniLM, BGE, E5, GTE and others are)",
                self.model_type
            );
            return Err(Error::Unsupported { path: path.to_owned(), reason });
        }
        if let Some(kind) = self.position_embedding_type.as_deref().filter(|it| *it != "absolute") {
            let reason = format!("position_embedding_type \"{kind}\"; only \"absolute\" is run");
            return Err(Error::Unsupported { path: path.to_owned(), reason });
        }
        // The largest of the family: 250,000 words, 24 layers of 1,024; with a generous margin, so
        // that damage is detected before such numbers allocate memory.
        let ranges = [
            ("vocab_size", self.vocab_size, 4_000_000),
            ("hidden_size", self.hidden_size, 16_384),
            ("num_hidden_layers", self.num_hidden_layers, 256),
            ("num_attention_heads", self.num_attention_heads, 1_024),
            ("intermediate_size", self.intermediate_size, 131_072),
            ("max_position_embeddings", self.max_position_embeddings, 1 << 20),
            ("type_vocab_size", self.type_vocab_size, 1_024),
        ];
        for (name, value, max) in ranges {
            if value == 0 || value > max {
                let reason = format!("{name} is {value}, expected 1 to {max}");
                return Err(Error::damaged(path, reason));
            }
        }
        if !self.hidden_size.is_multiple_of(self.num_attention_heads) {
            let reason = format!(
                "hidden_size {} is no multiple of num_attention_heads {}",
                self.hidden_size, self.num_attention_heads
            );
            return Err(Error::damaged(path, reason));
        }
        Ok(())
    }
}

/// Checks that the chain of modules is supported; scaling to unit length is always applied.
fn check_modules(folder: &Path) -> Result<()> {
    let Some(modules) = read_settings::<Vec<ModuleSettings>>(folder, MODULES)? else {
        return Ok(());
    };
    for ModuleSettings { path, kind } in &modules {
        let name = kind.rsplit('.').next().unwrap_or(kind);
        let here = match name {
            "Transformer" => path.is_empty(),
            "Pooling" => path == "1_Pooling",
            "Normalize" => true,
            _ => false,
        };
        if !here {
            let reason = format!(
                "the module {name} in \"{path}\"; \
                 Transformer in \"\", Pooling in \"1_Pooling\" and Normalize are run"
            );
            return Err(Error::Unsupported { path: folder.join(MODULES), reason });
        }
    }
    Ok(())
}

fn read_pooling(folder: &Path) -> Result<Pooling> {
    let Some(settings) = read_settings::<PoolingSettings>(folder, POOLING)? else {
        return Ok(Pooling::Mean);
    };
    let others = settings.pooling_mode_max_tokens
        || settings.pooling_mode_mean_sqrt_len_tokens
        || settings.pooling_mode_weightedmean_tokens
        || settings.pooling_mode_lasttoken;
    match (settings.pooling_mode_mean_tokens, settings.pooling_mode_cls_token) {
        (true, false) if !others => Ok(Pooling::Mean),
        (false, true) if !others => Ok(Pooling::First),
        _ => Err(Error::Unsupported {
            path: folder.join(POOLING),
            reason: "exactly one of pooling_mode_mean_tokens and pooling_mode_cls_token is run"
                .to_owned(),
        }),
    }
}

fn read_settings<T: DeserializeOwned>(folder: &Path, file: &str) -> Result<Option<T>> {
    files::read_optional(folder, file)?.map(|bytes| parse(folder, file, &bytes)).transpose()
}

fn parse<T: DeserializeOwned>(folder: &Path, file: &str, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes)
        .map_err(|error| Error::damaged(&folder.join(file), format!("not as expected ({error})")))
}
