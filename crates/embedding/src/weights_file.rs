//! The header of a safetensors file: which tensors it has, of which type, and where.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;

use serde_json::Value;

use crate::{Error, Result};

/// The format's own readers also reject longer headers.
const HEADER_BYTES_MAX: u64 = 100 << 20;
/// Characters of a tensor's name in a message.
const NAME_CHARS_MAX: usize = 80;
/// The ends of the names of what a network computes with. Published models also have buffers of
/// whole numbers, such as `position_ids`, which no network reads.
const PARAMETERS: [&str; 4] = ["weight", "bias", "gamma", "beta"];

/// The type of a tensor's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dtype {
    F32,
    F16,
    Bf16,
    /// One that no network computes with.
    Other,
}

/// A tensor that a network computes with.
#[derive(Debug)]
struct Tensor {
    name: String,
    dtype: Dtype,
    start: u64,
    end: u64,
}

/// The tensors that a network computes with, in the order of their bytes.
#[derive(Debug)]
pub(crate) struct WeightsFile {
    tensors: Vec<Tensor>,
}

impl WeightsFile {
    /// Reads the header of a file with that many bytes, and checks that the tensors fill the rest
    /// of the file, and that those with a network's parameters have a type that is supported.
    pub(crate) fn read(path: &Path, file: &mut impl Read, length: u64) -> Result<Self> {
        let damaged = |reason: String| Error::damaged(path, reason);
        let io = |error| Error::io("read", path, error);
        if length < 8 {
            return Err(damaged(format!("it has {length} bytes; a safetensors file has a header")));
        }
        let mut prefix = [0; 8];
        file.read_exact(&mut prefix).map_err(io)?;
        let header_bytes = u64::from_le_bytes(prefix);
        if header_bytes > HEADER_BYTES_MAX || header_bytes > length - 8 {
            let reason = "it is truncated, or not in the safetensors format";
            return Err(damaged(reason.to_owned()));
        }
        let mut header = vec![0; header_bytes as usize];
        file.read_exact(&mut header).map_err(io)?;
        let header: BTreeMap<String, Value> = serde_json::from_slice(&header).map_err(|_| {
            damaged("it is not in the safetensors format: its header is no JSON object".to_owned())
        })?;
        let mut tensors = Vec::new();
        let mut spans = Vec::new();
        for (name, entry) in header.into_iter().filter(|(name, _)| name != "__metadata__") {
            let (tensor, dtype) = tensor(name, &entry).map_err(damaged)?;
            spans.push((tensor.start, tensor.end));
            if !PARAMETERS.iter().any(|it| tensor.name.ends_with(it)) {
                continue;
            }
            if tensor.dtype == Dtype::Other {
                let reason = format!(
                    "the tensor {} has numbers of the type {}; supported are F32, F16 and BF16",
                    shown(&tensor.name),
                    shown(&dtype)
                );
                return Err(Error::Unsupported { path: path.to_owned(), reason });
            }
            tensors.push(tensor);
        }
        check_spans(spans, length - 8 - header_bytes).map_err(damaged)?;
        tensors.sort_by_key(|it| it.start);
        Ok(Self { tensors })
    }

    /// Checks that all parameters are finite numbers. `numbers` is the file after its header.
    pub(crate) fn check_finite(&self, path: &Path, numbers: &mut impl Read) -> Result<()> {
        let io = |error| Error::io("read", path, error);
        let mut buffer = vec![0; 1 << 20];
        let mut at = 0;
        for tensor in &self.tensors {
            io::copy(&mut numbers.take(tensor.start - at), &mut io::sink()).map_err(io)?;
            let mut left = tensor.end - tensor.start;
            while left > 0 {
                let part = &mut buffer[..left.min(1 << 20) as usize];
                numbers.read_exact(part).map_err(io)?;
                left -= part.len() as u64;
                if !tensor.dtype.are_finite(part) {
                    let name = shown(&tensor.name);
                    let reason =
                        format!("the tensor {name} has a value that is not a finite number");
                    return Err(Error::damaged(path, reason));
                }
            }
            at = tensor.end;
        }
        Ok(())
    }
}

impl Dtype {
    /// Whether these little-endian numbers are finite: an exponent of ones marks the others.
    fn are_finite(self, bytes: &[u8]) -> bool {
        let halves = |exponent: u16| {
            bytes
                .chunks_exact(2)
                .all(|it| u16::from_le_bytes([it[0], it[1]]) & exponent != exponent)
        };
        match self {
            Self::F32 => bytes
                .chunks_exact(4)
                .all(|it| f32::from_le_bytes([it[0], it[1], it[2], it[3]]).is_finite()),
            Self::F16 => halves(0x7c00),
            Self::Bf16 => halves(0x7f80),
            Self::Other => true,
        }
    }
}

/// Reads an entry of the header; also returns the name of its type.
fn tensor(name: String, entry: &Value) -> std::result::Result<(Tensor, String), String> {
    let invalid = |what: &str| {
        format!("it is not in the safetensors format: the entry {} has {what}", shown(&name))
    };
    let dtype = entry.get("dtype").and_then(Value::as_str).ok_or_else(|| invalid("no dtype"))?;
    let offsets = entry.get("data_offsets").and_then(Value::as_array);
    let [start, end] = offsets.map_or([None, None], |it| [0, 1].map(|at| it.get(at)?.as_u64()));
    let (Some(start), Some(end)) = (start, end) else { return Err(invalid("no data_offsets")) };
    let shape = entry.get("shape").and_then(Value::as_array);
    let shape = shape.ok_or_else(|| invalid("no shape"))?;
    let count = shape.iter().try_fold(1_u64, |all, it| all.checked_mul(it.as_u64()?));
    let (known, width) = match dtype {
        "F32" => (Dtype::F32, Some(4)),
        "F16" => (Dtype::F16, Some(2)),
        "BF16" => (Dtype::Bf16, Some(2)),
        _ => (Dtype::Other, None),
    };
    let needed = count.and_then(|it| it.checked_mul(width.unwrap_or(1)));
    let bytes = end.checked_sub(start).ok_or_else(|| invalid("an end before its start"))?;
    if needed.is_none() || width.is_some() && needed != Some(bytes) {
        return Err(invalid("a shape that its bytes do not have"));
    }
    let dtype = dtype.to_owned();
    Ok((Tensor { name, dtype: known, start, end }, dtype))
}

/// Checks that the tensors fill the bytes after the header, without gaps.
fn check_spans(mut spans: Vec<(u64, u64)>, bytes: u64) -> std::result::Result<(), String> {
    spans.sort_unstable();
    let mut at = 0;
    for (start, end) in spans {
        if start != at {
            return Err(
                "it is not in the safetensors format: its tensors overlap or leave gaps".to_owned()
            );
        }
        at = end;
    }
    match at.cmp(&bytes) {
        std::cmp::Ordering::Greater => Err(format!(
            "it is truncated: its header describes {at} bytes of tensors, and {bytes} follow it"
        )),
        std::cmp::Ordering::Less => Err(format!(
            "it is not in the safetensors format: its header describes {at} bytes of tensors, and \
             {bytes} follow it"
        )),
        std::cmp::Ordering::Equal if at == 0 => Err("it has no tensors".to_owned()),
        std::cmp::Ordering::Equal => Ok(()),
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
