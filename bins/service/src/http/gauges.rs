//! The metrics of the service, with the values of its parts at the moment.

use std::collections::BTreeMap;

use waypost_api::{ModelState, RunState, Vocabulary};

use crate::app::App;
use crate::damage::Damaged;
use crate::http::wire;
use crate::metrics::Page;

/// All metrics, in Prometheus' text format.
pub(crate) fn text(app: &App) -> waypost_memory::Result<String> {
    let mut page = Page::default();
    app.metrics.write(&mut page);
    let waiting = app.waiting.bytes() as u64;
    page.gauge("http_bytes_waiting", "Bytes of responses that clients have not read.", waiting);
    page.gauge("queue_reads", "Reading calls that wait.", app.reads.queued() as u64);
    page.gauge("queue_writes", "Writing calls that wait.", app.writes.queued() as u64);
    page.gauge("uptime_seconds", "Seconds since the start.", app.started.elapsed().as_secs());
    of_memories(app, &mut page)?;
    of_context(app, &mut page);
    of_events(app, &mut page);
    of_cluster(app, &mut page);
    let damage = app.damage();
    let records = |store| {
        let of_store = damage.iter().filter(|damage| damage.store == store);
        (store, of_store.map(Damaged::records).sum())
    };
    let help = "Records that reads have found damaged since the start.";
    let counts = ["memory", "events", "flows", "recall"].map(records);
    page.counts(("damaged_records", "gauge", help), "store", counts);
    Ok(page.into_text())
}

fn of_memories(app: &App, page: &mut Page) -> waypost_memory::Result<()> {
    let store = app.counted()?;
    page.gauge("memories", "Memories in the store.", store.memories);
    page.gauge("links", "Links in the store.", store.links);
    page.gauge("memories_embedded", "Memories with a vector.", store.embedded);
    page.gauge("memories_pending", "Memories that wait for a vector.", store.pending_embeddings);
    page.gauge("storage_bytes", "Bytes on disk.", app.storage_bytes());
    let free = app.free_bytes().unwrap_or(0);
    page.gauge("disk_free_bytes", "Free bytes on the disk of the data folder.", free);
    page.gauge("index_documents", "Memories in the index.", store.index.documents);
    page.gauge("index_terms", "Terms in the index.", store.index.terms);
    page.gauge("index_bytes", "Bytes of the index in memory.", store.index.bytes);
    let fault = u64::from(store.write_fault.is_some());
    page.gauge("write_fault", "1 if the store is read-only until the next start.", fault);
    let ready = u64::from(app.model.status().state == ModelState::Ready);
    page.gauge("model_ready", "1 if the embedding model has loaded.", ready);
    Ok(())
}

fn of_context(app: &App, page: &mut Page) {
    let context = wire::context::status(&app.context);
    page.gauge("context_files", "Indexed project files.", context.files);
    page.gauge("context_chunks", "Pieces of them.", context.chunks.values().sum());
    page.gauge("context_pending", "Project files waiting to be indexed.", context.pending);
    let skipped = context.skipped.values().map(|value| value.files).sum();
    page.gauge("context_skipped", "Project files excluded from the index.", skipped);
    page.gauge("context_vectors", "Pieces with a vector.", context.vectors);
    let pending = context.vectors_pending;
    page.gauge("context_vectors_pending", "Sections waiting for a vector.", pending);
    page.gauge("context_bytes", "Memory of the context index, in bytes.", context.memory_bytes);
}

fn of_events(app: &App, page: &mut Page) {
    let bus = &app.events;
    let last = bus.last();
    page.counter("events_published_total", "Events ever published.", last);
    page.gauge("events", "Stored events.", (last + 1).saturating_sub(bus.first()));
    page.gauge("events_last", "The id of the last event.", last);
    page.gauge("events_bytes", "Bytes of the event log.", bus.bytes());
    let fault = u64::from(bus.fault().is_some());
    page.gauge("events_fault", "1 if the event bus is read-only until the next start.", fault);
    let halted = u64::from(app.flows.halt().is_some());
    page.gauge("flows_halted", "1 if flows stand still.", halted);
    let engine = app.flows.engine();
    page.gauge("flows", "Flows in force.", engine.flows().len() as u64);
    page.gauge("flows_decided", "The last event that flows have seen.", engine.cursor());
    let stages = engine.stages().iter();
    let runs: BTreeMap<&str, u64> =
        stages.map(|(stage, count)| (wire::flows::stage(*stage).as_str(), *count)).collect();
    let ended = engine.ends().iter();
    let ended: BTreeMap<&str, u64> =
        ended.map(|(end, count)| (wire::flows::state(*end).as_str(), *count)).collect();
    let of = |counts: &BTreeMap<&str, u64>, state: RunState| {
        (state.as_str(), counts.get(state.as_str()).copied().unwrap_or(0))
    };
    let ends = [RunState::Succeeded, RunState::Failed, RunState::Skipped, RunState::Cancelled];
    let help = ("flow_runs", "gauge", "Runs in the history by state.");
    page.counts(help, "state", RunState::ALL.iter().map(|state| of(&runs, *state)));
    let help = ("flow_runs_ended_total", "counter", "Runs that ended since the start.");
    page.counts(help, "state", ends.map(|state| of(&ended, state)));
}

/// The values of a member of a cluster.
fn of_cluster(app: &App, page: &mut Page) {
    let Some(cluster) = &app.cluster else { return };
    let help = "The last record of the journal that this machine has applied.";
    page.gauge("cluster_applied", help, cluster.applied());
    let help = "The last record of the journal when this machine last looked.";
    page.gauge("cluster_journal_end", help, cluster.hub.end());
    let help = "1 if this machine runs the flows of the cluster.";
    page.gauge("cluster_leads", help, u64::from(app.leadership.leads()));
    let help = "Seconds since the database of the cluster last answered.";
    page.gauge("cluster_contact_age_seconds", help, cluster.hub.contact().age.as_secs());
}
