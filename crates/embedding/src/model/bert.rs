//! BERT itself, as candle has it.

use candle_core::{DType, Result, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{self, BertModel, HiddenAct};

use super::batch::Batch;
use crate::recipe::{Activation, Config};

/// The network.
pub(super) struct Bert(BertModel);

impl Bert {
    pub(super) fn load(tensors: &VarBuilder<'_>, config: &Config) -> Result<Self> {
        BertModel::load(tensors.clone(), &network_config(config)).map(Self)
    }

    /// The vectors of all tokens, padding included.
    pub(super) fn run(&self, batch: &Batch) -> Result<Tensor> {
        let present = batch.mask.eq(0_f32)?.squeeze(1)?.squeeze(1)?.to_dtype(DType::U32)?;
        self.0.forward(&batch.words, &batch.types, Some(&present))
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
        // The rest is for training.
        ..bert::Config::default()
    }
}
