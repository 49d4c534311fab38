//! The head of a cross-encoder: turns the vector of a pair of texts into one number.

use std::path::Path;

use candle_core::{Device, Tensor};
use candle_nn::{LayerNorm, Linear, Module};

use super::general::activate;
use super::guarded::engine;
use super::modern;
use super::names::{self, HeadActivation, Names};
use super::weights::Weights;
use crate::files::CONFIG;
use crate::recipe::{Config, Family};
use crate::{Error, Result};

pub(super) struct Head {
    dense: Linear,
    activation: HeadActivation,
    norm: Option<LayerNorm>,
    out: Linear,
}

impl Head {
    pub(super) fn load(folder: &Path, weights: &Weights, config: &Config) -> Result<Self> {
        let Names { head: [dense, out], head_activation, .. } = names::of(config.family);
        if !weights.all.contains_tensor(&format!("{out}.weight")) {
            let reason = "a cross-encoder has a head for pairs";
            let reason = format!("model.safetensors has no {out}.weight; {reason}");
            return Err(Error::damaged(folder, reason));
        }
        if config.labels() != 1 {
            let labels = config.labels();
            return Err(Error::Unsupported {
                path: folder.join(CONFIG),
                reason: format!(
                    "id2label has {labels} labels; a cross-encoder with 1 is supported"
                ),
            });
        }
        let load = || {
            let (width, tensors) = (config.hidden_size, &weights.all);
            let is_modern = config.family == Family::ModernBert;
            let bias = !is_modern || config.modern.classifier_bias;
            let norm = is_modern.then(|| modern::norm(&tensors.pp("head.norm"), config));
            Ok(Self {
                dense: candle_nn::linear_b(width, width, bias, tensors.pp(dense))?,
                activation: match head_activation {
                    HeadActivation::Of(_) if is_modern => {
                        HeadActivation::Of(config.modern.classifier_activation())
                    }
                    other => other,
                },
                norm: norm.transpose()?,
                out: candle_nn::linear(width, 1, tensors.pp(out))?,
            })
        };
        load().map_err(|error: candle_core::Error| {
            let error = engine(&error);
            let reason = "the head in model.safetensors does not match config.json";
            Error::damaged(folder, format!("{reason} ({error})"))
        })
    }

    /// A number from 0 to 1 for each vector, the logistic function of what the head returns.
    pub(super) fn scores(&self, vectors: &[Vec<f32>]) -> candle_core::Result<Vec<f32>> {
        let width = vectors.first().map_or(0, Vec::len);
        let vectors = Tensor::from_vec(vectors.concat(), (vectors.len(), width), &Device::Cpu)?;
        let mut hidden = self.dense.forward(&vectors)?;
        hidden = match self.activation {
            HeadActivation::Tanh => hidden.tanh()?,
            HeadActivation::Of(activation) => activate(activation, &hidden)?,
        };
        if let Some(norm) = &self.norm {
            hidden = norm.forward(&hidden)?;
        }
        let numbers: Vec<f32> = self.out.forward(&hidden)?.flatten_all()?.to_vec1()?;
        Ok(numbers.into_iter().map(|number| 1.0 / (1.0 + (-number).exp())).collect())
    }
}
