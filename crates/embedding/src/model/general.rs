//! The networks of BERT's form over candle, for any width and activation.

use candle_core::{Device, Result, Tensor};
use candle_nn::ops::softmax_last_dim;
use candle_nn::{Embedding, LayerNorm, Linear, Module, VarBuilder};
use waypost_encoder::Relative;

use super::batch::Batch;
use super::names::{LayerNames, layers};
use super::pack;
use crate::recipe::{Activation, Config};

/// The network.
pub(super) struct General {
    words: Embedding,
    positions: Embedding,
    types: Option<Embedding>,
    norm: LayerNorm,
    relative: Option<Relative>,
    layers: Vec<Layer>,
    heads: usize,
    activation: Activation,
}

struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    attended: Linear,
    attended_norm: LayerNorm,
    inner: Linear,
    outer: Linear,
    outer_norm: LayerNorm,
}

impl General {
    pub(super) fn load(tensors: &VarBuilder<'_>, config: &Config) -> Result<Self> {
        let names = layers(config.family)
            .ok_or_else(|| candle_core::Error::msg("the network is not of BERT's form"))?;
        let embeddings = tensors.pp("embeddings");
        let table =
            |count, name| candle_nn::embedding(count, config.hidden_size, embeddings.pp(name));
        let typed = config.type_vocab_size > 0;
        let heads = config.num_attention_heads;
        let relative = names.relative.map(|name| pack::relative(&tensors.pp(name), heads));
        let layers = (0..config.num_hidden_layers)
            .map(|at| Layer::load(&tensors.pp(format!("{}.{at}", names.layers)), &names, config));
        Ok(Self {
            words: table(config.vocab_size, "word_embeddings")?,
            positions: table(config.max_position_embeddings, "position_embeddings")?,
            types: typed
                .then(|| table(config.type_vocab_size, "token_type_embeddings"))
                .transpose()?,
            norm: norm(&embeddings.pp("LayerNorm"), config)?,
            relative: relative.transpose()?,
            layers: layers.collect::<Result<_>>()?,
            heads,
            activation: config.hidden_act,
        })
    }

    /// The vectors of all tokens, padding included.
    pub(super) fn run(&self, batch: &Batch) -> Result<Tensor> {
        let mut hidden = self.words.forward(&batch.words)?;
        hidden = (hidden + self.positions.forward(&batch.positions)?)?;
        if let Some(types) = &self.types {
            hidden = (hidden + types.forward(&batch.types)?)?;
        }
        let mut hidden = self.norm.forward(&hidden)?;
        let mut mask = batch.mask.clone();
        if let Some(relative) = &self.relative {
            mask = mask.broadcast_add(&distances(relative, self.heads, batch.length)?)?;
        }
        for layer in &self.layers {
            hidden = layer.run(&hidden, &mask, self.heads, self.activation)?;
        }
        Ok(hidden)
    }
}

impl Layer {
    fn load(tensors: &VarBuilder<'_>, names: &LayerNames, config: &Config) -> Result<Self> {
        let (width, inner) = (config.hidden_size, config.intermediate_size);
        let linear = |from, to, name| candle_nn::linear(from, to, tensors.pp(name));
        Ok(Self {
            query: linear(width, width, names.query)?,
            key: linear(width, width, names.key)?,
            value: linear(width, width, names.value)?,
            attended: linear(width, width, names.attended)?,
            attended_norm: norm(&tensors.pp(names.attended_norm), config)?,
            inner: linear(width, inner, names.inner)?,
            outer: linear(inner, width, names.outer)?,
            outer_norm: norm(&tensors.pp(names.outer_norm), config)?,
        })
    }

    fn run(
        &self,
        hidden: &Tensor,
        mask: &Tensor,
        heads: usize,
        activation: Activation,
    ) -> Result<Tensor> {
        let [query, key, value] =
            [&self.query, &self.key, &self.value].map(|it| split(&it.forward(hidden)?, heads));
        let attended = self.attended.forward(&attend(&query?, &key?, &value?, mask)?)?;
        let hidden = self.attended_norm.forward(&(hidden + attended)?)?;
        let inner = activate(activation, &self.inner.forward(&hidden)?)?;
        self.outer_norm.forward(&(&hidden + self.outer.forward(&inner)?)?)
    }
}

/// (rows, tokens, width) as (rows, heads, tokens, width of a head).
fn split(hidden: &Tensor, heads: usize) -> Result<Tensor> {
    let (rows, tokens, width) = hidden.dims3()?;
    hidden.reshape((rows, tokens, heads, width / heads))?.transpose(1, 2)?.contiguous()
}

/// Attention over (rows, heads, tokens, width of a head), its heads side by side again.
pub(super) fn attend(
    query: &Tensor,
    key: &Tensor,
    value: &Tensor,
    mask: &Tensor,
) -> Result<Tensor> {
    let (rows, heads, tokens, width) = query.dims4()?;
    let scores = (query.matmul(&key.t()?.contiguous()?)? * (width as f64).powf(-0.5))?;
    let shares = softmax_last_dim(&scores.broadcast_add(mask)?)?;
    shares.matmul(value)?.transpose(1, 2)?.contiguous()?.reshape((rows, tokens, heads * width))
}

pub(super) fn activate(activation: Activation, numbers: &Tensor) -> Result<Tensor> {
    match activation {
        Activation::Gelu => numbers.gelu_erf(),
        Activation::GeluTanh => numbers.gelu(),
        Activation::Relu => numbers.relu(),
    }
}

pub(super) fn norm(tensors: &VarBuilder<'_>, config: &Config) -> Result<LayerNorm> {
    candle_nn::layer_norm(config.hidden_size, config.layer_norm_eps, tensors.clone())
}

/// For each head and pair of tokens, what their distance adds.
fn distances(relative: &Relative, heads: usize, terms: usize) -> Result<Tensor> {
    let mut numbers = Vec::with_capacity(heads * terms * terms);
    for head in 0..heads {
        let all: Vec<f32> = relative.of(head, terms).collect();
        for from in 0..terms {
            numbers.extend_from_slice(&all[terms - 1 - from..][..terms]);
        }
    }
    Tensor::from_vec(numbers, (1, heads, terms, terms), &Device::Cpu)
}
