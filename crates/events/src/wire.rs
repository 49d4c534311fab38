//! An event as a line of an export.

use serde::Serialize;
use waypost_time::{Timestamp, millis};

use crate::{Data, Event, EventType};

/// Borrows an event, with the names and the order of the export.
#[derive(Debug, Serialize)]
pub(crate) struct Line<'a> {
    id: u64,
    #[serde(rename = "type")]
    kind: &'a EventType,
    data: &'a Data,
    #[serde(with = "millis")]
    time: Timestamp,
    source: &'a str,
    root: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'a str>,
    depth: u8,
    flows: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    space: Option<&'a str>,
}

pub(crate) fn line(event: &Event) -> Line<'_> {
    Line {
        id: event.id,
        kind: &event.kind,
        data: &event.data,
        time: event.time,
        source: &event.source,
        root: event.lineage.root.unwrap_or(event.id),
        cause: event.lineage.cause.as_deref(),
        depth: event.lineage.depth,
        flows: &event.lineage.flows,
        space: event.space.as_deref(),
    }
}
