//! The thread that embeds new texts: memories first, then chunks of the project.

use std::sync::Arc;
use std::time::Duration;

use waypost_memory::Store;

use super::EmbeddingModel;
use super::priority::{Priority, enter_background};
use crate::context::ProjectContext;
use crate::error::chain;
use crate::metrics::Metrics;
use crate::wake::Wake;

/// How often the thread looks for memories without a vector even if nothing wakes it.
const CHECK_EVERY: Duration = Duration::from_secs(30);
/// How often it looks while other machines of the cluster compute vectors of memories.
const LATER_EVERY: Duration = Duration::from_millis(500);
/// The pause after a failure of the model.
const FAILURE_PAUSE: Duration = Duration::from_secs(5);

/// What the thread needs.
#[derive(Debug)]
pub(crate) struct Embedding {
    pub(crate) store: Arc<Store>,
    pub(crate) context: Arc<ProjectContext>,
    pub(crate) model: Arc<EmbeddingModel>,
    pub(crate) priority: Arc<Priority>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) wake: Arc<Wake>,
    /// Number of texts embedded at once.
    pub(crate) batch: usize,
}

impl Embedding {
    /// Embeds until the service stops.
    pub(crate) fn run(&self) {
        enter_background();
        let mut pause = CHECK_EVERY;
        while self.wake.wait_embedding(pause) {
            pause = if self.embed_memories() { LATER_EVERY } else { CHECK_EVERY };
            self.embed_context();
        }
    }

    /// Embeds memories until every memory has a vector; returns whether some come later.
    fn embed_memories(&self) -> bool {
        let mut has_later = false;
        while !self.wake.is_stopping() {
            match self.store.embed_pending(self.priority.yield_to_searches(self.batch)) {
                Ok(done) => {
                    self.metrics.embeddings(done.embedded, done.failed);
                    if let Some(error) = &done.last_error {
                        self.model.failed(error);
                        tracing::warn!(failed = done.failed, error, "failed to embed texts");
                    }
                    has_later |= done.later > 0;
                    let none = done.embedded + done.failed + done.skipped + done.later == 0;
                    if done.pending == 0 || none {
                        return has_later && done.pending > 0;
                    }
                }
                Err(error) => {
                    tracing::warn!(error = chain(&error), "background embedding failed");
                    if !self.wake.rest(FAILURE_PAUSE) {
                        return false;
                    }
                }
            }
        }
        false
    }

    /// Embeds chunks of the project until there may be memories to embed, which take precedence.
    fn embed_context(&self) {
        let Some(context) = self.context.index() else { return };
        while self.model.is_ready() && !self.wake.breaks_embedding() {
            match context.embed_pending(self.priority.yield_to_searches(self.batch)) {
                Ok(done) => {
                    self.metrics.embeddings(done.embedded, done.failed);
                    if let Some(error) = &done.last_error {
                        tracing::warn!(failed = done.failed, error, "failed to embed texts");
                    }
                    if done.pending == 0 || done.embedded + done.failed == 0 {
                        return;
                    }
                }
                Err(error) => {
                    tracing::warn!(error = chain(&error), "failed to embed the project");
                    self.wake.rest(FAILURE_PAUSE);
                    return;
                }
            }
        }
    }
}
