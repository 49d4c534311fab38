//! The threads that build an index that was missing or damaged at the start.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use waypost_memory::Store;

use crate::error::chain;
use crate::wake::Wake;

/// The pause after a failure.
const FAILURE_PAUSE: Duration = Duration::from_secs(5);

/// What the threads need.
#[derive(Debug)]
pub(crate) struct Indexing {
    pub(crate) store: Arc<Store>,
    pub(crate) wake: Arc<Wake>,
}

impl Indexing {
    /// The number of threads: one for each core, and none if the index is complete.
    pub(crate) fn threads(&self) -> usize {
        let Some(progress) = self.store.index_progress() else { return 0 };
        tracing::info!(memories = progress.total, "building the index in the background");
        std::thread::available_parallelism().map_or(1, usize::from)
    }

    /// Adds missing memories to the index until it is complete. Every core takes one piece at a
    /// time.
    pub(crate) fn run(&self) {
        while !self.wake.is_stopping() {
            let failed = match catch_unwind(AssertUnwindSafe(|| self.store.build_index())) {
                Ok(Ok(Some(_))) => false,
                Ok(Ok(None)) => return,
                Ok(Err(error)) => {
                    tracing::warn!(error = chain(&error), "failed to build the index");
                    true
                }
                Err(_) => {
                    tracing::error!("building the index panicked");
                    true
                }
            };
            if failed && !self.wake.rest(FAILURE_PAUSE) {
                return;
            }
            if self.store.index_progress().is_none() {
                tracing::info!("built the index");
                self.wake.embedding();
            }
        }
    }
}
