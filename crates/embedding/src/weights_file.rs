//! The tensors of `model.safetensors`.

use std::path::Path;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use crate::{Error, Result};

/// Characters of a tensor's name in a message.
const NAME_CHARS_MAX: usize = 80;
/// The ends of the names of what a network computes with. Published models also have buffers of
/// whole numbers, such as `position_ids`, which no network reads.
const PARAMETERS: [&str; 4] = ["weight", "bias", "gamma", "beta"];

/// Checks that a file is complete and that a network's parameters have a type that is supported, and
/// returns them.
pub(crate) fn parameters<'a>(
    path: &Path,
    bytes: &'a [u8],
) -> Result<Vec<(String, TensorView<'a>)>> {
    let file = SafeTensors::deserialize(bytes).map_err(|error| {
        let error = shown(&error.to_string());
        Error::damaged(path, format!("it is truncated, or not in the safetensors format ({error})"))
    })?;
    let mut parameters = file.tensors();
    parameters.retain(|(name, _)| PARAMETERS.iter().any(|parameter| name.ends_with(parameter)));
    if parameters.is_empty() {
        return Err(Error::damaged(path, "it has no tensors"));
    }
    let is_other =
        |tensor: &TensorView<'_>| !matches!(tensor.dtype(), Dtype::F32 | Dtype::F16 | Dtype::BF16);
    if let Some((name, tensor)) = parameters.iter().find(|(_, tensor)| is_other(tensor)) {
        let reason = format!(
            "the tensor {} has numbers of the type {:?}; supported are F32, F16 and BF16",
            shown(name),
            tensor.dtype()
        );
        return Err(Error::Unsupported { path: path.to_owned(), reason });
    }
    Ok(parameters)
}

/// Checks that a file is complete and that all parameters in it are finite numbers of a supported
/// type, without an engine.
#[cfg(feature = "fetch")]
pub(crate) fn check_finite(folder: &Path) -> Result<()> {
    let path = folder.join(crate::files::WEIGHTS);
    let bytes = crate::files::read(folder, crate::files::WEIGHTS)?;
    let parameters = parameters(&path, &bytes)?;
    match parameters.iter().find(|(_, tensor)| !are_finite(tensor)) {
        Some((name, _)) => {
            let reason =
                format!("the tensor {} has a value that is not a finite number", shown(name));
            Err(Error::damaged(&path, reason))
        }
        None => Ok(()),
    }
}

/// Whether little-endian numbers are finite: an exponent of ones marks the others.
#[cfg(feature = "fetch")]
fn are_finite(tensor: &TensorView<'_>) -> bool {
    let (pairs, _) = tensor.data().as_chunks::<2>();
    let halves =
        |exponent| pairs.iter().all(|pair| u16::from_le_bytes(*pair) & exponent != exponent);
    match tensor.dtype() {
        Dtype::F16 => halves(0x7c00),
        Dtype::BF16 => halves(0x7f80),
        _ => tensor
            .data()
            .as_chunks::<4>()
            .0
            .iter()
            .all(|chunk| f32::from_le_bytes(*chunk).is_finite()),
    }
}

/// A text of a model's file in a message.
pub(crate) fn shown(text: &str) -> String {
    let mut shown: String =
        text.chars().take(NAME_CHARS_MAX).flat_map(char::escape_debug).collect();
    if text.chars().nth(NAME_CHARS_MAX).is_some() {
        shown.push_str("...");
    }
    shown
}
