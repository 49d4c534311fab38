//! ModernBERT (Benjamin Warner et al., *Smarter, Better, Faster, Longer*, 2024): norms before each
//! step, rotated positions, and layers in which tokens attend only to near ones.

use candle_core::{D, Device, Result, Tensor};
use candle_nn::rotary_emb::rope;
use candle_nn::{Embedding, LayerNorm, LayerNormConfig, Linear, Module, VarBuilder};

use super::batch::{Batch, MASKED};
use super::general::{activate, attend};
use crate::recipe::{Activation, Config, LayerType};

/// The network.
pub(super) struct Modern {
    words: Embedding,
    norm: LayerNorm,
    layers: Vec<Layer>,
    last_norm: LayerNorm,
    heads: usize,
    head: usize,
    activation: Activation,
    distance_max: usize,
    thetas: [f64; 2],
}

struct Layer {
    kind: LayerType,
    /// The first layer has none.
    attention_norm: Option<LayerNorm>,
    attention: Linear,
    attended: Linear,
    inner_norm: LayerNorm,
    inner: Linear,
    outer: Linear,
}

/// What the layers of one kind share: cosines, sines and the mask.
struct Shared {
    turns: [Tensor; 2],
    mask: Tensor,
}

impl Modern {
    pub(super) fn load(tensors: &VarBuilder<'_>, config: &Config) -> Result<Self> {
        let layer = |at| Layer::load(&tensors.pp(format!("layers.{at}")), at, config);
        let embeddings = tensors.pp("embeddings");
        let words = embeddings.pp("tok_embeddings");
        Ok(Self {
            words: candle_nn::embedding(config.vocab_size, config.hidden_size, words)?,
            norm: norm(&embeddings.pp("norm"), config)?,
            layers: (0..config.num_hidden_layers).map(layer).collect::<Result<_>>()?,
            last_norm: norm(&tensors.pp("final_norm"), config)?,
            heads: config.num_attention_heads,
            head: config.hidden_size / config.num_attention_heads,
            activation: config.hidden_act,
            distance_max: config.modern.distance_max(),
            thetas: [LayerType::Full, LayerType::Sliding].map(|it| config.modern.theta(it)),
        })
    }

    /// The vectors of all tokens, padding included.
    pub(super) fn run(&self, batch: &Batch) -> Result<Tensor> {
        let [full, sliding] = self.thetas;
        let near = near(batch.length, self.distance_max)?;
        let full = Shared { turns: self.turns(full, batch.length)?, mask: batch.mask.clone() };
        let sliding = Shared {
            turns: self.turns(sliding, batch.length)?,
            mask: batch.mask.broadcast_add(&near)?,
        };
        let mut hidden = self.norm.forward(&self.words.forward(&batch.words)?)?;
        for layer in &self.layers {
            let shared = match layer.kind {
                LayerType::Full => &full,
                LayerType::Sliding => &sliding,
            };
            hidden = self.run_layer(layer, &hidden, shared)?;
        }
        self.last_norm.forward(&hidden)
    }

    fn run_layer(&self, layer: &Layer, hidden: &Tensor, shared: &Shared) -> Result<Tensor> {
        let (rows, tokens, _) = hidden.dims3()?;
        let input = match &layer.attention_norm {
            Some(norm) => &norm.forward(hidden)?,
            None => hidden,
        };
        let parts = layer.attention.forward(input)?;
        let parts = parts.reshape((rows, tokens, 3, self.heads, self.head))?;
        // A part's (rows, heads, tokens, width of a head).
        let part = |at| parts.narrow(2, at, 1)?.squeeze(2)?.transpose(1, 2)?.contiguous();
        let [cosines, sines] = &shared.turns;
        let (query, key) = (rope(&part(0)?, cosines, sines)?, rope(&part(1)?, cosines, sines)?);
        let attended = attend(&query, &key, &part(2)?, &shared.mask)?;
        let hidden = (hidden + layer.attended.forward(&attended)?)?;
        let inner = layer.inner.forward(&layer.inner_norm.forward(&hidden)?)?;
        let halves = inner.chunk(2, D::Minus1)?;
        let [input, gate] = halves.as_slice() else {
            return Err(candle_core::Error::msg("a gated step has an odd width"));
        };
        let inner = (activate(self.activation, &input.contiguous()?)? * gate.contiguous()?)?;
        &hidden + layer.outer.forward(&inner)?
    }

    /// Cosines and sines of the angles by which each position turns each pair of numbers (Jianlin Su
    /// et al., *RoFormer*, 2021, equation 15).
    fn turns(&self, theta: f64, length: usize) -> Result<[Tensor; 2]> {
        let pairs = self.head / 2;
        let speed = |pair: usize| (1.0 / theta.powf(2.0 * pair as f64 / self.head as f64)) as f32;
        let speeds: Vec<f32> = (0..pairs).map(speed).collect();
        let angles = (0..length).flat_map(|at| speeds.iter().map(move |speed| at as f32 * speed));
        let angles: Vec<f32> = angles.collect();
        let angles = Tensor::from_vec(angles, (length, pairs), &Device::Cpu)?;
        Ok([angles.cos()?, angles.sin()?])
    }
}

impl Layer {
    fn load(tensors: &VarBuilder<'_>, at: usize, config: &Config) -> Result<Self> {
        let (width, inner) = (config.hidden_size, config.intermediate_size);
        let modern = &config.modern;
        let linear = |from, to, bias, name| candle_nn::linear_b(from, to, bias, tensors.pp(name));
        let attention_norm = (at > 0).then(|| norm(&tensors.pp("attn_norm"), config));
        Ok(Self {
            kind: modern.layer_type(at),
            attention_norm: attention_norm.transpose()?,
            attention: linear(width, 3 * width, modern.attention_bias, "attn.Wqkv")?,
            attended: linear(width, width, modern.attention_bias, "attn.Wo")?,
            inner_norm: norm(&tensors.pp("mlp_norm"), config)?,
            inner: linear(width, 2 * inner, modern.mlp_bias, "mlp.Wi")?,
            outer: linear(inner, width, modern.mlp_bias, "mlp.Wo")?,
        })
    }
}

pub(super) fn norm(tensors: &VarBuilder<'_>, config: &Config) -> Result<LayerNorm> {
    let affine = config.modern.norm_bias;
    let settings = LayerNormConfig { eps: config.layer_norm_eps, affine, ..Default::default() };
    candle_nn::layer_norm(config.hidden_size, settings, tensors.clone())
}

/// [`MASKED`] for tokens further apart than `distance_max`.
fn near(terms: usize, distance_max: usize) -> Result<Tensor> {
    let distance =
        |from: usize, to: usize| if from.abs_diff(to) > distance_max { MASKED } else { 0.0 };
    let numbers = (0..terms).flat_map(|from| (0..terms).map(move |to| distance(from, to)));
    Tensor::from_vec(numbers.collect::<Vec<f32>>(), (1, 1, terms, terms), &Device::Cpu)
}
