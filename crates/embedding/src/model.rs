//! A loaded model: embeds texts as vectors of unit length.

mod batch;
mod bert;
mod cross_encoder;
mod encoder;
mod folder;
mod general;
mod guarded;
mod head;
mod modern;
mod names;
mod pack;
mod plan;
mod terms;
mod tokenizer_file;
mod weights;

use std::fmt;
use std::path::{Path, PathBuf};

use waypost_encoder::Kernel;

pub use self::cross_encoder::CrossEncoder;
use self::encoder::Encoder;
use self::folder::Files;
use self::guarded::guarded;
use self::terms::{TRIALS, Terms};
use self::weights::Weights;
use crate::files::WEIGHTS;
use crate::recipe::{Prompts, Recipe};
use crate::{Error, Result};

/// A sentence model in memory.
///
/// `embed` takes `&self`, so one model serves many threads. A call with one text runs on the
/// calling thread; one with many texts, beyond about 192 tokens, runs on rayon's global pool, which
/// has as many threads as the machine has cores unless the host builds the pool otherwise or sets
/// `RAYON_NUM_THREADS`. A host that also serves requests should embed on a separate thread and in
/// calls of bounded size.
pub struct Model {
    name: String,
    folder: PathBuf,
    fingerprint: String,
    dimensions: usize,
    terms_max: usize,
    terms: Terms,
    encoder: Encoder,
    prompts: Prompts,
}

impl Model {
    /// Loads a model folder: `config.json`, `tokenizer.json` and `model.safetensors`, and if
    /// present `1_Pooling/config.json` (mean or first), `modules.json`, `sentence_bert_config.json`
    /// and `tokenizer_config.json` (the maximum length of a text), and
    /// `config_sentence_transformers.json` (prompts).
    ///
    /// Reads the weights once (briefly needing twice their size), stores them as 16-bit floats if
    /// these represent them, digests all files, and embeds two texts as a trial, which must have
    /// different vectors, so a model that loads also works.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if one of the three files is missing,
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged) if one is truncated, differs from what was
    /// recorded when the folder was added to the cache, or they do not match each other,
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) if this kind of model is not supported.
    pub fn load(folder: &Path) -> Result<Self> {
        let recipe = Recipe::read(folder)?;
        let Files { tokenizer, weights, digests } = Files::read(folder)?;
        let [config, tokenizer_digest, weights_digest] = &digests;
        let fingerprint = recipe.fingerprint(config, tokenizer_digest, weights_digest);
        let load =
            || Encoder::load(folder, &Weights::open(folder, weights, &recipe.config)?, &recipe);
        let encoder =
            guarded(load).map_err(|panic| Error::damaged(&folder.join(WEIGHTS), panic))??;
        let terms = Terms::load(folder, &tokenizer, &recipe)?;
        let model = Self {
            name: folder::name(folder),
            folder: folder.to_owned(),
            fingerprint,
            dimensions: recipe.config.hidden_size,
            terms_max: recipe.terms_max,
            terms,
            encoder,
            prompts: recipe.prompts,
        };
        let tried = model.embed(&TRIALS).map_err(|error| match error {
            Error::Inference { reason, .. } => Error::damaged(&folder.join(WEIGHTS), reason),
            other => other,
        })?;
        if tried[0] == tried[1] {
            let reason = "it gives two different texts the same vector";
            return Err(Error::damaged(&folder.join(WEIGHTS), reason));
        }
        Ok(model)
    }

    /// Runs on these instructions instead of the best ones of this machine, where the network runs
    /// on vector instructions at all: to measure each of them. The vectors have the same bits.
    #[must_use]
    pub fn with_kernel(mut self, kernel: Kernel) -> Self {
        self.encoder.set_kernel(kernel);
        self
    }

    /// Loads a model to see whether it works, for [`fetch::import`](crate::fetch::import).
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn check(folder: &Path) -> Result<()> {
        Self::load(folder).map(drop)
    }

    /// The folder's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of components of a vector.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// How many tokens of a text are read, including `[CLS]` and `[SEP]`; the rest is cut.
    pub fn terms_max(&self) -> usize {
        self.terms_max
    }

    /// SHA-256 in hexadecimal over the files and settings that determine a vector. Vectors of
    /// models with different fingerprints must not be compared.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The vector of each text, in the texts' order, each of unit length: of texts that are to be
    /// found. Where the folder's `config_sentence_transformers.json` has a prompt for `document`,
    /// `passage` or `corpus`, or a default prompt, it stands before each text.
    ///
    /// The vector of a text has the same bits whatever other texts it is embedded with and on
    /// however many threads; with a model that candle runs, each component is equal
    /// to 1e-6 (see `docs/models.md`, exactness).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Internal`](crate::ErrorKind::Internal) if the engine fails or returns numbers
    /// that are not finite.
    pub fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.embed_after(&self.prompts.passage, texts)
    }

    /// The vector of each query, as [`embed`](Self::embed) returns those of texts, with the
    /// folder's prompt for `query`, or its default prompt, before each.
    ///
    /// # Errors
    ///
    /// As [`embed`](Self::embed).
    pub fn embed_queries(&self, queries: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.embed_after(&self.prompts.query, queries)
    }

    fn embed_after(&self, prompt: &str, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let failed = |reason: String| Error::Inference { folder: self.folder.clone(), reason };
        let rows = texts
            .iter()
            .map(|text| match prompt {
                "" => self.terms.of(text),
                prompt => self.terms.of(&format!("{prompt}{text}")),
            })
            .collect::<std::result::Result<Vec<_>, _>>()
            .map_err(failed)?;
        let vectors =
            guarded(|| self.encoder.encode(&rows)).and_then(|guarded| guarded).map_err(failed)?;
        vectors.into_iter().map(|vector| unit_length(vector).map_err(failed)).collect()
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("name", &self.name)
            .field("folder", &self.folder)
            .field("fingerprint", &self.fingerprint)
            .field("dimensions", &self.dimensions)
            .field("terms_max", &self.terms_max)
            .finish_non_exhaustive()
    }
}

/// Scales to unit length; rejects a broken model's vectors (not finite, or all zero).
fn unit_length(mut vector: Vec<f32>) -> std::result::Result<Vec<f32>, String> {
    let length =
        vector.iter().map(|&vector| f64::from(vector) * f64::from(vector)).sum::<f64>().sqrt();
    if !length.is_finite() || length < 1e-12 {
        return Err(format!("it returns vectors without a direction (their length is {length})"));
    }
    for number in &mut vector {
        *number = (f64::from(*number) / length) as f32;
    }
    Ok(vector)
}
