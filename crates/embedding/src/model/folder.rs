//! The three files of a folder that is about to be loaded.

use std::path::Path;

use crate::Result;
use crate::files::{self, CONFIG, TOKENIZER, WEIGHTS};
use crate::manifest::Manifest;

pub(super) struct Files {
    pub(super) tokenizer: Vec<u8>,
    pub(super) weights: Vec<u8>,
    /// Of `config.json`, `tokenizer.json` and the weights.
    pub(super) digests: [String; 3],
}

impl Files {
    /// Reads the files, and compares them with what was recorded when they came into the cache.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let config = files::read(folder, CONFIG)?;
        let tokenizer = files::read(folder, TOKENIZER)?;
        let weights = files::read(folder, WEIGHTS)?;
        let digests = [files::digest(&config), files::digest(&tokenizer), files::digest(&weights)];
        if let Some(manifest) = Manifest::read(folder)? {
            for (file, digest) in [CONFIG, TOKENIZER, WEIGHTS].into_iter().zip(&digests) {
                manifest.check(folder, file, digest)?;
            }
        }
        Ok(Self { tokenizer, weights, digests })
    }
}

/// The folder's name.
pub(super) fn name(folder: &Path) -> String {
    folder
        .file_name()
        .map_or_else(|| "model".to_owned(), |name| name.to_string_lossy().into_owned())
}
