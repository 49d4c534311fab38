//! Checks of files on disk that need no engine.

use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::files::{self, CONFIG, TOKENIZER, WEIGHTS};
use crate::{Error, Result};

/// The files that every model folder has.
pub(super) const REQUIRED: [&str; 3] = [CONFIG, TOKENIZER, WEIGHTS];

/// The SHA-256 of a file, in lower-case hexadecimal, and its length.
pub(super) fn digest_file(path: &Path) -> Result<(String, u64)> {
    let mut file = files::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut buffer).map_err(|error| Error::io("read", path, error))?;
        if read == 0 {
            return Ok((files::hex(&hasher.finalize()), bytes));
        }
        hasher.update(&buffer[..read]);
        bytes += read as u64;
    }
}

/// Checks that the weights are a complete safetensors file: a header whose tensors end exactly
/// where the file does. Detects truncation without an engine and without reading the tensors.
pub(super) fn check_weights(path: &Path) -> Result<()> {
    #[derive(serde::Deserialize)]
    struct Tensor {
        data_offsets: (u64, u64),
    }
    /// The format's own readers also reject longer headers.
    const HEADER_BYTES_MAX: u64 = 100 << 20;

    let io = |error| Error::io("read", path, error);
    let mut file = files::open(path)?;
    let length = file.metadata().map_err(io)?.len();
    let mut prefix = [0; 8];
    if length < 8 {
        return Err(Error::damaged(path, format!("it has {length} bytes and no header")));
    }
    file.read_exact(&mut prefix).map_err(io)?;
    let header_bytes = u64::from_le_bytes(prefix);
    if header_bytes > HEADER_BYTES_MAX || header_bytes > length - 8 {
        return Err(Error::damaged(path, "it is truncated or not a safetensors file"));
    }
    let mut header = vec![0; header_bytes as usize];
    file.read_exact(&mut header).map_err(io)?;
    let tensors: std::collections::BTreeMap<String, serde_json::Value> =
        serde_json::from_slice(&header)
            .map_err(|error| Error::damaged(path, format!("its header is not JSON ({error})")))?;
    let mut end = 0;
    for (name, value) in tensors {
        if name == "__metadata__" {
            continue;
        }
        let tensor: Tensor = serde_json::from_value(value).map_err(|error| {
            Error::damaged(path, format!("its header has an invalid entry {name} ({error})"))
        })?;
        end = end.max(tensor.data_offsets.1);
    }
    let expected = (8 + header_bytes).saturating_add(end);
    if end == 0 || length != expected {
        return Err(Error::damaged(
            path,
            format!("it has {length} bytes where its header says {expected}"),
        ));
    }
    Ok(())
}
