//! Ends a service that nobody uses.

use std::time::{Duration, Instant};

use waypost_api::ModelStatus;
use waypost_flows::Stage;

use crate::app::App;

/// How often the service is looked at, at most.
const CHECK_EVERY_MAX: Duration = Duration::from_secs(5);

/// What changes while the service does something.
#[derive(Debug, PartialEq)]
struct Seen {
    requests: u64,
    last_event: u64,
    /// Memories and pieces of the project without a vector.
    without_vector: (u64, u64),
    /// Files of the project that are to be read, and memories that are to be indexed.
    to_read: (u64, u64),
    model: ModelStatus,
}

impl Seen {
    fn of(app: &App) -> Self {
        let context = app.context.index().map(waypost_context::Context::status);
        let store = app.counted().unwrap_or_default();
        Self {
            requests: app.activity.requests().0,
            last_event: app.events.last(),
            without_vector: (
                store.pending_embeddings,
                context.as_ref().map_or(0, |context| context.vectors_pending),
            ),
            to_read: (context.as_ref().map_or(0, |context| context.pending), store.index.lacking),
            model: app.model.status(),
        }
    }
}

/// Waits until the service has been idle for that long: no request or stream was open, no event came, no flow ran or
/// waited to run, and nothing was indexed, embedded or fetched.
pub(super) async fn wait(app: &App, idle: Duration) {
    let every = (idle / 8).min(CHECK_EVERY_MAX);
    let (mut seen, mut since) = (Seen::of(app), Instant::now());
    while since.elapsed() < idle {
        tokio::time::sleep(every).await;
        let now = Seen::of(app);
        if now != seen || is_busy(app) {
            (seen, since) = (now, Instant::now());
        }
    }
}

fn is_busy(app: &App) -> bool {
    let (_, all_answered) = app.activity.requests();
    let engine = app.flows.engine();
    let is_live = |stage: &Stage| !matches!(stage, Stage::Ended(_));
    !all_answered || engine.stages().iter().any(|(stage, runs)| is_live(stage) && *runs > 0)
}
