//! The cross-encoder that orders the best hits again, as a closure.

use std::fmt;
use std::sync::Arc;

/// Says how well each passage matches a query, from 0 to 1, or why it did not.
pub type ScoreFn = Arc<dyn Fn(&str, &[&str]) -> Result<Vec<f32>, String> + Send + Sync>;

/// A cross-encoder, and how many hits it orders.
#[derive(Clone)]
pub struct Reranker {
    /// The number of best hits that it orders.
    pub candidates: usize,
    /// The closure. It is called on the searching thread while no lock is held, and should return an
    /// error where it takes too long.
    pub score: ScoreFn,
}

impl fmt::Debug for Reranker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { candidates, .. } = self;
        f.debug_struct("Reranker").field("candidates", candidates).finish_non_exhaustive()
    }
}
