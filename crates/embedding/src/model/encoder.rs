//! The network itself. This is the one place that knows candle: another forward path replaces
//! this file and nothing else.

use std::path::Path;

use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{self, BertModel, HiddenAct};

use crate::files::WEIGHTS;
use crate::recipe::{Activation, Config, Pooling, Recipe};
use crate::{Error, Result};

pub(super) struct Encoder {
    network: BertModel,
    pooling: Pooling,
    dimensions: usize,
}

impl Encoder {
    pub(super) fn load(folder: &Path, weights: Vec<u8>, recipe: &Recipe) -> Result<Self> {
        let path = folder.join(WEIGHTS);
        let tensors = VarBuilder::from_buffered_safetensors(weights, DType::F32, &Device::Cpu)
            .map_err(|error| {
                let reason = format!("it is truncated or not a safetensors file ({error})");
                Error::damaged(&path, reason)
            })?;
        let network =
            BertModel::load(tensors, &network_config(&recipe.config)).map_err(|error| {
                Error::Mismatch {
                    folder: folder.to_owned(),
                    reason: format!("model.safetensors is not what config.json says ({error})"),
                }
            })?;
        Ok(Self { network, pooling: recipe.pooling, dimensions: recipe.config.hidden_size })
    }

    /// The pooled vector of each row, not yet of unit length. Rows have at least one term.
    pub(super) fn encode(&self, rows: &[&[u32]]) -> candle_core::Result<Vec<Vec<f32>>> {
        let longest = rows.iter().map(|row| row.len()).max().unwrap_or(0);
        let mut terms = Vec::with_capacity(rows.len() * longest);
        let mut mask = Vec::with_capacity(rows.len() * longest);
        for row in rows {
            let padding = longest - row.len();
            terms.extend_from_slice(row);
            terms.extend(std::iter::repeat_n(0, padding));
            mask.extend(std::iter::repeat_n(1_u32, row.len()));
            mask.extend(std::iter::repeat_n(0, padding));
        }
        let shape = (rows.len(), longest);
        let terms = Tensor::from_vec(terms, shape, &Device::Cpu)?;
        let mask = Tensor::from_vec(mask, shape, &Device::Cpu)?;
        let hidden = self.network.forward(&terms, &terms.zeros_like()?, Some(&mask))?;
        let hidden = hidden.flatten_all()?.to_vec1::<f32>()?;
        Ok(hidden
            .chunks_exact(longest * self.dimensions)
            .zip(rows)
            .map(|(hidden, row)| self.pool(&hidden[..row.len() * self.dimensions]))
            .collect())
    }

    /// Padding is not in `hidden`, so a mean over it is the masked mean.
    fn pool(&self, hidden: &[f32]) -> Vec<f32> {
        if self.pooling == Pooling::First {
            return hidden[..self.dimensions].to_vec();
        }
        let mut sum = vec![0.0; self.dimensions];
        for term in hidden.chunks_exact(self.dimensions) {
            for (sum, number) in sum.iter_mut().zip(term) {
                *sum += number;
            }
        }
        let count = (hidden.len() / self.dimensions) as f32;
        for number in &mut sum {
            *number /= count;
        }
        sum
    }
}

fn network_config(config: &Config) -> bert::Config {
    bert::Config {
        vocab_size: config.vocab_size,
        hidden_size: config.hidden_size,
        num_hidden_layers: config.num_hidden_layers,
        num_attention_heads: config.num_attention_heads,
        intermediate_size: config.intermediate_size,
        hidden_act: match config.hidden_act {
            Activation::Gelu => HiddenAct::Gelu,
            Activation::GeluTanh => HiddenAct::GeluApproximate,
            Activation::Relu => HiddenAct::Relu,
        },
        max_position_embeddings: config.max_position_embeddings,
        type_vocab_size: config.type_vocab_size,
        layer_norm_eps: config.layer_norm_eps,
        model_type: Some(config.model_type.clone()),
        // The rest is for training.
        ..bert::Config::default()
    }
}
