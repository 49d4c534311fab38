//! The files of a model folder: names, limits, digests.

use std::fmt::Write as _;
use std::fs::{self, File, Metadata};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::{Error, Result};

pub(crate) const CONFIG: &str = "config.json";
pub(crate) const TOKENIZER: &str = "tokenizer.json";
pub(crate) const WEIGHTS: &str = "model.safetensors";
/// The files that every model folder has.
pub(crate) const REQUIRED: [&str; 3] = [CONFIG, TOKENIZER, WEIGHTS];
pub(crate) const POOLING: &str = "1_Pooling/config.json";
pub(crate) const MODULES: &str = "modules.json";
pub(crate) const SENTENCE: &str = "sentence_bert_config.json";
pub(crate) const PROMPTS: &str = "config_sentence_transformers.json";
pub(crate) const TOKENIZER_SETTINGS: &str = "tokenizer_config.json";
/// The files as verified when the folder was added to the cache; see `fetch::manifest`.
pub(crate) const MANIFEST: &str = "waypost-model.json";

/// Files besides the weights are settings and vocabularies; the largest seen is 17 MB (multilingual
/// tokenizers).
pub(crate) const SETTINGS_BYTES_MAX: u64 = 128 << 20;
/// The largest model of the family has 2.3 GB of weights.
pub(crate) const WEIGHTS_BYTES_MAX: u64 = 8 << 30;

pub(crate) fn bytes_max(file: &str) -> u64 {
    if file == WEIGHTS { WEIGHTS_BYTES_MAX } else { SETTINGS_BYTES_MAX }
}

/// Reads a required file, rejecting one beyond its limit.
pub(crate) fn read(folder: &Path, file: &'static str) -> Result<Vec<u8>> {
    read_optional(folder, file)?
        .ok_or_else(|| Error::MissingFile { folder: folder.to_owned(), file })
}

/// Reads an optional file.
pub(crate) fn read_optional(folder: &Path, file: &str) -> Result<Option<Vec<u8>>> {
    let path = folder.join(file);
    let length = match fs::metadata(&path) {
        Ok(metadata) => {
            check_regular(&path, &metadata)?;
            metadata.len()
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("read", &path, error)),
    };
    if length > bytes_max(file) {
        let limit = bytes_max(file);
        return Err(Error::damaged(&path, format!("it has {length} bytes; the limit is {limit}")));
    }
    fs::read(&path).map(Some).map_err(|error| Error::io("read", &path, error))
}

/// Opens a file for reading.
pub(crate) fn open(path: &Path) -> Result<File> {
    let io = |error| Error::io("read", path, error);
    check_regular(path, &fs::metadata(path).map_err(io)?)?;
    File::open(path).map_err(io)
}

/// Opening a pipe would wait for a writer.
fn check_regular(path: &Path, metadata: &Metadata) -> Result<()> {
    if metadata.is_file() { Ok(()) } else { Err(Error::damaged(path, "it is not a regular file")) }
}

/// The SHA-256 of bytes, in lower-case hexadecimal.
pub(crate) fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The SHA-256 of a file, in lower-case hexadecimal, and its length.
#[cfg(feature = "fetch")]
pub(crate) fn digest_of(path: &Path) -> Result<(String, u64)> {
    use std::io::Read as _;

    let mut file = open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut buffer).map_err(|error| Error::io("read", path, error))?;
        if read == 0 {
            return Ok((hex(&hasher.finalize()), bytes));
        }
        hasher.update(&buffer[..read]);
        bytes += read as u64;
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a String cannot fail");
        text
    })
}
