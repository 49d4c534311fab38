//! The service's metrics, in Prometheus' text format.

mod process;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use waypost_events::SyncStep;

/// Upper bounds of the latency buckets, in seconds.
const BUCKETS: [f64; 16] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
    60.0,
];

/// Rejected tokens are logged at most this often, for each reason separately.
const LOG_REJECTIONS_EVERY: Duration = Duration::from_secs(10);

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
    denied: Mutex<[Rejections; Denied::ALL.len()]>,
    refused: AtomicU64,
    embedded: AtomicU64,
    embed_failed: AtomicU64,
    in_flight: AtomicU64,
}

/// Rejected requests for one reason.
#[derive(Debug, Default)]
struct Rejections {
    total: u64,
    /// Since the last log line.
    unlogged: u64,
    logged: Option<Instant>,
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

    fn write(&self, page: &mut Page, name: &str, labels: &str) {
        let comma = if labels.is_empty() { "" } else { "," };
        for (bound, count) in BUCKETS.iter().zip(self.buckets) {
            page.line(format_args!("{name}_bucket{{{labels}{comma}le=\"{bound}\"}} {count}"));
        }
        page.line(format_args!("{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {}", self.count));
        let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        page.line(format_args!("{name}_sum{labels} {}", self.sum_seconds));
        page.line(format_args!("{name}_count{labels} {}", self.count));
    }
}

/// Metrics as text, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Page(String);

impl Page {
    pub(crate) fn gauge(&mut self, name: &str, help: &str, value: u64) {
        self.value(name, "gauge", help, value);
    }

    pub(crate) fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.value(name, "counter", help, value);
    }

    fn value(&mut self, name: &str, kind: &str, help: &str, value: u64) {
        let name = format!("waypost_{name}");
        self.head(&name, kind, help);
        self.line(format_args!("{name} {value}"));
    }

    /// Values of the same kind, each with another value of a label.
    pub(crate) fn counts<'a>(
        &mut self,
        (name, kind, help): (&str, &str, &str),
        label: &str,
        counts: impl IntoIterator<Item = (&'a str, u64)>,
    ) {
        let name = format!("waypost_{name}");
        self.head(&name, kind, help);
        for (value, count) in counts {
            self.line(format_args!("{name}{{{label}=\"{value}\"}} {count}"));
        }
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"));
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.0, "{line}").expect("a string takes everything");
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }
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

    /// Counts a rejected request; returns the number of them that a log line now stands for, unless
    /// there was a line a short time ago.
    pub(crate) fn denied(&self, why: Denied) -> Option<u64> {
        let mut denied = self.denied.lock();
        let rejections = &mut denied[why as usize];
        rejections.total += 1;
        rejections.unlogged += 1;
        if rejections.logged.is_some_and(|at| at.elapsed() < LOG_REJECTIONS_EVERY) {
            return None;
        }
        rejections.logged = Some(Instant::now());
        Some(std::mem::take(&mut rejections.unlogged))
    }

    pub(crate) fn refused_connection(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn embeddings(&self, embedded: u64, failed: u64) {
        self.embedded.fetch_add(embedded, Ordering::Relaxed);
        self.embed_failed.fetch_add(failed, Ordering::Relaxed);
    }

    /// Writes the counters, and the values of the process.
    pub(crate) fn write(&self, page: &mut Page) {
        let name = "waypost_http_requests_total";
        page.head(name, "counter", "Responses sent.");
        for ((method, route, status), count) in self.requests.lock().iter() {
            page.line(format_args!(
                "{name}{{method=\"{method}\",route=\"{route}\",status=\"{status}\"}} {count}"
            ));
        }
        let name = "waypost_http_request_duration_seconds";
        page.head(name, "histogram", "Time from request to response.");
        for ((method, route), latency) in self.latencies.lock().iter() {
            latency.write(page, name, &format!("method=\"{method}\",route=\"{route}\""));
        }
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let denied = self.denied.lock();
        let counts = Denied::ALL.map(|why| (why.as_str(), denied[why as usize].total));
        drop(denied);
        let failures = ("auth_failures_total", "counter", "Requests without a valid token.");
        page.counts(failures, "reason", counts);
        let refused = read(&self.refused);
        page.counter("connections_refused_total", "Connections rejected over the limit.", refused);
        let embedded = read(&self.embedded);
        page.counter("embeddings_total", "Texts embedded in the background.", embedded);
        let failed = read(&self.embed_failed);
        page.counter("embedding_failures_total", "Texts that the model could not embed.", failed);
        page.gauge("http_requests_in_flight", "Requests in progress.", read(&self.in_flight));
        let name = "waypost_build_info";
        page.head(name, "gauge", "Version of the service.");
        page.line(format_args!("{name}{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION")));
        for (name, kind, help, value) in process::values() {
            let Some(value) = value else { continue };
            let name = format!("process_{name}");
            page.head(&name, kind, help);
            page.line(format_args!("{name} {value}"));
        }
        let name = "waypost_sync_duration_seconds";
        page.head(name, "histogram", "Duration of a log sync.");
        SYNCS.lock().write(page, name, "");
    }
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
