//! Damage that reads find while the service runs.

use std::sync::Arc;

use parking_lot::Mutex;
use waypost_events::Bus;
use waypost_log::Damage;
use waypost_memory::Store;

use crate::flows::Flows;
use crate::recall::Recall;

/// What to do about a damaged store.
pub(crate) const REPAIR: &str =
    "stop the service and run `ctl doctor`, which says what is damaged and how to repair it";

/// A damaged place in a file of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Damaged {
    /// The store's name.
    pub(crate) store: &'static str,
    /// The folder of the file, relative to the data folder.
    folder: &'static str,
    damage: Damage,
}

impl Damaged {
    pub(crate) fn of(
        store: &'static str,
        folder: &'static str,
        all: Vec<Damage>,
    ) -> impl Iterator<Item = Self> {
        all.into_iter().map(move |damage| Self { store, folder, damage })
    }

    /// The number of affected records; a header or an end marker counts as one.
    pub(crate) fn records(&self) -> u64 {
        self.damage.records().max(1)
    }
}

/// Tracks which stores are damaged.
#[derive(Debug)]
pub(crate) struct Damages {
    store: Arc<Store>,
    events: Arc<Bus>,
    flows: Arc<Flows>,
    recall: Arc<Recall>,
    /// The damage that the service has already logged.
    reported: Mutex<Vec<Damaged>>,
}

impl Damages {
    pub(crate) fn new(
        store: &Arc<Store>,
        events: &Arc<Bus>,
        flows: &Arc<Flows>,
        recall: &Arc<Recall>,
    ) -> Self {
        let (store, events) = (Arc::clone(store), Arc::clone(events));
        let (flows, recall) = (Arc::clone(flows), Arc::clone(recall));
        Self { store, events, flows, recall, reported: Mutex::default() }
    }

    /// The damage that reads have found since the start. Reads no file.
    pub(crate) fn found(&self) -> Vec<Damaged> {
        let memory = Damaged::of("memory", "memory/log", self.store.damage());
        let vectors = Damaged::of("memory", "memory/vectors", self.store.vectors_damage());
        let events = Damaged::of("events", "events/log", self.events.damage());
        let flows = Damaged::of("flows", "flows/log", self.flows.files().damage());
        let recall = Damaged::of("recall", "recall/log", self.recall.log.damage());
        memory.chain(vectors).chain(events).chain(flows).chain(recall).collect()
    }

    /// Logs damage found since the last call.
    pub(crate) fn report(&self) {
        let found = self.found();
        let mut reported = self.reported.lock();
        for it in found.iter().filter(|it| !reported.contains(it)) {
            tracing::error!(
                store = it.store,
                damage = it.damage.describe(it.folder, "sequence"),
                "a store is damaged; stop the service and run `ctl doctor`"
            );
        }
        *reported = found;
    }
}
