//! The store of memories: opening it, and the threads beside it.

pub(crate) mod indexing;
pub(crate) mod publisher;
pub(crate) mod writer;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use parking_lot::Mutex;
use waypost_log::SharedJournal;
use waypost_memory::{OpenPhase, OpenReport, Reached, SearchParams, Store, StoreOptions};

use crate::predecessor;

/// Opens the store, which is known to have `reached` that position, and logs the result. Searches
/// drop hits below `min_score` unless they say otherwise. With a shared journal it is a replica.
pub(crate) fn open(
    dir: &Path,
    reached: Reached,
    min_score: f64,
    shared: Option<Arc<dyn SharedJournal>>,
) -> anyhow::Result<Store> {
    let told = Mutex::new(None::<Instant>);
    let mut options = StoreOptions::default()
        .with_progress(Arc::new(move |it| {
            let mut told = told.lock();
            if told.is_none_or(|told| told.elapsed() >= Duration::from_secs(1)) {
                *told = Some(Instant::now());
                let what = match it.phase {
                    OpenPhase::State => "the state from the log",
                    OpenPhase::Index => "the index",
                };
                tracing::info!(done = it.done, total = it.total, "rebuilding {what}");
            }
        }))
        .with_search(SearchParams { min_score, ..SearchParams::default() })
        .with_index_later(true)
        .with_reached(reached);
    options.shared_journal = shared;
    let owner = |error: &waypost_memory::Error| match error {
        waypost_memory::Error::Locked { pid, .. } => Some(pid.clone()),
        _ => None,
    };
    let (store, report) = predecessor::open(|| Store::open(dir, options.clone()), owner)
        .context("failed to open the store")?;
    log_report(&report);
    Ok(store)
}

/// Logs the result of opening for the operator.
fn log_report(report: &OpenReport) {
    if report.log_truncated_bytes > 0 {
        let bytes = report.log_truncated_bytes;
        if report.is_truncation_unsure {
            tracing::warn!(
                bytes,
                "truncated an unfinished write at the end of the log; the machine stopped during it, \
                 so it cannot be told from one that was never acknowledged"
            );
        } else {
            tracing::warn!(
                bytes,
                "truncated an unfinished, unacknowledged write at the end of the log"
            );
        }
    }
    let rebuilt = [
        ("state", &report.state_rebuilt),
        ("index", &report.index_rebuilt),
        ("vectors", &report.vectors_discarded),
    ];
    for (what, why) in rebuilt {
        if let Some(why) = why {
            tracing::warn!(why, "rebuilt {what} from the log");
        }
    }
    tracing::info!(memories = report.memories, "opened the store");
}
