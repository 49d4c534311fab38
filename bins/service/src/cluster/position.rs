//! The headers with which a client reads its own writes on any machine.

use std::time::Duration;

use http::HeaderMap;
use http::header::HeaderValue;
use tokio::time::{Instant, timeout_at};
use waypost_api::{JournalPosition, MIN_POSITION_HEADER, POSITION_HEADER, Problem};

use crate::app::App;
use crate::http::failure::Failure;

/// How long a request waits for the position that it names.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// The route of the status of this machine.
const STATUS: &str = "/api/memory/status";
/// The pauses between two looks double from the first to the last, if no records of others come.
const LOOK_FIRST: Duration = Duration::from_millis(2);
const LOOK_LAST: Duration = Duration::from_millis(50);

/// The position of this machine, for the response.
pub(crate) fn header(app: &App) -> Option<HeaderValue> {
    let position = position(app)?;
    HeaderValue::from_str(&position.to_string()).ok()
}

fn position(app: &App) -> Option<JournalPosition> {
    let cluster = app.cluster.as_ref()?;
    let member = cluster.hub.member();
    let (store, seq) = (member.store.to_string(), cluster.furthest());
    Some(JournalPosition { store, incarnation: member.incarnation, seq })
}

/// Waits until this machine has the position that a request names.
pub(crate) async fn wait(app: &App, path: &str, headers: &HeaderMap) -> Result<(), Failure> {
    let mut named = headers.get_all(MIN_POSITION_HEADER).iter();
    let Some(wanted) = named.next() else { return Ok(()) };
    if named.next().is_some() {
        let detail = format!("the request has the header {MIN_POSITION_HEADER} twice");
        return Err(Failure::from(Problem::new(400, detail)));
    }
    let wanted = wanted.to_str().ok().and_then(|text| text.parse::<JournalPosition>().ok());
    let wanted = wanted.ok_or_else(|| {
        let detail = format!(
            "the header {MIN_POSITION_HEADER} must be a value of {POSITION_HEADER} of an earlier response: STORE:INCARNATION:SEQUENCE"
        );
        Failure::from(Problem::new(400, detail))
    })?;
    let elsewhere = |detail: String| Failure::from(Problem::new(409, detail));
    let (Some(cluster), Some(ours)) = (&app.cluster, position(app)) else {
        return Err(elsewhere(format!(
            "the header {MIN_POSITION_HEADER} names a position of a cluster, and this service belongs to none"
        )));
    };
    if (&wanted.store, wanted.incarnation) != (&ours.store, ours.incarnation) {
        return Err(elsewhere(format!(
            "the position {wanted} is of another store or incarnation than this service, which is at {ours}; omit the header {MIN_POSITION_HEADER}"
        )));
    }
    let deadline = Instant::now() + WAIT_MAX;
    let mut pause = LOOK_FIRST;
    loop {
        let applied = cluster.applied.notified();
        if cluster.applied() >= wanted.seq {
            return Ok(());
        }
        if let Some(why) = cluster.fault() {
            // The status says why.
            let is_status = path == STATUS;
            return if is_status { Ok(()) } else { Err(Failure::no_cluster(&why)) };
        }
        if Instant::now() >= deadline {
            return Err(Failure::busy(&format!(
                "this machine has the journal up to {}, and not yet {}",
                cluster.applied(),
                wanted.seq
            )));
        }
        let look = deadline.min(Instant::now() + pause);
        pause = LOOK_LAST.min(2 * pause);
        drop(timeout_at(look, applied).await);
    }
}

/// Waits until this machine has compared itself with the journal after its start: what it writes then
/// has a position. Not if that fails; then the write fails, too.
pub(crate) async fn wait_until_compared(app: &App) {
    let Some(cluster) = &app.cluster else { return };
    let deadline = Instant::now() + WAIT_MAX;
    while Instant::now() < deadline {
        let applied = cluster.applied.notified();
        if cluster.is_compared() || cluster.fault().is_some() || cluster.has_failed() {
            return;
        }
        drop(timeout_at(deadline.min(Instant::now() + LOOK_LAST), applied).await);
    }
}
