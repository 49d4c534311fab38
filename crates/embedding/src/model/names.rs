//! What the tensors of each family are called in `model.safetensors`.

use crate::recipe::{Activation, Family};

/// What all families have.
#[derive(Debug)]
pub(super) struct Names {
    /// In the files of a network that has a head, this and a dot are before the network's names.
    pub(super) prefix: &'static str,
    /// A tensor of every network of the family.
    pub(super) mark: &'static str,
    /// The head for pairs of texts: a linear step, an activation, and the step to the one output.
    pub(super) head: [&'static str; 2],
    pub(super) head_activation: HeadActivation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeadActivation {
    Tanh,
    Of(Activation),
}

/// The layers of the families that normalise after each step, as BERT does.
#[derive(Debug)]
pub(super) struct LayerNames {
    /// Before a layer's number.
    pub(super) layers: &'static str,
    pub(super) query: &'static str,
    pub(super) key: &'static str,
    pub(super) value: &'static str,
    pub(super) attended: &'static str,
    pub(super) attended_norm: &'static str,
    pub(super) inner: &'static str,
    pub(super) outer: &'static str,
    pub(super) outer_norm: &'static str,
    /// What attention adds for the distance of two tokens.
    pub(super) relative: Option<&'static str>,
}

pub(super) fn of(family: Family) -> Names {
    let bert = Names {
        prefix: "bert",
        mark: "encoder.layer.0.attention.self.query.weight",
        head: ["bert.pooler.dense", "classifier"],
        head_activation: HeadActivation::Tanh,
    };
    let head = ["classifier.dense", "classifier.out_proj"];
    match family {
        Family::Bert => bert,
        Family::Roberta => Names { prefix: "roberta", head, ..bert },
        Family::Mpnet => {
            Names { prefix: "mpnet", mark: "encoder.layer.0.attention.attn.q.weight", head, ..bert }
        }
        Family::DistilBert => Names {
            prefix: "distilbert",
            mark: "transformer.layer.0.attention.q_lin.weight",
            head: ["pre_classifier", "classifier"],
            head_activation: HeadActivation::Of(Activation::Relu),
        },
        Family::ModernBert => Names {
            prefix: "model",
            mark: "layers.0.attn.Wqkv.weight",
            head: ["head.dense", "classifier"],
            head_activation: HeadActivation::Of(Activation::Gelu),
        },
    }
}

/// The names inside a layer, or `None` for a family whose network is not of BERT's form.
pub(super) fn layers(family: Family) -> Option<LayerNames> {
    let bert = LayerNames {
        layers: "encoder.layer",
        query: "attention.self.query",
        key: "attention.self.key",
        value: "attention.self.value",
        attended: "attention.output.dense",
        attended_norm: "attention.output.LayerNorm",
        inner: "intermediate.dense",
        outer: "output.dense",
        outer_norm: "output.LayerNorm",
        relative: None,
    };
    match family {
        Family::Bert | Family::Roberta => Some(bert),
        Family::Mpnet => Some(LayerNames {
            query: "attention.attn.q",
            key: "attention.attn.k",
            value: "attention.attn.v",
            attended: "attention.attn.o",
            attended_norm: "attention.LayerNorm",
            relative: Some("encoder.relative_attention_bias"),
            ..bert
        }),
        Family::DistilBert => Some(LayerNames {
            layers: "transformer.layer",
            query: "attention.q_lin",
            key: "attention.k_lin",
            value: "attention.v_lin",
            attended: "attention.out_lin",
            attended_norm: "sa_layer_norm",
            inner: "ffn.lin1",
            outer: "ffn.lin2",
            outer_norm: "output_layer_norm",
            relative: None,
        }),
        Family::ModernBert => None,
    }
}
