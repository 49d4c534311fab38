//! The thread that loads the cross-encoder while the service already responds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use waypost_api::{ModelState, RerankerStatus};
use waypost_embedding::{CrossEncoder, Error};
use waypost_memory::{Reranker, Store};

use super::loader::what_is_wrong;
use super::priority::Priority;
use crate::error::chain;
use crate::settings::RerankOptions;

/// The current state of the cross-encoder, if the settings name one.
#[derive(Debug)]
pub(crate) struct RerankerModel(Mutex<Option<RerankerStatus>>);

impl RerankerModel {
    pub(crate) fn new(options: Option<&RerankOptions>) -> Self {
        let loading = |options: &RerankOptions| RerankerStatus {
            name: options.name(),
            state: ModelState::Loading,
            problem: None,
        };
        Self(Mutex::new(options.map(loading)))
    }

    pub(crate) fn status(&self) -> Option<RerankerStatus> {
        self.0.lock().clone()
    }

    fn set(&self, state: ModelState, problem: Option<String>) {
        if let Some(present) = &mut *self.0.lock() {
            present.state = state;
            present.problem = problem;
        }
    }
}

/// What the thread needs.
#[derive(Debug)]
pub(crate) struct RerankerLoader {
    pub(crate) options: RerankOptions,
    pub(crate) model: Arc<RerankerModel>,
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
                self.model.set(ModelState::Ready, None);
                tracing::info!(model = name, candidates, "loaded the reranker");
            }
            Err(error) => {
                self.model.set(ModelState::Missing, Some(problem(&error)));
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

/// The problem and its remedy for the status, without paths of this machine.
fn problem(error: &Error) -> String {
    format!(
        "results keep the order of the ranking, because the model of `rerank.model` {}: name the folder of a cross-encoder there, or remove the setting, then restart the service; its log has the cause",
        what_is_wrong(error)
    )
}
