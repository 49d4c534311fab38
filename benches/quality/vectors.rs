//! Vectors of the real model, kept in a file so that a second run need not compute them again.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};
use waypost_embedding::Model;
use waypost_memory::{Embedder, ModelInfo};

type Key = [u8; 32];

/// A model whose answers are remembered by the hash of the text.
pub(crate) struct CachedModel {
    model: Model,
    cache: Mutex<Cache>,
}

struct Cache {
    vectors: HashMap<Key, Vec<f32>>,
    file: File,
}

impl CachedModel {
    /// Loads the model in `folder`; vectors that it made before are read from `cache_dir`, in a
    /// file named after the model's fingerprint.
    pub(crate) fn load(folder: &Path, cache_dir: &Path) -> Result<Self> {
        let model = Model::load(folder)?;
        fs::create_dir_all(cache_dir)?;
        let path = cache_dir.join(format!("{}.vectors", model.fingerprint()));
        let vectors = read(&path, model.dimensions())?;
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        Ok(Self { model, cache: Mutex::new(Cache { vectors, file }) })
    }

    /// The vectors of these texts.
    pub(crate) fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let keys: Vec<Key> = texts.iter().map(|text| Sha256::digest(text).into()).collect();
        let mut cache = self.lock();
        let missing: Vec<usize> =
            (0..texts.len()).filter(|at| !cache.vectors.contains_key(&keys[*at])).collect();
        let unknown: Vec<&str> = missing.iter().map(|at| texts[*at]).collect();
        for (at, vector) in missing.into_iter().zip(self.model.embed(&unknown)?) {
            let mut record = keys[at].to_vec();
            record.extend(vector.iter().flat_map(|vector| vector.to_le_bytes()));
            cache.file.write_all(&record)?;
            cache.vectors.insert(keys[at], vector);
        }
        Ok(keys.iter().map(|key| cache.vectors[key].clone()).collect())
    }

    /// The model as a store takes it.
    pub(crate) fn embedder(self: &Arc<Self>) -> Embedder {
        let model = ModelInfo {
            name: self.model.name().to_owned(),
            fingerprint: self.model.fingerprint().to_owned(),
            dimensions: self.model.dimensions(),
        };
        let cached = Arc::clone(self);
        let embed = Arc::new(move |texts: &[&str]| {
            cached.embed(texts).map_err(|error| format!("{error:#}"))
        });
        Embedder { model, embed, embed_queries: None }
    }

    fn lock(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(path: &PathBuf, dimensions: usize) -> Result<HashMap<Key, Vec<f32>>> {
    let mut bytes = Vec::new();
    match File::open(path) {
        Ok(mut file) => file.read_to_end(&mut bytes)?,
        Err(_) => return Ok(HashMap::new()),
    };
    let size = 32 + 4 * dimensions;
    ensure!(
        bytes.len().is_multiple_of(size),
        "{} ends in the middle of a vector; delete it",
        path.display()
    );
    bytes
        .chunks_exact(size)
        .map(|record| {
            let (key, vector) = record.split_at(32);
            let vector = vector
                .chunks_exact(4)
                .map(|chunk| Ok(f32::from_le_bytes(chunk.try_into()?)))
                .collect::<Result<Vec<f32>>>()?;
            Ok((Key::try_from(key)?, vector))
        })
        .collect::<Result<_>>()
        .with_context(|| format!("cannot read {}", path.display()))
}
