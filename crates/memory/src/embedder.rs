//! The embedding model, as a closure.

use std::fmt;
use std::sync::Arc;

/// Identifies an embedding model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelInfo {
    /// Its name.
    pub name: String,
    /// Identifies the model's files: vectors with different fingerprints are never compared.
    pub fingerprint: String,
    /// The length of its vectors.
    pub dimensions: usize,
}

/// Computes one vector for each text, or returns why it failed. An empty vector means that it comes
/// later, for example from another machine: the text stays pending.
pub type EmbedFn = Arc<dyn Fn(&[&str]) -> Result<Vec<Vec<f32>>, String> + Send + Sync>;

/// A model and the closure that runs it.
#[derive(Clone)]
pub struct Embedder {
    /// The model.
    pub model: ModelInfo,
    /// The closure. It is called on the caller's thread while no lock is held.
    pub embed: EmbedFn,
    /// The closure for queries, of a model that reads them otherwise than the texts to be found;
    /// `None` if it does not. It is called as `embed` is.
    pub embed_queries: Option<EmbedFn>,
}

impl fmt::Debug for Embedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedder").field("model", &self.model).finish_non_exhaustive()
    }
}

/// The result of one [`Store::embed_pending`](crate::Store::embed_pending).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EmbedProgress {
    /// Memories that were embedded.
    pub embedded: u64,
    /// Memories whose text the model rejected; a backfill or a restart tries them again.
    pub failed: u64,
    /// Memories that were changed or deleted meanwhile.
    pub skipped: u64,
    /// Memories whose vector comes later. They are asked for again after a call that finds no
    /// other pending memory.
    pub later: u64,
    /// Memories that are still pending.
    pub pending: u64,
    /// The model's error for the last rejected text.
    pub last_error: Option<String>,
}
