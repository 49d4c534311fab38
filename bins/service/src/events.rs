//! The event bus: opening it and broadcasting new events.

pub(crate) mod broadcast;

use std::sync::Arc;

use anyhow::Context;
use waypost_api::{EventData, Scalar};
use waypost_events::{Bus, Data, Retention, Value};
use waypost_log::SharedJournal;

use crate::predecessor;
use crate::settings::Options;

/// Opens the bus, which is known to have `reached` that event, and logs the result.
pub(crate) fn open(
    options: &Options,
    reached: u64,
    shared: Option<Arc<dyn SharedJournal>>,
) -> anyhow::Result<Bus> {
    let keep = options.events;
    let mut retention = Retention::default();
    (retention.age, retention.events, retention.bytes) =
        (keep.keep_time, keep.keep_count, keep.keep_bytes);
    let mut bus_options =
        waypost_events::Options::default().with_retention(retention).with_reached(reached);
    bus_options.shared_journal = shared;
    let dir = options.data_dir.join("events");
    let owner = |error: &waypost_events::Error| match error {
        waypost_events::Error::Locked { pid, .. } => Some(pid.clone()),
        _ => None,
    };
    let (bus, opened) = predecessor::open(|| Bus::open(&dir, &bus_options), owner)
        .context("failed to open the event bus")?;
    if opened.truncated_bytes > 0 {
        let bytes = opened.truncated_bytes;
        tracing::warn!(
            bytes,
            "truncated an unfinished, unacknowledged write at the end of the event log"
        );
    }
    if let Some(why) = &opened.index_rebuilt {
        tracing::warn!(why, "rebuilt the event index from the log");
    }
    tracing::info!(events = opened.events, "opened the event bus");
    Ok(bus)
}

/// The data of an event as the wire has it.
pub(crate) fn wire_data(it: &Data) -> EventData {
    let value = |value: &Value| match value {
        Value::Text(text) => Scalar::String(text.clone()),
        Value::Number(number) => Scalar::Number(number.to_json()),
    };
    EventData(it.iter().map(|(key, it)| (key.to_owned(), value(it))).collect())
}
