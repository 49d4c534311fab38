//! Checks of files on disk that need no engine.

use std::io::{BufReader, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::files::{self, CONFIG, TOKENIZER, WEIGHTS};
use crate::weights_file::WeightsFile;
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

/// Checks that the weights are a complete safetensors file of finite numbers of a supported type,
/// without an engine.
pub(super) fn check_weights(path: &Path) -> Result<()> {
    let mut file = BufReader::new(files::open(path)?);
    let length = file.get_ref().metadata().map_err(|error| Error::io("read", path, error))?.len();
    let weights = WeightsFile::read(path, &mut file, length)?;
    weights.check_finite(path, &mut file)
}
