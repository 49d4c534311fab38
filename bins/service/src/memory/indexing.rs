//! The threads that build an index which was missing or damaged at the start.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use waypost_memory::Store;

use crate::error::chain;
use crate::wake::Wake;

/// How long building the index rests after it failed.
const FAILED_REST: Duration = Duration::from_secs(5);

/// Brings what the index lacks into it. Every core does a piece at a time.
pub(crate) fn build(store: &Store, wake: &Wake) {
    while !wake.is_stopping() {
        let failed = match catch_unwind(AssertUnwindSafe(|| store.build_index())) {
            Ok(Ok(Some(_))) => false,
            Ok(Ok(None)) => return,
            Ok(Err(error)) => {
                tracing::warn!(error = chain(&error), "building the index failed");
                true
            }
            Err(_) => {
                tracing::error!("building the index panicked");
                true
            }
        };
        if failed && !wake.rest(FAILED_REST) {
            return;
        }
        if store.index_progress().is_none() {
            tracing::info!("the index is complete");
            wake.embedding();
        }
    }
}
