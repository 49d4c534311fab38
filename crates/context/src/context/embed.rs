//! Vectors: switching models, and computing missing vectors in small batches.

use std::cmp::Reverse;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use waypost_ranking::{Slot, VectorIndex};

use super::Context;
use crate::texts::Hash;
use crate::vectors::Vectors;
use crate::{EmbedProgress, Embedder, Error, Result, Source};

/// Vectors inserted at once; queries run between these batches.
const AT_ONCE: usize = 256;

/// The model in use, and the chunks that wait for it.
#[derive(Debug)]
pub(super) struct Model {
    embedder: Embedder,
    vectors: Vectors,
    beside: Option<Vectors>,
    /// Chunks that lack a vector, most important first.
    waiting: VecDeque<(Slot, Hash)>,
    /// The index version at which they were listed.
    listed_at: Option<u64>,
    /// Texts that the model rejected.
    refused: HashSet<Hash>,
}

impl Context {
    /// Switches to a model, or to none. Stored vectors of exactly this model are reused; those of
    /// another model stay on disk, and are never compared with them.
    pub fn set_embedder(&self, embedder: Option<Embedder>) -> Result<()> {
        let mut model = self.model.lock();
        self.lacking.store(0, Ordering::Relaxed);
        let Some(embedder) = embedder else {
            *model = None;
            self.index.write().vectors = None;
            return Ok(());
        };
        let Embedder { fingerprint, dimensions, .. } = &embedder;
        let index = VectorIndex::new(*dimensions);
        let index = index.map_err(|error| Error::Embedding(error.to_string()))?;
        let vectors = Vectors::open(&self.dir.join("vectors"), fingerprint, *dimensions)?;
        let beside = self.options.vectors_beside.as_ref();
        let beside = beside
            .and_then(|other| Vectors::beside(&other.join("vectors"), fingerprint, *dimensions));
        *model = Some(Model {
            embedder,
            vectors,
            beside,
            waiting: VecDeque::new(),
            listed_at: None,
            refused: HashSet::new(),
        });
        self.index.write().vectors = Some(index);
        Ok(())
    }

    /// Computes up to `limit` missing vectors: documents first, then files that change often. Does
    /// nothing without a model. Vectors of texts that were embedded before are read from disk and
    /// cost nothing.
    ///
    /// # Errors
    /// If the model fails for every text, or the disk fails.
    pub fn embed_pending(&self, limit: usize) -> Result<EmbedProgress> {
        let mut held = self.model.lock();
        let Some(model) = held.as_mut() else { return Ok(EmbedProgress::default()) };
        self.list(model);
        let mut progress = EmbedProgress::default();
        let mut batch: Vec<(Slot, Hash, String)> = Vec::new();
        while batch.len() < limit {
            let Some((slot, meaning)) = model.waiting.pop_front() else { break };
            if let Some(text) = self.text_of(slot, &meaning) {
                batch.push((slot, meaning, text));
            }
        }
        let texts: Vec<&str> = batch.iter().map(|batch| batch.2.as_str()).collect();
        self.lacking.store((batch.len() + model.waiting.len()) as u64, Ordering::Relaxed);
        let vectors = made(&model.embedder, &texts, &mut progress).inspect_err(|_| {
            // They are still waiting.
            model.listed_at = None;
        })?;
        let mut found = Vec::new();
        for ((slot, meaning, _), vector) in batch.iter().zip(vectors) {
            match vector {
                Some(vector) => found.push((*slot, *meaning, vector)),
                None => {
                    model.refused.insert(*meaning);
                }
            }
        }
        model.vectors.append(found.iter().map(|(_, meaning, vector)| (meaning, &vector[..])))?;
        progress.embedded = self.install(&found);
        progress.pending = model.waiting.len() as u64;
        self.lacking.store(progress.pending, Ordering::Relaxed);
        Ok(progress)
    }

    pub(super) fn sync_vectors(&self) -> Result<()> {
        self.model.lock().as_mut().map_or(Ok(()), |model| model.vectors.sync())
    }

    /// Lists the chunks that lack a vector, if the index has changed; inserts stored vectors at
    /// once.
    fn list(&self, model: &mut Model) {
        let version = self.version.load(Ordering::Acquire);
        if model.listed_at == Some(version) {
            return;
        }
        let mut lacking = Vec::new();
        let mut room = self.options.vectors_max;
        {
            let index = self.index.read();
            let Some(vectors) = &index.vectors else { return };
            room = room.saturating_sub(vectors.len());
            for (slot, chunk) in index.chunks().filter(|chunk| !vectors.contains(chunk.0)) {
                let Some(file) = index.file(chunk.file) else { continue };
                let is_code = chunk.kind.source() == Source::Code;
                let is_late = file.prior.test || file.prior.generated;
                let order = (is_code, is_late, Reverse(file.frecency.to_bits()), slot);
                lacking.push((order, chunk.meaning));
            }
        }
        lacking.sort_unstable();
        let (mut stored, mut waiting) = (Vec::new(), VecDeque::new());
        let wanted =
            lacking.into_iter().filter(|lacking| !model.refused.contains(&lacking.1)).take(room);
        for ((.., slot), meaning) in wanted {
            let beside = || model.beside.as_ref().and_then(|beside| beside.get(&meaning));
            match model.vectors.get(&meaning).or_else(beside) {
                Some(vector) => stored.push((slot, meaning, vector)),
                None => waiting.push_back((slot, meaning)),
            }
            if stored.len() == AT_ONCE {
                self.install(&stored);
                stored.clear();
            }
        }
        self.install(&stored);
        (model.waiting, model.listed_at) = (waiting, Some(version));
    }

    /// The text of a chunk's vector, if the chunk still has this meaning.
    fn text_of(&self, slot: Slot, meaning: &Hash) -> Option<String> {
        let (texts, hash, at) = {
            let index = self.index.read();
            let chunk = index.chunk(slot).filter(|chunk| chunk.meaning == *meaning)?;
            let file = index.file(chunk.file)?;
            (Arc::clone(&self.texts.read()), file.hash, chunk.text)
        };
        texts.read(&hash, at).map(|chunk| chunk.embedded())
    }

    /// Inserts vectors whose chunks are unchanged; returns how many.
    fn install(&self, vectors: &[(Slot, Hash, Vec<f32>)]) -> u64 {
        let mut index = self.index.write();
        let mut count = 0;
        for (slot, meaning, vector) in vectors {
            let is_same = index.chunk(*slot).is_some_and(|chunk| chunk.meaning == *meaning);
            if is_same && let Some(vectors) = &mut index.vectors {
                count += u64::from(vectors.insert(*slot, vector).is_ok());
            }
        }
        count
    }
}

/// Runs a model on texts. One that it rejects does not stop the others; if it rejects all of them,
/// the model is at fault.
fn made(
    embedder: &Embedder,
    texts: &[&str],
    progress: &mut EmbedProgress,
) -> Result<Vec<Option<Vec<f32>>>> {
    if texts.is_empty() {
        return Ok(Vec::new());
    }
    let first = match embed(embedder, texts) {
        Ok(vectors) => return Ok(vectors.into_iter().map(Some).collect()),
        Err(error) => error,
    };
    let mut vectors = Vec::new();
    for text in texts {
        let vector = embed(embedder, &[text]).ok().and_then(|mut vectors| vectors.pop());
        progress.failed += u64::from(vector.is_none());
        vectors.push(vector);
    }
    if texts.len() > 1 && vectors.iter().all(Option::is_none) {
        return Err(Error::Embedding(first));
    }
    progress.last_error = Some(first);
    Ok(vectors)
}

fn embed(embedder: &Embedder, texts: &[&str]) -> std::result::Result<Vec<Vec<f32>>, String> {
    let embed = Arc::clone(&embedder.embed);
    let vectors = embed(texts)?;
    if vectors.len() != texts.len() {
        return Err(format!("it returned {} vectors for {} texts", vectors.len(), texts.len()));
    }
    let fits = |it: &Vec<f32>| {
        it.len() == embedder.dimensions
            && it.iter().all(|it| it.is_finite())
            && it.iter().any(|it| *it != 0.0)
    };
    if vectors.iter().all(fits) {
        Ok(vectors)
    } else {
        Err(format!(
            "it returned a vector that is not finite, is zero, or does not have {} dimensions",
            embedder.dimensions
        ))
    }
}
