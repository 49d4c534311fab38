//! What can be set. Everything has a default that serves.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::{Discovery, Weights};

/// How a project is indexed and ranked.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which files are indexed, and as what.
    pub discovery: Discovery,
    /// Whether history and working tree are read from git, where there is one.
    pub git: bool,
    /// Threads of a scan, the caller's among them; at least 1.
    pub threads: usize,
    /// How many chunks have a vector in memory; documents and files that change often come first.
    /// 30,000, which take about 35 MB of 384 dimensions.
    pub vectors_max: usize,
    /// The folder of another worktree's data of the same project: its vectors are used, too, and
    /// never written.
    pub vectors_beside: Option<PathBuf>,
    /// The model that makes vectors; without one, only words count.
    pub embedder: Option<Embedder>,
    /// What counts how much.
    pub weights: Weights,
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

/// Turns texts into vectors, one for each, or says why it cannot.
pub type EmbedFn = Arc<dyn Fn(&[&str]) -> Result<Vec<Vec<f32>>, String> + Send + Sync>;

/// A model and the closure that runs it.
#[derive(Clone)]
pub struct Embedder {
    /// Identifies the model's files: vectors of unequal fingerprints are never compared.
    pub fingerprint: String,
    /// The length of its vectors.
    pub dimensions: usize,
    /// The closure. It is called from the thread that makes vectors; no query waits for it.
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
