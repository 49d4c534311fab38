//! What all requests share.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::Semaphore;
use waypost_api::Gate;
use waypost_auth::TokenStore;
use waypost_events::Bus;
use waypost_memory::{Store, Timestamp};
use waypost_project::LimitSettings;

use crate::body::Bodies;
use crate::context::ProjectContext;
use crate::feed::Feed;
use crate::flows::Flows;
use crate::mesh::Board;
use crate::metrics::Metrics;
use crate::model::ModelBoard;
use crate::pool::Pool;

/// The opened parts of the service.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) data_dir: PathBuf,
    pub(crate) limits: LimitSettings,
    pub(crate) store: Arc<Store>,
    pub(crate) tokens: TokenStore,
    pub(crate) events: Arc<Bus>,
    pub(crate) feed: Feed,
    pub(crate) listeners: Arc<Semaphore>,
    pub(crate) flows: Flows,
    pub(crate) context: ProjectContext,
    /// What happens to memories is published.
    pub(crate) tells_of_memory: bool,
    pub(crate) mesh: Board,
    pub(crate) gate: Gate,
    /// Where it is reached over the network.
    pub(crate) url: String,
    pub(crate) metrics: Metrics,
    pub(crate) bodies: Bodies,
    pub(crate) reads: Pool,
    pub(crate) writes: Pool,
    pub(crate) streams: Pool,
    pub(crate) model: Arc<ModelBoard>,
    pub(crate) wake: Arc<crate::wake::Wake>,
    pub(crate) give_memory_back: fn(),
    pub(crate) started: Instant,
    pub(crate) stopping: AtomicBool,
}

impl App {
    /// There may be something to embed.
    pub(crate) fn added(&self) {
        if self.model.is_ready() {
            self.wake.embedding();
        }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}

/// The time of day, for the store.
pub(crate) fn now() -> Timestamp {
    Timestamp::from_millis(now_ms())
}

/// The time of day in milliseconds since the epoch, for events.
pub(crate) fn event_time() -> u64 {
    u64::try_from(now_ms()).unwrap_or(0)
}

/// The time of day in milliseconds since the epoch, for tokens.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
