//! How a text becomes one vector, according to a model folder's settings.

mod config;
mod modern;
mod settings;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) use self::config::Config;
#[cfg(feature = "inference")]
pub(crate) use self::config::{Activation, Family};
#[cfg(feature = "inference")]
pub(crate) use self::modern::LayerType;
use self::settings::parse;
use crate::files::{self, MODULES, POOLING, PROMPTS, SENTENCE, TOKENIZER_SETTINGS};
use crate::weights_file::shown;
use crate::{Error, Result};

/// How the vectors of a text's tokens become the text's vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pooling {
    /// Their mean.
    Mean,
    /// The first one, that of the `[CLS]` token.
    First,
}

/// Everything besides the files' contents that determines a vector.
#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    pub(crate) config: Config,
    pub(crate) pooling: Pooling,
    /// Texts are cut to this many tokens, including `[CLS]` and `[SEP]`.
    pub(crate) terms_max: usize,
    pub(crate) lower_case: bool,
    pub(crate) prompts: Prompts,
}

/// What stands before each text that is embedded.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prompts {
    pub(crate) query: String,
    pub(crate) passage: String,
}

/// The names that sentence-transformers looks up for a query and for a passage.
const QUERY_PROMPTS: [&str; 1] = ["query"];
const PASSAGE_PROMPTS: [&str; 3] = ["document", "passage", "corpus"];
/// A prompt is a sentence; a longer one leaves no room for the text.
const PROMPT_BYTES_MAX: usize = 4 << 10;

#[derive(Deserialize, Default)]
struct PromptSettings {
    #[serde(default)]
    prompts: BTreeMap<String, String>,
    default_prompt_name: Option<String>,
}

#[derive(Deserialize)]
struct PoolingSettings {
    include_prompt: Option<bool>,
    /// Among others, `pooling_mode_mean_tokens` and its kin.
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
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
        let config = Config::read(folder)?;
        check_modules(folder)?;
        let prompts = read_prompts(folder)?;
        let pooling = read_pooling(folder, &prompts)?;
        let sentence: SentenceSettings = read_settings(folder, SENTENCE)?.unwrap_or_default();
        let terms_max = terms_max(folder, &config, sentence.max_seq_length)?;
        Ok(Self { config, pooling, terms_max, lower_case: sentence.do_lower_case, prompts })
    }

    /// Reads the settings of the folder of a cross-encoder, which has no modules.
    #[cfg(feature = "inference")]
    pub(crate) fn read_pairs(folder: &Path) -> Result<Self> {
        let config = Config::read(folder)?;
        let pooling = if config.modern.classifies_mean() { Pooling::Mean } else { Pooling::First };
        let terms_max = terms_max(folder, &config, None)?;
        let prompts = Prompts::default();
        Ok(Self { config, pooling, terms_max, lower_case: false, prompts })
    }

    /// SHA-256 over the files' digests and the settings: equal if and only if the same text gets
    /// the same vector from the same numbers.
    pub(crate) fn fingerprint(&self, config: &str, tokenizer: &str, weights: &str) -> String {
        let Self { pooling, terms_max, lower_case, prompts, .. } = self;
        let pooling = match pooling {
            Pooling::Mean => "mean",
            Pooling::First => "first",
        };
        let mut text = format!(
            "waypost-embedding 1\nconfig {config}\ntokenizer {tokenizer}\nweights {weights}\n\
             pooling {pooling}\nterms {terms_max}\nlower {lower_case}\nunit length\n"
        );
        let Prompts { query, passage } = prompts;
        if !(query.is_empty() && passage.is_empty()) {
            text.extend(["query ", query, "\npassage ", passage, "\n"]);
        }
        files::digest(text.as_bytes())
    }
}

/// How many tokens of a text are read: by the given setting, otherwise by the tokenizer's.
fn terms_max(folder: &Path, config: &Config, given: Option<usize>) -> Result<usize> {
    let terms_max = match given {
        Some(terms) => terms,
        None => read_settings::<TokenizerSettings>(folder, TOKENIZER_SETTINGS)?
            .and_then(|settings| settings.model_max_length)
            // A cast from f64 saturates, so 1e30 means "no limit" here as well.
            .map_or(usize::MAX, |terms| terms as usize),
    };
    // `[CLS]`, `[SEP]` and one token are the useful minimum.
    if terms_max < 3 {
        let path = folder.join(SENTENCE);
        let reason = format!("a maximum length of {terms_max} tokens is too short");
        return Err(Error::damaged(&path, reason));
    }
    Ok(terms_max.min(config.length_max()))
}

fn read_prompts(folder: &Path) -> Result<Prompts> {
    let settings: PromptSettings = read_settings(folder, PROMPTS)?.unwrap_or_default();
    let PromptSettings { prompts, default_prompt_name } = settings;
    let path = folder.join(PROMPTS);
    if let Some((name, prompt)) = prompts.iter().find(|(_, it)| it.len() > PROMPT_BYTES_MAX) {
        let length = prompt.len();
        let reason = format!(
            "the prompt \"{}\" has {length} bytes; the limit is {PROMPT_BYTES_MAX}",
            shown(name)
        );
        return Err(Error::damaged(&path, reason));
    }
    let usual = match default_prompt_name {
        None => "",
        Some(name) => prompts.get(&name).ok_or_else(|| {
            Error::damaged(
                &path,
                format!("default_prompt_name is \"{}\", which is no prompt", shown(&name)),
            )
        })?,
    };
    let prompt = |names: &[&str]| {
        names.iter().find_map(|name| prompts.get(*name)).map_or(usual, String::as_str).to_owned()
    };
    Ok(Prompts { query: prompt(&QUERY_PROMPTS), passage: prompt(&PASSAGE_PROMPTS) })
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
                "the module {} in \"{}\"; \
                 Transformer in \"\", Pooling in \"1_Pooling\" and Normalize are supported",
                shown(name),
                shown(path)
            );
            return Err(Error::Unsupported { path: folder.join(MODULES), reason });
        }
    }
    Ok(())
}

fn read_pooling(folder: &Path, prompts: &Prompts) -> Result<Pooling> {
    let Some(settings) = read_settings::<PoolingSettings>(folder, POOLING)? else {
        return Ok(Pooling::Mean);
    };
    if settings.include_prompt == Some(false)
        && !(prompts.query.is_empty() && prompts.passage.is_empty())
    {
        let reason = "include_prompt is false; prompts are always included in the mean".to_owned();
        return Err(Error::Unsupported { path: folder.join(POOLING), reason });
    }
    let is_on = |(name, value): &(&String, &Value)| {
        name.starts_with("pooling_mode_") && **value == Value::Bool(true)
    };
    let modes: Vec<&str> =
        settings.others.iter().filter(is_on).map(|(name, _)| name.as_str()).collect();
    match modes[..] {
        ["pooling_mode_mean_tokens"] => Ok(Pooling::Mean),
        ["pooling_mode_cls_token"] => Ok(Pooling::First),
        _ => Err(Error::Unsupported {
            path: folder.join(POOLING),
            reason:
                "exactly one of pooling_mode_mean_tokens and pooling_mode_cls_token is supported"
                    .to_owned(),
        }),
    }
}

fn read_settings<T: DeserializeOwned>(folder: &Path, file: &str) -> Result<Option<T>> {
    files::read_optional(folder, file)?.map(|bytes| parse(folder, file, &bytes)).transpose()
}
