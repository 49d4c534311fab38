//! Options. Every one has a usable default.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::{Discovery, Weights};

/// How a project is indexed and ranked.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Which files are indexed, and as which kind.
    pub discovery: Discovery,
    /// Whether to read history and working tree from git, if there is a repository.
    pub git: bool,
    /// Threads of a scan, including the caller's; at least 1.
    pub threads: usize,
    /// How many chunks have a vector in memory; documents and files that change often come first.
    /// The default of 30,000 takes about 35 MB at 384 dimensions.
    pub vectors_max: usize,
    /// The data folder of another worktree of the same project: its vectors are used as well, and
    /// never written.
    pub vectors_beside: Option<PathBuf>,
    /// The model that computes vectors; without one, search is lexical.
    pub embedder: Option<Embedder>,
    /// The weights of the signals.
    pub weights: Weights,
}

impl Options {
    /// The same with these rules about which files are indexed.
    #[must_use]
    pub fn with_discovery(self, discovery: Discovery) -> Self {
        Self { discovery, ..self }
    }

    /// The same with this number of threads for a scan.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// The same with the vectors of another worktree, by its data folder.
    #[must_use]
    pub fn with_vectors_beside(self, data: impl Into<Option<PathBuf>>) -> Self {
        Self { vectors_beside: data.into(), ..self }
    }

    /// The same with these weights of the signals.
    #[must_use]
    pub fn with_weights(self, weights: Weights) -> Self {
        Self { weights, ..self }
    }

    /// The same without history and working tree.
    #[must_use]
    pub fn without_git(self) -> Self {
        Self { git: false, ..self }
    }

    /// The same with a model that makes vectors.
    #[must_use]
    pub fn with_embedder(self, embedder: Embedder) -> Self {
        Self { embedder: Some(embedder), ..self }
    }

    /// The same with this limit on vectors in memory.
    #[must_use]
    pub fn with_vectors_max(self, vectors_max: usize) -> Self {
        Self { vectors_max, ..self }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            discovery: Discovery::default(),
            git: true,
            threads: 2,
            vectors_max: 30_000,
            vectors_beside: None,
            embedder: None,
            weights: Weights::default(),
        }
    }
}

/// Computes a vector for each text, or returns an error message.
pub type EmbedFn = Arc<dyn Fn(&[&str]) -> Result<Vec<Vec<f32>>, String> + Send + Sync>;

/// A model and the closure that runs it.
#[derive(Clone)]
pub struct Embedder {
    /// Identifies the model's files: vectors of different fingerprints are never compared.
    pub fingerprint: String,
    /// The length of its vectors.
    pub dimensions: usize,
    /// The closure. It is called from the thread that computes vectors; no query waits for it.
    pub embed: EmbedFn,
}

impl fmt::Debug for Embedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedder")
            .field("fingerprint", &self.fingerprint)
            .field("dimensions", &self.dimensions)
            .finish_non_exhaustive()
    }
}
