//! A loaded cross-encoder: reads a query and a passage together and says how well they match.

use std::fmt;
use std::path::{Path, PathBuf};

use super::encoder::Encoder;
use super::folder::{self, Files};
use super::guarded::{engine, guarded};
use super::head::Head;
use super::terms::Terms;
use super::weights::Weights;
use crate::files::WEIGHTS;
use crate::recipe::Recipe;
use crate::{Error, Result};

/// Pairs that are scored between two questions about the budget.
const PAIRS_AT_ONCE: usize = 4;

/// A cross-encoder in memory: a model of the families that [`Model`](crate::Model) runs, with a head
/// that returns one number for a pair of texts.
///
/// `score` takes `&self`, so one cross-encoder serves many threads. It uses threads as
/// [`Model::embed`](crate::Model::embed) does.
pub struct CrossEncoder {
    name: String,
    folder: PathBuf,
    terms: Terms,
    encoder: Encoder,
    head: Head,
}

impl CrossEncoder {
    /// Loads a folder with `config.json`, `tokenizer.json`, `model.safetensors` and, if present,
    /// `tokenizer_config.json` (the maximum length of a pair), and scores one pair as a trial.
    ///
    /// # Errors
    ///
    /// As [`Model::load`](crate::Model::load), and
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged) if the weights have no head for pairs,
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) if it returns more than one number.
    pub fn load(folder: &Path) -> Result<Self> {
        let recipe = Recipe::read_pairs(folder)?;
        let Files { tokenizer, weights, .. } = Files::read(folder)?;
        let load = || {
            let weights = Weights::open(folder, weights, &recipe.config)?;
            let head = Head::load(folder, &weights, &recipe.config)?;
            Ok((Encoder::load(folder, &weights, &recipe)?, head))
        };
        let (encoder, head) = guarded(load)
            .map_err(|panic| Error::damaged(&folder.join(WEIGHTS), panic))
            .flatten()?;
        let terms = Terms::load(folder, &tokenizer, &recipe)?;
        let name = folder::name(folder);
        let model = Self { name, folder: folder.to_owned(), terms, encoder, head };
        model.score("A trial", &["does it give a number?"], &|| false).map_err(
            |error| match error {
                Error::Inference { reason, .. } => Error::damaged(&folder.join(WEIGHTS), reason),
                other => other,
            },
        )?;
        Ok(model)
    }

    /// The folder's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How well each passage matches the query, from 0 to 1, in the passages' order.
    ///
    /// `is_over` says whether the time for it is over; it is asked before every four passages.
    /// Those that are then being scored are completed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) if the time was over before all
    /// passages were scored, [`ErrorKind::Internal`](crate::ErrorKind::Internal) if the engine
    /// fails or returns numbers that are not finite.
    pub fn score(
        &self,
        query: &str,
        passages: &[&str],
        is_over: &dyn Fn() -> bool,
    ) -> Result<Vec<f32>> {
        let mut scores = Vec::with_capacity(passages.len());
        for some in passages.chunks(PAIRS_AT_ONCE) {
            if is_over() {
                let (folder, scored) = (self.folder.clone(), scores.len());
                return Err(Error::OverBudget { folder, scored, passages: passages.len() });
            }
            let more = self.score_some(query, some);
            let failed = |reason| Error::Inference { folder: self.folder.clone(), reason };
            scores.extend(more.map_err(failed)?);
        }
        Ok(scores)
    }

    fn score_some(&self, query: &str, passages: &[&str]) -> Result<Vec<f32>, String> {
        let rows = passages
            .iter()
            .map(|passage| self.terms.of_pair(query, passage))
            .collect::<Result<Vec<_>, _>>()?;
        let run = || self.head.scores(&self.encoder.encode(&rows)?).map_err(|error| engine(&error));
        let scores = guarded(run).flatten()?;
        if scores.iter().all(|score| score.is_finite()) {
            return Ok(scores);
        }
        Err("it returns a score that is not a number".to_owned())
    }
}

impl fmt::Debug for CrossEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, folder, .. } = self;
        f.debug_struct("CrossEncoder")
            .field("name", name)
            .field("folder", folder)
            .finish_non_exhaustive()
    }
}
