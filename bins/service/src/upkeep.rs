//! The thread for periodic maintenance of the stores: retention, saving, measuring.

use std::time::{Duration, Instant};

use crate::app::App;
use crate::clock::now;
use crate::cluster::Cluster;
use crate::error::chain;

const UPKEEP_EVERY: Duration = Duration::from_secs(5);
/// How often the bytes on disk are counted for the metrics, which walks folders.
const MEASURE_EVERY: Duration = Duration::from_secs(60);

/// How long after a purge titles are erased again: a leader that had not applied the purge may have
/// published a note about the memory since. One that is further behind leads no more.
const ERASE_AGAIN: Duration = Duration::from_secs(15);

/// The last purge whose titles were erased, by its record, and when they are erased again.
#[derive(Debug, Default)]
struct Erased {
    through: u64,
    due: Option<Instant>,
}

/// Maintains the stores until the service stops.
pub(crate) fn run(app: &App) {
    let mut measured = Instant::now();
    let mut erased = Erased::default();
    while app.wake.rest(UPKEEP_EVERY) {
        maintain(app, &mut erased);
        if measured.elapsed() >= MEASURE_EVERY {
            app.measure_storage();
            measured = Instant::now();
        }
    }
}

fn maintain(app: &App, erased: &mut Erased) {
    // First, because the rest may take long.
    app.write_witness();
    app.reported_damage.report(app.damage());
    app.publisher.try_again();
    if app.leadership.leads() {
        expire(app);
    }
    match app.store.maintain() {
        Ok(done) => {
            tracing::trace!(?done, "maintained the store");
            // Only after the store has recorded which of its notes were published: then the bus
            // forgets no key by which it would recognise a note.
            retain(app);
        }
        Err(error) => tracing::warn!(error = chain(&error), "failed to maintain the store"),
    }
    if let Err(error) = app.flows.maintain() {
        tracing::warn!(error = chain(&error), "failed to maintain flows");
    }
    if let Some(cluster) = &app.cluster {
        if app.leadership.leads()
            && let Err(error) = cluster.lead()
        {
            tracing::debug!(error, "failed to tell the cluster the digest of the memories");
        }
        destroy_purged(app, cluster, erased);
        cluster.save_base();
    }
    app.recall.maintain();
    if let Err(error) = app.tokens.flush() {
        tracing::warn!(error = chain(&error), "failed to save when tokens were last used");
    }
}

/// Removes what another machine has purged from the files of this one: from events, too.
fn destroy_purged(app: &App, cluster: &Cluster, erased: &mut Erased) {
    let (removed, now) = (cluster.removed(), Instant::now());
    if removed > erased.through {
        *erased = Erased { through: removed, due: Some(now + ERASE_AGAIN) };
    }
    let has_purged = cluster.has_purged();
    if !has_purged && erased.due.is_none_or(|due| now < due) {
        return;
    }
    match app.publisher.erase_forgotten() {
        Ok(Ok(_)) => {
            erased.due = erased.due.filter(|due| now < *due);
            if has_purged {
                cluster.destroy_purged();
            }
        }
        Ok(Err(error)) => {
            tracing::warn!(error = chain(&error), "failed to erase titles from events");
        }
        Err(error) => {
            tracing::warn!(error = chain(&error), "failed to find purged memories");
        }
    }
}

fn expire(app: &App) {
    match app.store.expire(now()) {
        Ok(deleted) => tracing::trace!(deleted, "deleted expired memories"),
        Err(error) => {
            tracing::warn!(error = chain(&error), "failed to delete expired memories");
        }
    }
}

/// Drops events. In a cluster, one machine decides which, and all drop them.
fn retain(app: &App) {
    if let Some(cluster) = app.cluster.as_ref().filter(|_| app.leadership.leads()) {
        let decided = app.events.decide_retention(now()).map_err(|error| chain(&error));
        let told =
            decided.and_then(|decided| decided.map_or(Ok(()), |point| cluster.retain(point)));
        if let Err(error) = told {
            tracing::warn!(error, "failed to tell the cluster which events to drop");
        }
    }
    match app.events.retain(now()) {
        Ok(dropped) => tracing::trace!(dropped, "dropped events beyond the retention limits"),
        Err(error) => tracing::warn!(error = chain(&error), "failed to drop old events"),
    }
}
