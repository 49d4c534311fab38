//! The parts of the service that requests share.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tokio::sync::Semaphore;
use waypost_api::Gate;
use waypost_auth::TokenStore;
use waypost_events::Bus;
use waypost_memory::Store;
use waypost_project::LimitSettings;

use crate::activity::Activity;
use crate::cluster::Cluster;
use crate::context::ProjectContext;
use crate::damage::{Damaged, REPAIR, Reported};
use crate::events::broadcast::Broadcast;
use crate::flows::Flows;
use crate::flows::halt::Halt;
use crate::http::body::Bodies;
use crate::http::dashboard::Codes;
use crate::http::pool::Pool;
use crate::http::sessions::Sessions;
use crate::http::waiting::Waiting;
use crate::leadership::Leadership;
use crate::memory::publisher::Publisher;
use crate::mesh::Membership;
use crate::metrics::Metrics;
use crate::model::EmbeddingModel;
use crate::model::reranker::RerankerModel;
use crate::recall::Recall;
use crate::stopping::Stopping;
use crate::witness::Witness;

/// Free disk space, in bytes, below which readiness and status report it. The stores refuse writes
/// that would leave less than 64 MiB; the difference is for writes that they still accept.
const FREE_BYTES_MIN: u64 = 96 << 20;

/// The opened parts of the service.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) data_dir: PathBuf,
    /// `None` for a machine alone.
    pub(crate) cluster: Option<Arc<Cluster>>,
    pub(crate) leadership: Leadership,
    pub(crate) limits: LimitSettings,
    pub(crate) store: Arc<Store>,
    pub(crate) witness: Arc<Witness>,
    pub(crate) tokens: Arc<TokenStore>,
    pub(crate) sessions: Sessions,
    pub(crate) codes: Codes,
    pub(crate) events: Arc<Bus>,
    pub(crate) broadcast: Broadcast,
    pub(crate) listeners: Arc<Semaphore>,
    pub(crate) flows: Arc<Flows>,
    pub(crate) context: Arc<ProjectContext>,
    pub(crate) publisher: Arc<Publisher>,
    pub(crate) recall: Arc<Recall>,
    pub(crate) mesh: Arc<Membership>,
    pub(crate) gate: Gate,
    /// The URL of the service over the network.
    pub(crate) url: String,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) activity: Arc<Activity>,
    pub(crate) bodies: Bodies,
    pub(crate) waiting: Arc<Waiting>,
    pub(crate) reads: Pool,
    /// For searches of the past, one at a time: each takes much memory, and seconds.
    pub(crate) past: Pool,
    pub(crate) writes: Pool,
    pub(crate) streams: Pool,
    pub(crate) model: Arc<EmbeddingModel>,
    pub(crate) reranker: Arc<RerankerModel>,
    pub(crate) wake: Arc<crate::wake::Wake>,
    /// As of the last measurement, so that requests never walk folders.
    pub(crate) storage_bytes: AtomicU64,
    pub(crate) reported_damage: Reported,
    pub(crate) started: Instant,
    pub(crate) stopping: Stopping,
}

impl App {
    /// Computes a query's vector, which reveals nothing about stored data.
    pub(crate) fn embedder(&self) -> impl Fn(&str) -> QueryVector + Send + use<> {
        let store = Arc::clone(&self.store);
        move |text| store.embed_query(text)
    }

    /// Why requests cannot be served as they should until the next start, if so, and what to do. A
    /// full disk is no reason: all goes on when there is room.
    pub(crate) fn fault(&self) -> Option<String> {
        if let Some(fault) = self.cluster.as_ref().and_then(|cluster| cluster.fault()) {
            return Some(fault.to_string());
        }
        let what = if self.store.write_fault().is_some() {
            "the store is read-only"
        } else if self.events.fault().is_some() {
            "the event bus is read-only"
        } else if self.flows.halt() == Some(Halt::Fault) {
            "flows have stopped"
        } else if self.recall.log.has_fault() {
            "the recall log is read-only"
        } else {
            return None;
        };
        let remedy = if self.damage().is_empty() {
            "check the service's log, then restart it"
        } else {
            REPAIR
        };
        Some(format!("{what} after a fault: {remedy}"))
    }

    /// The damage that reads have found since the start. Reads no file.
    pub(crate) fn damage(&self) -> Vec<Damaged> {
        let memory = Damaged::of("memory", "memory/log", self.store.damage());
        let vectors = Damaged::of("memory", "memory/vectors", self.store.vectors_damage());
        let events = Damaged::of("events", "events/log", self.events.damage());
        let flows = Damaged::of("flows", "flows/log", self.flows.files().damage());
        let recall = Damaged::of("recall", "recall/log", self.recall.log.damage());
        memory.chain(vectors).chain(events).chain(flows).chain(recall).collect()
    }

    /// The problem and its remedy if the service responds but is degraded.
    pub(crate) fn degradation(&self) -> Option<String> {
        if let Some(it) = self.damage().first() {
            return Some(format!("the {} store is damaged: {REPAIR}", it.store));
        }
        if let Some(halt) = self.flows.halt() {
            return Some(halt.why().to_owned());
        }
        let free = self.free_bytes().filter(|bytes| *bytes < FREE_BYTES_MIN)?;
        Some(format!(
            "the disk of the service has {} MiB free, and writes that would leave less than 64 MiB are refused: make room",
            free >> 20
        ))
    }

    /// Measures the bytes of the store on disk by walking its folders.
    pub(crate) fn measure_storage(&self) {
        self.storage_bytes.store(self.store.storage_bytes(), Ordering::Relaxed);
    }

    /// Bytes of the store on disk, as of the last measurement.
    pub(crate) fn storage_bytes(&self) -> u64 {
        self.storage_bytes.load(Ordering::Relaxed)
    }

    /// Free bytes on the disk of the data folder, if the system reports them.
    pub(crate) fn free_bytes(&self) -> Option<u64> {
        waypost_log::free_bytes(&self.data_dir).ok()
    }

    /// The store's numbers for the metrics. The upkeep thread counts its bytes on disk.
    pub(crate) fn counted(&self) -> waypost_memory::Result<waypost_memory::Status> {
        self.store.counts()
    }

    /// Whether an index is being built, and searches do not find everything yet.
    pub(crate) fn is_indexing(&self) -> bool {
        self.store.index_progress().is_some()
    }

    /// Records the positions of the stores.
    pub(crate) fn write_witness(&self) {
        self.witness.write(&self.store, &self.events, &self.flows, &self.recall.log);
    }

    /// The parts that the end of the service closes in order; the rest is dropped.
    pub(crate) fn into_stores(self) -> (Arc<ProjectContext>, Arc<Store>) {
        (self.context, self.store)
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.has_begun()
    }
}

/// The vector of a query, if there is a model.
pub(crate) type QueryVector = waypost_memory::Result<Option<Arc<Vec<f32>>>>;
