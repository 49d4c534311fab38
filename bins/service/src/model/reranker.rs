//! The thread that loads the cross-encoder while the service already responds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use waypost_embedding::{CrossEncoder, Error};
use waypost_memory::{Reranker, Store};

use super::priority::Priority;
use crate::error::chain;
use crate::settings::RerankOptions;

/// What the thread needs.
#[derive(Debug)]
pub(crate) struct RerankerLoader {
    pub(crate) options: RerankOptions,
    pub(crate) priority: Arc<Priority>,
    pub(crate) store: Arc<Store>,
}

impl RerankerLoader {
    /// Loads the cross-encoder once. Until then, and if it cannot be loaded, responses say that it
    /// was skipped.
    pub(crate) fn run(self) {
        let candidates = self.options.candidates;
        let absent = Arc::new(|_: &str, _: &[&str]| Err("it is not loaded".to_owned()));
        self.store.set_reranker(Some(Reranker { candidates, score: absent }));
        match CrossEncoder::load(&self.options.folder) {
            Ok(model) => {
                let name = model.name().to_owned();
                self.store.set_reranker(Some(self.reranker(model)));
                tracing::info!(model = name, candidates, "loaded the reranker");
            }
            Err(error) => {
                let error = chain(&error);
                tracing::error!(error, "no reranker: results keep the order of the ranking");
            }
        }
    }

    fn reranker(&self, model: CrossEncoder) -> Reranker {
        let (priority, budget) = (Arc::clone(&self.priority), self.options.budget);
        let was_over = AtomicBool::new(false);
        let score = move |query: &str, passages: &[&str]| {
            let started = Instant::now();
            let scored =
                priority.run(|| model.score(query, passages, &|| started.elapsed() >= budget));
            scored.map_err(|error| {
                let message = chain(&error);
                // Once is enough: the header of each response says it.
                if !matches!(error, Error::OverBudget { .. }) {
                    tracing::error!(error = message, "failed to rerank");
                } else if !was_over.swap(true, Ordering::Relaxed) {
                    tracing::warn!(error = message, ?budget, "reranking exceeds `rerank.budget`");
                }
                message
            })
        };
        Reranker { candidates: self.options.candidates, score: Arc::new(score) }
    }
}
