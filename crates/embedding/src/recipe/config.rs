//! `config.json`: which network a model has, and its sizes.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::modern::Modern;
use super::settings::{convert, parse};
use crate::files::{self, CONFIG};
use crate::weights_file::shown;
use crate::{Error, Result};

/// The networks that are run; `model/names.rs` describes each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Family {
    Bert,
    #[serde(alias = "xlm-roberta")]
    Roberta,
    Mpnet,
    DistilBert,
    ModernBert,
}

/// Values of `model_type`, with the first part of the class names in `architectures`.
const TYPES: [(&str, &str, Family); 6] = [
    ("bert", "Bert", Family::Bert),
    ("roberta", "Roberta", Family::Roberta),
    ("xlm-roberta", "XLMRoberta", Family::Roberta),
    ("mpnet", "MPNet", Family::Mpnet),
    ("distilbert", "DistilBert", Family::DistilBert),
    ("modernbert", "ModernBert", Family::ModernBert),
];

impl Family {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        TYPES.iter().map(|(.., family)| *family)
    }

    /// Its name in messages: the `model_type` of its first kind.
    pub(crate) fn name(self) -> &'static str {
        TYPES.iter().find(|(.., family)| *family == self).map_or("", |(name, ..)| name)
    }

    /// Gives settings the names and values that they have in BERT's file.
    fn normalise(self, settings: &mut Map<String, Value>) {
        let renamed: &[(&str, &str)] = match self {
            Self::Bert | Self::Roberta | Self::Mpnet => &[],
            Self::DistilBert => &[
                ("dim", "hidden_size"),
                ("n_layers", "num_hidden_layers"),
                ("n_heads", "num_attention_heads"),
                ("hidden_dim", "intermediate_size"),
                ("activation", "hidden_act"),
            ],
            Self::ModernBert => {
                &[("hidden_activation", "hidden_act"), ("norm_eps", "layer_norm_eps")]
            }
        };
        for (theirs, ours) in renamed {
            if let Some(value) = settings.remove(*theirs) {
                settings.insert((*ours).to_owned(), value);
            }
        }
        // What these networks do whatever the file says.
        let fixed = match self {
            Self::Bert | Self::Roberta => return,
            Self::Mpnet => json!({ "type_vocab_size": 0, "pad_token_id": 1 }),
            Self::DistilBert => json!({ "type_vocab_size": 0, "layer_norm_eps": 1e-12 }),
            Self::ModernBert => json!({ "type_vocab_size": 0 }),
        };
        settings.extend(fixed.as_object().cloned().unwrap_or_default());
    }
}

/// The part of `config.json` needed for inference.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Config {
    #[serde(rename = "model_type")]
    pub(crate) family: Family,
    pub(crate) vocab_size: usize,
    pub(crate) hidden_size: usize,
    pub(crate) num_hidden_layers: usize,
    pub(crate) num_attention_heads: usize,
    pub(crate) intermediate_size: usize,
    pub(crate) hidden_act: Activation,
    pub(crate) max_position_embeddings: usize,
    /// 0 if the network has no types of text.
    #[serde(default = "two")]
    pub(crate) type_vocab_size: usize,
    #[serde(default = "epsilon")]
    pub(crate) layer_norm_eps: f64,
    position_embedding_type: Option<String>,
    pad_token_id: Option<u32>,
    architectures: Option<Vec<String>>,
    /// The meaning of each of a classifier's outputs.
    id2label: Option<Map<String, Value>>,
    #[serde(skip)]
    pub(crate) modern: Modern,
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

fn two() -> usize {
    2
}

fn epsilon() -> f64 {
    1e-12
}

impl Config {
    /// Reads and checks a model folder's `config.json`.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(CONFIG);
        let bytes = files::read(folder, CONFIG)?;
        let mut settings: Map<String, Value> = parse(folder, CONFIG, &bytes)?;
        let named = settings.entry("model_type").or_insert_with(|| json!("bert"));
        if !TYPES.iter().any(|(it, ..)| named == it) {
            let known: Vec<&str> = TYPES.iter().map(|(it, ..)| *it).collect();
            let named = match named.as_str() {
                Some(name) => format!("\"{}\"", shown(name)),
                None => shown(&named.to_string()),
            };
            let reason = format!("model_type {named}; supported are {}", known.join(", "));
            return Err(Error::Unsupported { path, reason });
        }
        let family: Family = convert(&path, named.clone())?;
        if family == Family::ModernBert && !settings.contains_key("norm_eps") {
            settings.insert("norm_eps".to_owned(), json!(1e-5));
        }
        family.normalise(&mut settings);
        let modern = match family {
            Family::ModernBert => convert(&path, Value::Object(settings.clone()))?,
            _ => Modern::default(),
        };
        let config: Self = convert(&path, Value::Object(settings))?;
        let config = Self { modern, ..config };
        config.check_class(folder)?;
        config.check(&path)?;
        Ok(config)
    }

    /// The position of a text's first token. RoBERTa and its kin count from behind the padding's
    /// number, and give a padding token inside a text that number.
    pub(crate) fn first_position(&self) -> usize {
        self.padding().map_or(0, |padding| padding as usize + 1)
    }

    /// The token that has no position of its own.
    pub(crate) fn padding(&self) -> Option<u32> {
        match self.family {
            Family::Roberta | Family::Mpnet => Some(self.pad_token_id.unwrap_or(1)),
            Family::Bert | Family::DistilBert | Family::ModernBert => None,
        }
    }

    /// The longest text, in tokens.
    pub(crate) fn length_max(&self) -> usize {
        self.max_position_embeddings.saturating_sub(self.first_position())
    }

    /// How many numbers a classifier of this configuration returns.
    pub(crate) fn labels(&self) -> usize {
        self.id2label.as_ref().map_or(2, Map::len)
    }

    /// The class that wrote the file says the same family as `model_type`.
    fn check_class(&self, folder: &Path) -> Result<()> {
        let class = self.architectures.iter().flatten().next();
        let of_class =
            TYPES.iter().find(|(_, it, _)| class.is_some_and(|class| class.starts_with(it)));
        let (Some(class), Some((named, _, family))) = (class, of_class) else { return Ok(()) };
        if *family == self.family {
            return Ok(());
        }
        let reason = format!(
            "config.json names the class {}, whose model_type is \"{named}\", \
             and another model_type",
            shown(class)
        );
        Err(Error::damaged(folder, reason))
    }

    fn check(&self, path: &Path) -> Result<()> {
        if let Some(kind) =
            self.position_embedding_type.as_deref().filter(|kind| *kind != "absolute")
        {
            let reason = format!(
                "position_embedding_type \"{}\"; only \"absolute\" is supported",
                shown(kind)
            );
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
        ];
        for (name, value, max) in ranges {
            if value == 0 || value > max {
                let reason = format!("{name} is {value}, expected 1 to {max}");
                return Err(Error::damaged(path, reason));
            }
        }
        let least = usize::from(matches!(self.family, Family::Bert | Family::Roberta));
        if !(least..=1_024).contains(&self.type_vocab_size) {
            let value = self.type_vocab_size;
            let reason = format!("type_vocab_size is {value}, expected {least} to 1024");
            return Err(Error::damaged(path, reason));
        }
        if !self.hidden_size.is_multiple_of(self.num_attention_heads) {
            let reason = format!(
                "hidden_size {} is no multiple of num_attention_heads {}",
                self.hidden_size, self.num_attention_heads
            );
            return Err(Error::damaged(path, reason));
        }
        if self.length_max() < 3 {
            let (positions, first) = (self.max_position_embeddings, self.first_position());
            let reason =
                format!("max_position_embeddings is {positions}; the first position is {first}");
            return Err(Error::damaged(path, reason));
        }
        if self.family == Family::ModernBert { self.modern.check(self, path) } else { Ok(()) }
    }
}
