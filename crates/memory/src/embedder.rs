//! The embedding model, as a closure.

use std::fmt;
use std::sync::Arc;

/// Which model makes the vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelInfo {
    /// Its name.
    pub name: String,
    /// Identifies the model's files: vectors of unequal fingerprints are never compared.
    pub fingerprint: String,
    /// The length of its vectors.
    pub dimensions: usize,
}

/// Turns texts into vectors, one for each, or says why it cannot.
pub type EmbedFn = Arc<dyn Fn(&[&str]) -> Result<Vec<Vec<f32>>, String> + Send + Sync>;

/// A model and the closure that runs it.
#[derive(Clone)]
pub struct Embedder {
    /// Which model.
    pub model: ModelInfo,
    /// The closure. It is called without any lock held, from the caller's thread.
    pub embed: EmbedFn,
}

impl fmt::Debug for Embedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedder").field("model", &self.model).finish_non_exhaustive()
    }
}

/// What one [`Store::embed_pending`](crate::Store::embed_pending) did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EmbedProgress {
    /// Memories that have a vector now.
    pub embedded: u64,
    /// Memories whose text the model refused; they are tried again by a backfill or after a
    /// restart.
    pub failed: u64,
    /// Memories that changed or went away meanwhile.
    pub skipped: u64,
    /// Memories that still wait.
    pub pending: u64,
    /// What the model said of the last text that it refused.
    pub last_error: Option<String>,
}
