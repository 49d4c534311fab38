//! The thread for periodic maintenance of the stores: retention, saving, measuring.

use std::sync::Arc;
use std::time::{Duration, Instant};

use waypost_auth::TokenStore;
use waypost_events::Bus;
use waypost_memory::Store;

use crate::clock::now;
use crate::cluster::Cluster;
use crate::damage::Damages;
use crate::disk::DiskUsage;
use crate::error::chain;
use crate::flows::Flows;
use crate::leadership::Leadership;
use crate::memory::publisher::Publisher;
use crate::recall::Recall;
use crate::wake::Wake;
use crate::witness::Witness;

const UPKEEP_EVERY: Duration = Duration::from_secs(5);
/// How often the bytes on disk are counted for the metrics, which walks folders.
const MEASURE_EVERY: Duration = Duration::from_secs(60);

/// How long after a purge titles are erased again: a leader that had not applied the purge may have
/// published a note about the memory since. One that is further behind leads no more.
const ERASE_AGAIN: Duration = Duration::from_secs(15);

/// What the thread needs.
#[derive(Debug)]
pub(crate) struct Upkeep {
    pub(crate) store: Arc<Store>,
    pub(crate) publisher: Arc<Publisher>,
    pub(crate) events: Arc<Bus>,
    pub(crate) flows: Arc<Flows>,
    pub(crate) tokens: Arc<TokenStore>,
    pub(crate) witness: Arc<Witness>,
    pub(crate) disk: Arc<DiskUsage>,
    pub(crate) damage: Arc<Damages>,
    pub(crate) recall: Arc<Recall>,
    pub(crate) cluster: Option<Arc<Cluster>>,
    pub(crate) leadership: Leadership,
    pub(crate) wake: Arc<Wake>,
}

/// The last purge whose titles were erased, by its record, and when they are erased again.
#[derive(Debug, Default)]
struct Erased {
    through: u64,
    due: Option<Instant>,
}

impl Upkeep {
    /// Maintains the stores until the service stops.
    pub(crate) fn run(&self) {
        let mut measured = Instant::now();
        let mut erased = Erased::default();
        while self.wake.rest(UPKEEP_EVERY) {
            self.maintain(&mut erased);
            if measured.elapsed() >= MEASURE_EVERY {
                self.disk.measure();
                measured = Instant::now();
            }
        }
    }

    fn maintain(&self, erased: &mut Erased) {
        // First, because the rest may take long.
        self.witness.write(&self.store, &self.events, &self.flows, &self.recall.log);
        self.damage.report();
        self.publisher.try_again();
        if self.leadership.leads() {
            self.expire();
        }
        match self.store.maintain() {
            Ok(done) => {
                tracing::trace!(?done, "maintained the store");
                // Only after the store has recorded which of its notes were published: then the bus
                // forgets no key by which it would recognise a note.
                self.retain();
            }
            Err(error) => tracing::warn!(error = chain(&error), "failed to maintain the store"),
        }
        if let Err(error) = self.flows.maintain() {
            tracing::warn!(error = chain(&error), "failed to maintain flows");
        }
        if let Some(cluster) = &self.cluster {
            if self.leadership.leads()
                && let Err(error) = cluster.lead()
            {
                tracing::debug!(error, "failed to tell the cluster the digest of the memories");
            }
            self.destroy_purged(cluster, erased);
            cluster.save_base();
        }
        self.recall.maintain();
        if let Err(error) = self.tokens.flush() {
            tracing::warn!(error = chain(&error), "failed to save when tokens were last used");
        }
    }

    /// Removes what another machine has purged from the files of this one: from events, too.
    fn destroy_purged(&self, cluster: &Cluster, erased: &mut Erased) {
        let (removed, now) = (cluster.removed(), Instant::now());
        if removed > erased.through {
            *erased = Erased { through: removed, due: Some(now + ERASE_AGAIN) };
        }
        let has_purged = cluster.has_purged();
        if !has_purged && erased.due.is_none_or(|it| now < it) {
            return;
        }
        match self.publisher.erase_forgotten() {
            Ok(Ok(_)) => {
                erased.due = erased.due.filter(|it| now < *it);
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

    fn expire(&self) {
        match self.store.expire(now()) {
            Ok(deleted) => tracing::trace!(deleted, "deleted expired memories"),
            Err(error) => {
                tracing::warn!(error = chain(&error), "failed to delete expired memories");
            }
        }
    }

    /// Drops events. In a cluster, one machine decides which, and all drop them.
    fn retain(&self) {
        if let Some(cluster) = self.cluster.as_ref().filter(|_| self.leadership.leads()) {
            let decided = self.events.decide_retention(now()).map_err(|it| chain(&it));
            let told = decided.and_then(|it| it.map_or(Ok(()), |point| cluster.retain(point)));
            if let Err(error) = told {
                tracing::warn!(error, "failed to tell the cluster which events to drop");
            }
        }
        match self.events.retain(now()) {
            Ok(dropped) => tracing::trace!(dropped, "dropped events beyond the retention limits"),
            Err(error) => tracing::warn!(error = chain(&error), "failed to drop old events"),
        }
    }
}
