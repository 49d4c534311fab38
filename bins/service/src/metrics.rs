//! The service's metrics, in Prometheus' text format.

mod process;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use waypost_events::SyncStep;

use self::process::Process;
use crate::damage::Damaged;

/// Upper bounds of the latency buckets, in seconds.
const BUCKETS: [f64; 16] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
    60.0,
];

/// Why a request was rejected, for the metrics and the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Denied {
    Missing,
    Malformed,
    Unknown,
    Expired,
    Revoked,
    Unavailable,
}

impl Denied {
    pub(crate) const ALL: [Self; 6] = [
        Self::Missing,
        Self::Malformed,
        Self::Unknown,
        Self::Expired,
        Self::Revoked,
        Self::Unavailable,
    ];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Malformed => "malformed",
            Self::Unknown => "unknown",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
            Self::Unavailable => "unavailable",
        }
    }
}

/// Counters of requests. Gauges are read from the parts at each scrape.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<(&'static str, &'static str, u16), u64>>,
    latencies: Mutex<BTreeMap<(&'static str, &'static str), Histogram>>,
    denied: [AtomicU64; Denied::ALL.len()],
    refused: AtomicU64,
    embedded: AtomicU64,
    embed_failed: AtomicU64,
    in_flight: AtomicU64,
}

#[derive(Debug, Default)]
struct Histogram {
    buckets: [u64; BUCKETS.len()],
    count: u64,
    sum_seconds: f64,
}

impl Histogram {
    const NEW: Self = Self { buckets: [0; BUCKETS.len()], count: 0, sum_seconds: 0.0 };

    fn take(&mut self, seconds: f64) {
        for (bound, bucket) in BUCKETS.iter().zip(&mut self.buckets) {
            *bucket += u64::from(seconds <= *bound);
        }
        self.count += 1;
        self.sum_seconds += seconds;
    }

    fn write(&self, out: &mut String, name: &str, labels: &str) -> std::fmt::Result {
        let comma = if labels.is_empty() { "" } else { "," };
        for (bound, count) in BUCKETS.iter().zip(self.buckets) {
            writeln!(out, "{name}_bucket{{{labels}{comma}le=\"{bound}\"}} {count}")?;
        }
        writeln!(out, "{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {}", self.count)?;
        let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        writeln!(out, "{name}_sum{labels} {}", self.sum_seconds)?;
        writeln!(out, "{name}_count{labels} {}", self.count)
    }
}

/// Values of the parts at the moment of a scrape.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    pub(crate) memories: u64,
    pub(crate) links: u64,
    pub(crate) embedded: u64,
    pub(crate) pending: u64,
    pub(crate) storage_bytes: u64,
    pub(crate) index_documents: u64,
    pub(crate) index_terms: u64,
    pub(crate) index_bytes: u64,
    pub(crate) model_ready: bool,
    pub(crate) context_files: u64,
    pub(crate) context_chunks: u64,
    pub(crate) context_pending: u64,
    pub(crate) context_skipped: u64,
    pub(crate) context_vectors: u64,
    pub(crate) context_vectors_pending: u64,
    pub(crate) context_bytes: u64,
    pub(crate) waiting_bytes: usize,
    pub(crate) queued_reads: usize,
    pub(crate) queued_writes: usize,
    pub(crate) uptime_seconds: u64,
    pub(crate) write_fault: bool,
    /// Free bytes on the disk of the data folder.
    pub(crate) disk_free_bytes: u64,
    pub(crate) damage: Vec<Damaged>,
    pub(crate) events: EventGauges,
    /// `None` for a machine alone.
    pub(crate) cluster: Option<ClusterGauges>,
}

/// The values of a member of a cluster.
#[derive(Debug, Default)]
pub(crate) struct ClusterGauges {
    pub(crate) applied: u64,
    pub(crate) end: u64,
    pub(crate) leads: bool,
    pub(crate) contact_seconds: u64,
}

/// The values of events and flows.
#[derive(Debug, Default)]
pub(crate) struct EventGauges {
    pub(crate) kept: u64,
    pub(crate) last: u64,
    pub(crate) bytes: u64,
    pub(crate) fault: bool,
    pub(crate) decided: u64,
    pub(crate) flows: u64,
    pub(crate) halted: bool,
    pub(crate) runs: Vec<(&'static str, u64)>,
    pub(crate) ended: Vec<(&'static str, u64)>,
}

impl Metrics {
    pub(crate) fn begin(&self) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn end(
        &self,
        method: &http::Method,
        route: &'static str,
        status: u16,
        took: Duration,
    ) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
        // Methods and routes come from fixed sets, so that no client can grow the table.
        let method = match method.as_str() {
            "GET" => "GET",
            "POST" => "POST",
            "PATCH" => "PATCH",
            "DELETE" => "DELETE",
            _ => "other",
        };
        *self.requests.lock().entry((method, route, status)).or_default() += 1;
        let seconds = took.as_secs_f64();
        let mut latencies = self.latencies.lock();
        latencies.entry((method, route)).or_default().take(seconds);
    }

    /// Counts a rejected request.
    pub(crate) fn denied(&self, why: Denied) {
        self.denied[why as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn refused_connection(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn embeddings(&self, embedded: u64, failed: u64) {
        self.embedded.fetch_add(embedded, Ordering::Relaxed);
        self.embed_failed.fetch_add(failed, Ordering::Relaxed);
    }

    /// All metrics, one after the other.
    pub(crate) fn text(&self, gauges: &Gauges) -> String {
        let mut out = String::new();
        let lines = self
            .write_requests(&mut out)
            .and_then(|()| self.write_values(&mut out, gauges))
            .and_then(|()| self.write_labelled(&mut out, &gauges.events))
            .and_then(|()| write_damage(&mut out, &gauges.damage))
            .and_then(|()| write_cluster(&mut out, gauges.cluster.as_ref()))
            .and_then(|()| write_process(&mut out, &Process::now()))
            .and_then(|()| write_syncs(&mut out));
        debug_assert!(lines.is_ok(), "a string takes everything");
        out
    }

    fn write_requests(&self, out: &mut String) -> std::fmt::Result {
        let name = "waypost_http_requests_total";
        writeln!(out, "# HELP {name} Responses sent.\n# TYPE {name} counter")?;
        for ((method, route, status), count) in self.requests.lock().iter() {
            writeln!(
                out,
                "{name}{{method=\"{method}\",route=\"{route}\",status=\"{status}\"}} {count}"
            )?;
        }
        let name = "waypost_http_request_duration_seconds";
        writeln!(out, "# HELP {name} Time from request to response.\n# TYPE {name} histogram")?;
        for ((method, route), it) in self.latencies.lock().iter() {
            it.write(out, name, &format!("method=\"{method}\",route=\"{route}\""))?;
        }
        Ok(())
    }

    fn write_labelled(&self, out: &mut String, events: &EventGauges) -> std::fmt::Result {
        let runs = ("flow_runs", "gauge", "Runs in the history by state.");
        write_counts(out, runs, "state", &events.runs)?;
        let ended = ("flow_runs_ended_total", "counter", "Runs that ended since the start.");
        write_counts(out, ended, "state", &events.ended)?;
        let read = |it: Denied| self.denied[it as usize].load(Ordering::Relaxed);
        let denied = Denied::ALL.map(|it| (it.as_str(), read(it)));
        let failures = ("auth_failures_total", "counter", "Requests without a valid token.");
        write_counts(out, failures, "reason", &denied)
    }

    fn write_values(&self, out: &mut String, gauges: &Gauges) -> std::fmt::Result {
        let read = |it: &AtomicU64| it.load(Ordering::Relaxed);
        let values: [Value; 24] = [
            (
                "connections_refused_total",
                "counter",
                "Connections rejected over the limit.",
                read(&self.refused),
            ),
            (
                "embeddings_total",
                "counter",
                "Texts embedded in the background.",
                read(&self.embedded),
            ),
            (
                "embedding_failures_total",
                "counter",
                "Texts that the model could not embed.",
                read(&self.embed_failed),
            ),
            ("http_requests_in_flight", "gauge", "Requests in progress.", read(&self.in_flight)),
            (
                "http_bytes_waiting",
                "gauge",
                "Bytes of responses that clients have not read.",
                gauges.waiting_bytes as u64,
            ),
            ("memories", "gauge", "Memories in the store.", gauges.memories),
            ("links", "gauge", "Links in the store.", gauges.links),
            ("memories_embedded", "gauge", "Memories with a vector.", gauges.embedded),
            ("memories_pending", "gauge", "Memories that wait for a vector.", gauges.pending),
            ("storage_bytes", "gauge", "Bytes on disk.", gauges.storage_bytes),
            ("index_documents", "gauge", "Memories in the index.", gauges.index_documents),
            ("index_terms", "gauge", "Terms in the index.", gauges.index_terms),
            ("index_bytes", "gauge", "Bytes of the index in memory.", gauges.index_bytes),
            ("context_files", "gauge", "Indexed project files.", gauges.context_files),
            ("context_chunks", "gauge", "Pieces of them.", gauges.context_chunks),
            (
                "context_pending",
                "gauge",
                "Project files waiting to be indexed.",
                gauges.context_pending,
            ),
            (
                "context_skipped",
                "gauge",
                "Project files excluded from the index.",
                gauges.context_skipped,
            ),
            ("context_vectors", "gauge", "Pieces with a vector.", gauges.context_vectors),
            (
                "context_vectors_pending",
                "gauge",
                "Sections waiting for a vector.",
                gauges.context_vectors_pending,
            ),
            (
                "context_bytes",
                "gauge",
                "Memory of the context index, in bytes.",
                gauges.context_bytes,
            ),
            (
                "model_ready",
                "gauge",
                "1 if the embedding model has loaded.",
                u64::from(gauges.model_ready),
            ),
            ("queue_reads", "gauge", "Reading calls that wait.", gauges.queued_reads as u64),
            ("queue_writes", "gauge", "Writing calls that wait.", gauges.queued_writes as u64),
            ("uptime_seconds", "gauge", "Seconds since the start.", gauges.uptime_seconds),
        ];
        for (name, kind, help, value) in values.into_iter().chain(fault_and_event_values(gauges)) {
            writeln!(out, "# HELP waypost_{name} {help}\n# TYPE waypost_{name} {kind}")?;
            writeln!(out, "waypost_{name} {value}")?;
        }
        Ok(())
    }
}

/// Name, kind, help, value.
type Value = (&'static str, &'static str, &'static str, u64);

fn fault_and_event_values(gauges: &Gauges) -> [Value; 10] {
    let events = &gauges.events;
    [
        (
            "write_fault",
            "gauge",
            "1 if the store is read-only until the next start.",
            u64::from(gauges.write_fault),
        ),
        (
            "disk_free_bytes",
            "gauge",
            "Free bytes on the disk of the data folder.",
            gauges.disk_free_bytes,
        ),
        ("events_published_total", "counter", "Events ever published.", events.last),
        ("events", "gauge", "Stored events.", events.kept),
        ("events_last", "gauge", "The id of the last event.", events.last),
        ("events_bytes", "gauge", "Bytes of the event log.", events.bytes),
        (
            "events_fault",
            "gauge",
            "1 if the event bus is read-only until the next start.",
            u64::from(events.fault),
        ),
        ("flows", "gauge", "Flows in force.", events.flows),
        ("flows_halted", "gauge", "1 if flows stand still.", u64::from(events.halted)),
        ("flows_decided", "gauge", "The last event that flows have seen.", events.decided),
    ]
}

/// Syncs of all logs together: every acknowledged write waits for one.
static SYNCS: Mutex<Histogram> = Mutex::new(Histogram::NEW);

thread_local! {
    static SYNC_BEGAN: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Starts measuring the syncs of logs.
pub(crate) fn measure_syncs() {
    waypost_events::observe_syncs(|sync| match sync {
        SyncStep::Begins => SYNC_BEGAN.set(Some(Instant::now())),
        SyncStep::Ended => {
            if let Some(began) = SYNC_BEGAN.take() {
                SYNCS.lock().take(began.elapsed().as_secs_f64());
            }
        }
    });
}

fn write_syncs(out: &mut String) -> std::fmt::Result {
    let name = "waypost_sync_duration_seconds";
    writeln!(out, "# HELP {name} Duration of a log sync.\n# TYPE {name} histogram")?;
    SYNCS.lock().write(out, name, "")
}

fn write_damage(out: &mut String, damage: &[Damaged]) -> std::fmt::Result {
    let records = |store| {
        let of_store = damage.iter().filter(|it| it.store == store);
        (store, of_store.map(Damaged::records).sum())
    };
    let help = "Records that reads have found damaged since the start.";
    let counts = ["memory", "events", "flows", "recall"].map(records);
    write_counts(out, ("damaged_records", "gauge", help), "store", &counts)
}

fn write_cluster(out: &mut String, cluster: Option<&ClusterGauges>) -> std::fmt::Result {
    let Some(cluster) = cluster else { return Ok(()) };
    let values: [Value; 4] = [
        (
            "cluster_applied",
            "gauge",
            "The last record of the journal that this machine has applied.",
            cluster.applied,
        ),
        (
            "cluster_journal_end",
            "gauge",
            "The last record of the journal when this machine last looked.",
            cluster.end,
        ),
        (
            "cluster_leads",
            "gauge",
            "1 if this machine runs the flows of the cluster.",
            u64::from(cluster.leads),
        ),
        (
            "cluster_contact_age_seconds",
            "gauge",
            "Seconds since the database of the cluster last answered.",
            cluster.contact_seconds,
        ),
    ];
    for (name, kind, help, value) in values {
        writeln!(out, "# HELP waypost_{name} {help}\n# TYPE waypost_{name} {kind}")?;
        writeln!(out, "waypost_{name} {value}")?;
    }
    Ok(())
}

fn write_process(out: &mut String, process: &Process) -> std::fmt::Result {
    let name = "waypost_build_info";
    writeln!(out, "# HELP {name} Version of the service.\n# TYPE {name} gauge")?;
    writeln!(out, "{name}{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION"))?;
    for (name, kind, help, value) in process.values() {
        let Some(value) = value else { continue };
        writeln!(out, "# HELP process_{name} {help}\n# TYPE process_{name} {kind}")?;
        writeln!(out, "process_{name} {value}")?;
    }
    Ok(())
}

fn write_counts(
    out: &mut String,
    (name, kind, help): (&str, &str, &str),
    label: &str,
    counts: &[(&str, u64)],
) -> std::fmt::Result {
    writeln!(out, "# HELP waypost_{name} {help}\n# TYPE waypost_{name} {kind}")?;
    for (value, count) in counts {
        writeln!(out, "waypost_{name}{{{label}=\"{value}\"}} {count}")?;
    }
    Ok(())
}
