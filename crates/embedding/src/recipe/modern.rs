//! What only ModernBERT's `config.json` has.

use std::path::Path;

use serde::Deserialize;

use super::config::{Activation, Config};
use crate::weights_file::shown;
use crate::{Error, Result};

/// The settings that only ModernBERT has.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "the file's own fields")]
pub(crate) struct Modern {
    pub(crate) attention_bias: bool,
    pub(crate) mlp_bias: bool,
    pub(crate) norm_bias: bool,
    pub(crate) classifier_bias: bool,
    classifier_pooling: Option<String>,
    classifier_activation: Option<Activation>,
    /// Tokens attend to those within half of this.
    local_attention: Option<usize>,
    layer_types: Option<Vec<LayerType>>,
    global_attn_every_n_layers: Option<usize>,
    rope_parameters: Option<RopeOfTypes>,
    global_rope_theta: Option<f64>,
    local_rope_theta: Option<f64>,
}

/// Which tokens a layer's tokens attend to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum LayerType {
    #[serde(rename = "full_attention")]
    Full,
    #[serde(rename = "sliding_attention")]
    Sliding,
}

#[derive(Debug, Clone, Deserialize)]
struct RopeOfTypes {
    full_attention: Option<Rope>,
    sliding_attention: Option<Rope>,
}

#[derive(Debug, Clone, Deserialize)]
struct Rope {
    rope_type: Option<String>,
    rope_theta: Option<f64>,
}

impl Modern {
    /// What each layer attends to: given, or full attention in every n-th layer.
    pub(crate) fn layer_type(&self, layer: usize) -> LayerType {
        let given = self.layer_types.as_ref().and_then(|kind| kind.get(layer).copied());
        let every = self.global_attn_every_n_layers.unwrap_or(3).max(1);
        let by_place =
            if layer.is_multiple_of(every) { LayerType::Full } else { LayerType::Sliding };
        given.unwrap_or(by_place)
    }

    /// The largest distance of tokens that attend to each other in a sliding layer.
    pub(crate) fn distance_max(&self) -> usize {
        self.local_attention.unwrap_or(128) / 2
    }

    /// The base of the angles by which positions turn vectors.
    pub(crate) fn theta(&self, layer: LayerType) -> f64 {
        let (given, older, usual) = match layer {
            LayerType::Full => (self.rope(layer), self.global_rope_theta, 160_000.0),
            LayerType::Sliding => (self.rope(layer), self.local_rope_theta, 10_000.0),
        };
        given.and_then(|given| given.rope_theta).or(older).unwrap_or(usual)
    }

    /// Whether a classifier reads the mean of a text's vectors instead of the first.
    pub(crate) fn classifies_mean(&self) -> bool {
        self.classifier_pooling.as_deref() == Some("mean")
    }

    pub(crate) fn classifier_activation(&self) -> Activation {
        self.classifier_activation.unwrap_or(Activation::Gelu)
    }

    fn rope(&self, layer: LayerType) -> Option<&Rope> {
        let types = self.rope_parameters.as_ref()?;
        match layer {
            LayerType::Full => types.full_attention.as_ref(),
            LayerType::Sliding => types.sliding_attention.as_ref(),
        }
    }

    pub(super) fn check(&self, config: &Config, path: &Path) -> Result<()> {
        let unsupported = |reason| Err(Error::Unsupported { path: path.to_owned(), reason });
        for layer in [LayerType::Full, LayerType::Sliding] {
            let kind = self.rope(layer).and_then(|rope| rope.rope_type.as_deref());
            if let Some(kind) = kind.filter(|kind| *kind != "default") {
                return unsupported(format!(
                    "rope_type \"{}\"; only \"default\" is supported",
                    shown(kind)
                ));
            }
            let theta = self.theta(layer);
            if !(theta.is_finite() && theta > 0.0) {
                let reason = format!("rope_theta is {theta}, expected a positive number");
                return Err(Error::damaged(path, reason));
            }
        }
        if let Some(pooling) = self.classifier_pooling.as_deref()
            && !["cls", "mean"].contains(&pooling)
        {
            return unsupported(format!(
                "classifier_pooling \"{}\"; cls and mean are supported",
                shown(pooling)
            ));
        }
        if self.layer_types.as_ref().is_some_and(|kind| kind.len() != config.num_hidden_layers) {
            let reason = "layer_types and num_hidden_layers differ in number";
            return Err(Error::damaged(path, reason));
        }
        if !(config.hidden_size / config.num_attention_heads).is_multiple_of(2) {
            let reason = "hidden_size / num_attention_heads is odd, and positions need pairs";
            return Err(Error::damaged(path, reason));
        }
        Ok(())
    }
}
