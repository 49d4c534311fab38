//! Loads the packed form of a network.

use candle_core::{Storage, Tensor};
use candle_nn::VarBuilder;
use waypost_encoder::{Kernel, Layer, Linear, Norm, PANEL, Packed, Relative, f16};

use super::names::layers;
use crate::recipe::{Activation, Config};

/// Each type of text has a row for each position.
const TYPES_MAX: usize = 2;

/// The packed network, if it can run these weights and widths.
pub(super) fn pack(
    tensors: &VarBuilder<'_>,
    config: &Config,
    kernel: Kernel,
) -> candle_core::Result<Option<Packed>> {
    let (width, inner) = (config.hidden_size, config.intermediate_size);
    let head = width / config.num_attention_heads;
    let fits = head.is_multiple_of(PANEL)
        && inner.is_multiple_of(PANEL)
        && config.type_vocab_size <= TYPES_MAX;
    let Some(names) = layers(config.family).filter(|_| fits) else { return Ok(None) };
    if config.hidden_act != Activation::Gelu {
        return Ok(None);
    }
    let embeddings = tensors.pp("embeddings");
    let words = embeddings.get((config.vocab_size, width), "word_embeddings.weight")?;
    let Some(words) = halves(&words)? else { return Ok(None) };
    let shape = (config.max_position_embeddings, width);
    let mut positions = embeddings.get(shape, "position_embeddings.weight")?;
    if config.type_vocab_size > 0 {
        let shape = (config.type_vocab_size, 1, width);
        let types = embeddings.get((shape.0, width), "token_type_embeddings.weight")?;
        positions = positions.unsqueeze(0)?.broadcast_add(&types.reshape(shape)?)?;
    }
    let relative = names.relative.map(|other| relative(&tensors.pp(other), width / head));
    let mut packed = Packed {
        kernel,
        words,
        positions: positions.flatten_all()?.to_vec1()?,
        length_max: config.max_position_embeddings,
        norm: norm(&embeddings.pp("LayerNorm"), config)?,
        layers: Vec::with_capacity(config.num_hidden_layers),
        head,
        relative: relative.transpose()?,
    };
    for index in 0..config.num_hidden_layers {
        let tensors = tensors.pp(format!("{}.{index}", names.layers));
        let parts = [names.query, names.key, names.value].map(|it| tensors.pp(it));
        let (Some(attention_in), Some(attended), Some(up), Some(down)) = (
            linear(&parts, width, width)?,
            linear(&[tensors.pp(names.attended)], width, width)?,
            linear(&[tensors.pp(names.inner)], width, inner)?,
            linear(&[tensors.pp(names.outer)], inner, width)?,
        ) else {
            return Ok(None);
        };
        packed.layers.push(Layer {
            attention: attention_in,
            attended,
            attended_norm: norm(&tensors.pp(names.attended_norm), config)?,
            inner: up,
            outer: down,
            outer_norm: norm(&tensors.pp(names.outer_norm), config)?,
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

/// A tensor as 16-bit floats, if they represent it closely.
fn halves(tensor: &Tensor) -> candle_core::Result<Option<Vec<f16>>> {
    let (storage, _) = tensor.storage_and_layout();
    let Storage::Cpu(numbers) = &*storage else {
        return Err(candle_core::Error::msg("a tensor is not in the processor's memory"));
    };
    Ok(waypost_encoder::halves(numbers.as_slice::<f32>()?))
}

/// The numbers of [`Relative`] for all heads.
pub(super) fn relative(tensors: &VarBuilder<'_>, heads: usize) -> candle_core::Result<Relative> {
    let table = tensors.get((Relative::BUCKETS, heads), "weight")?.flatten_all()?.to_vec1()?;
    Ok(Relative::new(table, heads))
}
