//! A model's weights, loaded and checked, and the network that runs them. Only this module uses
//! candle.
//!
//! There are two forms of the same network. [`Packed`] is fast, and runs nearly every model of the
//! family. candle's `BertModel` runs the rest: other widths and activations, weights that 16-bit
//! floats do not represent, machines without vector instructions.

use std::path::Path;

use candle_core::{DType, Device, Storage, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{self, BertModel, HiddenAct};
use half::f16;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;

use super::math::Norm;
use super::packed::{Layer, Packed};
use super::plan;
use super::product::{Linear, PANEL};
use super::simd::Kernel;
use crate::files::WEIGHTS;
use crate::recipe::{Activation, Config, Pooling, Recipe};
use crate::{Error, Result};

pub(super) struct Encoder {
    network: Network,
    pooling: Pooling,
    dimensions: usize,
}

enum Network {
    Packed(Packed),
    General(BertModel),
}

impl Encoder {
    pub(super) fn load(folder: &Path, weights: Vec<u8>, recipe: &Recipe) -> Result<Self> {
        let path = folder.join(WEIGHTS);
        let tensors = VarBuilder::from_buffered_safetensors(weights, DType::F32, &Device::Cpu)
            .map_err(|error| {
                let reason = format!("it is truncated or not a safetensors file ({error})");
                Error::damaged(&path, reason)
            })?;
        let network = Network::load(tensors, &recipe.config).map_err(|error| Error::Mismatch {
            folder: folder.to_owned(),
            reason: format!("model.safetensors does not match config.json ({error})"),
        })?;
        Ok(Self { network, pooling: recipe.pooling, dimensions: recipe.config.hidden_size })
    }

    /// The pooled vector of each row, in the rows' order, not yet of unit length. Rows have at
    /// least one token.
    pub(super) fn encode(&self, rows: &[Vec<u32>]) -> std::result::Result<Vec<Vec<f32>>, String> {
        match &self.network {
            Network::Packed(network) => {
                let groups = plan::groups(rows);
                let run = |group: &std::ops::Range<usize>| {
                    let rows: Vec<&[u32]> = rows[group.clone()].iter().map(Vec::as_slice).collect();
                    Ok(self.pool(&network.run(&rows)?, &rows))
                };
                let vectors: Vec<Vec<Vec<f32>>> = match groups.as_slice() {
                    [only] => vec![run(only)?],
                    groups => {
                        groups.par_iter().map(run).collect::<std::result::Result<_, String>>()?
                    }
                };
                Ok(vectors.into_iter().flatten().collect())
            }
            Network::General(network) => {
                let mut vectors = vec![Vec::new(); rows.len()];
                for batch in plan::batches(rows) {
                    let terms: Vec<&[u32]> =
                        batch.iter().map(|&row| rows[row].as_slice()).collect();
                    let hidden = run_padded(network, &terms).map_err(|error| error.to_string())?;
                    for (row, vector) in batch.into_iter().zip(self.pool(&hidden, &terms)) {
                        vectors[row] = vector;
                    }
                }
                Ok(vectors)
            }
        }
    }

    /// Pools the token vectors of each row into one vector.
    fn pool(&self, mut hidden: &[f32], rows: &[&[u32]]) -> Vec<Vec<f32>> {
        let mut vectors = Vec::with_capacity(rows.len());
        for row in rows {
            let (terms, rest) = hidden.split_at(row.len() * self.dimensions);
            hidden = rest;
            if self.pooling == Pooling::First {
                vectors.push(terms[..self.dimensions].to_vec());
                continue;
            }
            let mut sum = vec![0.0; self.dimensions];
            for term in terms.chunks_exact(self.dimensions) {
                for (sum, number) in sum.iter_mut().zip(term) {
                    *sum += number;
                }
            }
            let count = row.len() as f32;
            for number in &mut sum {
                *number /= count;
            }
            vectors.push(sum);
        }
        vectors
    }
}

impl Network {
    fn load(tensors: VarBuilder<'_>, config: &Config) -> candle_core::Result<Self> {
        if let Some(kernel) = Kernel::detect()
            && let Some(packed) = pack(&tensors, config, kernel)?
        {
            return Ok(Self::Packed(packed));
        }
        Ok(Self::General(BertModel::load(tensors, &network_config(config))?))
    }
}

/// Runs candle's network over rows, padded to one length, and returns the vectors that are not
/// padding.
fn run_padded(network: &BertModel, rows: &[&[u32]]) -> candle_core::Result<Vec<f32>> {
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
    let hidden = network.forward(&terms, &terms.zeros_like()?, Some(&mask))?;
    let width = hidden.dim(2)?;
    let hidden = hidden.flatten_all()?.to_vec1::<f32>()?;
    let rows = hidden.chunks_exact((longest * width).max(1)).zip(rows);
    Ok(rows.flat_map(|(hidden, row)| &hidden[..row.len() * width]).copied().collect())
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

/// The packed network, if it can run these weights and widths.
fn pack(
    tensors: &VarBuilder<'_>,
    config: &Config,
    kernel: Kernel,
) -> candle_core::Result<Option<Packed>> {
    let (width, inner) = (config.hidden_size, config.intermediate_size);
    let head = width / config.num_attention_heads;
    let fits = head.is_multiple_of(PANEL) && inner.is_multiple_of(PANEL);
    if !fits || config.hidden_act != Activation::Gelu {
        return Ok(None);
    }
    let prefixed = !tensors.contains_tensor("embeddings.word_embeddings.weight");
    let tensors = if prefixed { tensors.pp(&config.model_type) } else { tensors.clone() };
    let embeddings = tensors.pp("embeddings");
    let words = embeddings.get((config.vocab_size, width), "word_embeddings.weight")?;
    let Some(words) = halves(&words)? else { return Ok(None) };
    let types =
        embeddings.get((config.type_vocab_size, width), "token_type_embeddings.weight")?.get(0)?;
    let shape = (config.max_position_embeddings, width);
    let positions = embeddings.get(shape, "position_embeddings.weight")?.broadcast_add(&types)?;
    let mut packed = Packed {
        kernel,
        words,
        positions: positions.flatten_all()?.to_vec1()?,
        norm: norm(&embeddings.pp("LayerNorm"), config)?,
        layers: Vec::with_capacity(config.num_hidden_layers),
        head,
    };
    for index in 0..config.num_hidden_layers {
        let tensors = tensors.pp(format!("encoder.layer.{index}"));
        let attention = tensors.pp("attention");
        let own = attention.pp("self");
        let parts = [own.pp("query"), own.pp("key"), own.pp("value")];
        let (Some(attention_in), Some(attended), Some(up), Some(down)) = (
            linear(&parts, width, width)?,
            linear(&[attention.pp("output.dense")], width, width)?,
            linear(&[tensors.pp("intermediate.dense")], width, inner)?,
            linear(&[tensors.pp("output.dense")], inner, width)?,
        ) else {
            return Ok(None);
        };
        packed.layers.push(Layer {
            attention: attention_in,
            attended,
            attended_norm: norm(&attention.pp("output.LayerNorm"), config)?,
            inner: up,
            outer: down,
            outer_norm: norm(&tensors.pp("output.LayerNorm"), config)?,
        });
    }
    Ok(Some(packed))
}

/// One linear step from parts that have the same input.
fn linear(parts: &[VarBuilder<'_>], from: usize, to: usize) -> candle_core::Result<Option<Linear>> {
    let mut loaded = Vec::with_capacity(parts.len());
    for part in parts {
        let bias = part.get(to, "bias")?.to_vec1::<f32>()?;
        let Some(weights) = halves(&part.get((to, from), "weight")?)? else { return Ok(None) };
        loaded.push((weights, bias));
    }
    let parts = loaded.iter().map(|(weights, bias)| (weights.as_slice(), bias.as_slice()));
    Ok(Some(Linear::pack(from, parts)))
}

fn norm(tensors: &VarBuilder<'_>, config: &Config) -> candle_core::Result<Norm> {
    let norm = candle_nn::layer_norm(config.hidden_size, config.layer_norm_eps, tensors.clone())?;
    let bias = norm.bias().map_or(Ok(Vec::new()), |bias| bias.to_vec1())?;
    Ok(Norm { weight: norm.weight().to_vec1()?, bias, epsilon: config.layer_norm_eps as f32 })
}

/// A tensor as 16-bit floats, if they represent it closely: the error's length is below one part in
/// 2,048 of the tensor's. That holds unless many of its numbers are below 6e-5, or one is above
/// 65,504 or NaN.
fn halves(tensor: &Tensor) -> candle_core::Result<Option<Vec<f16>>> {
    let (storage, _) = tensor.storage_and_layout();
    let Storage::Cpu(numbers) = &*storage else {
        return Err(candle_core::Error::msg("a tensor is not in the processor's memory"));
    };
    let numbers = numbers.as_slice::<f32>()?;
    let mut halves = vec![f16::ZERO; numbers.len()];
    halves.convert_from_f32_slice(numbers);
    let mut again = [0.0; 1024];
    let (mut error, mut whole) = (0.0, 0.0);
    for (numbers, halves) in numbers.chunks(again.len()).zip(halves.chunks(again.len())) {
        let again = &mut again[..halves.len()];
        halves.convert_to_f32_slice(again);
        let (mut errors, mut squares) = ([0.0; 16], [0.0; 16]);
        for (numbers, again) in numbers.chunks(16).zip(again.chunks(16)) {
            for (at, (number, again)) in numbers.iter().zip(again).enumerate() {
                errors[at] += (number - again) * (number - again);
                squares[at] += number * number;
            }
        }
        error += errors.iter().sum::<f32>();
        whole += squares.iter().sum::<f32>();
    }
    Ok((error * 2048_f32.powi(2) < whole).then_some(halves))
}

#[cfg(test)]
mod tests;
