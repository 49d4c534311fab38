//! The weights of a model folder, and whether they are of the family that `config.json` names.

use std::path::Path;

use candle_core::{DType, Device};
use candle_nn::VarBuilder;

use super::names::{self, Names};
use crate::files::WEIGHTS;
use crate::recipe::{Config, Family};
use crate::{Error, Result, weights_file};

/// A model's tensors.
pub(super) struct Weights {
    /// All of them, with the names of the file.
    pub(super) all: VarBuilder<'static>,
    /// Those of the network without its head.
    pub(super) network: VarBuilder<'static>,
}

impl Weights {
    pub(super) fn open(folder: &Path, bytes: Vec<u8>, config: &Config) -> Result<Self> {
        let path = folder.join(WEIGHTS);
        weights_file::parameters(&path, &bytes)?;
        let all = VarBuilder::from_buffered_safetensors(bytes, DType::F32, &Device::Cpu)
            .map_err(|_| Error::damaged(&path, "it is not in the safetensors format"))?;
        let Names { prefix, mark, .. } = names::of(config.family);
        if all.contains_tensor(mark) {
            return Ok(Self { network: all.clone(), all });
        }
        if all.contains_tensor(&format!("{prefix}.{mark}")) {
            return Ok(Self { network: all.pp(prefix), all });
        }
        let found = Family::all().find(|family| {
            let Names { prefix, mark, .. } = names::of(*family);
            all.contains_tensor(mark) || all.contains_tensor(&format!("{prefix}.{mark}"))
        });
        let found = found
            .map_or(String::new(), |found| format!("; its tensors are those of {}", found.name()));
        let reason = format!(
            "model.safetensors does not match config.json: a model of the family {} \
             has a tensor {mark} or {prefix}.{mark}{found}",
            config.family.name()
        );
        Err(Error::damaged(folder, reason))
    }
}
