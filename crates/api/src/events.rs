//! Events on the wire.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};
use waypost_time::Timestamp;

use crate::limits::{Check, Faults, LIMIT_MAX};
use crate::{Scalar, wire};

/// Body of `POST /api/events`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PublishRequest {
    /// The event's type, `namespace:name`, each with 1 to 64 letters, digits, `_` and `-`. The namespaces `flow`,
    /// `memory` and `system` are reserved for the service.
    #[serde(rename = "type")]
    pub kind: String,
    /// The event's data: at most 64 keys, each with a string or number. A boolean is stored as `"true"` or `"false"`.
    #[serde(default)]
    #[schema(value_type = std::collections::BTreeMap<String, Scalar>)]
    pub data: EventData,
}

impl Check for PublishRequest {
    // The event bus decides which events are valid.
    fn check(&self, _faults: &mut Faults) {}
}

/// The names and values of an event, in the order given.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EventData(pub Vec<(String, Scalar)>);

/// An event that was published.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Its position in the total order of events: 1, 2, 3 and so on, without gaps.
    #[schema(minimum = 1)]
    pub id: u64,
    /// The event's type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The event's data.
    #[schema(value_type = std::collections::BTreeMap<String, Scalar>)]
    pub data: EventData,
    /// When it was published; events are ordered by id, not by time.
    pub time: Timestamp,
    /// The publisher: `token:` and a token's id, or a component of the service.
    pub source: String,
    /// The first event of the chain that caused it; absent if it came from outside.
    pub root: Option<u64>,
    /// The component that published it because of another event, such as a flow's run.
    pub cause: Option<String>,
    /// The space of the memory or token that caused it; if absent, only tokens for all spaces can read it.
    pub space: Option<String>,
}

/// Response of `POST /api/events`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Published {
    /// The event.
    #[serde(flatten)]
    pub event: Event,
    /// Whether it had already been published with the same idempotency key.
    pub duplicate: bool,
}

/// Query parameters of `GET /api/events`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EventsRequest {
    /// Maximum number of results: 1 to 1000; default: 100.
    #[serde(default, deserialize_with = "wire::optional_whole")]
    pub limit: Option<u64>,
    /// Only events of this type; a trailing `*` matches all types with that prefix.
    pub pattern: Option<String>,
    /// Only events after this one, starting with the oldest; default: the newest events.
    #[serde(default, deserialize_with = "wire::optional_whole")]
    pub after: Option<u64>,
    /// Only events before this one.
    #[serde(default, deserialize_with = "wire::optional_whole")]
    pub before: Option<u64>,
    /// Only events published at or after this time.
    pub since: Option<Timestamp>,
}

impl Check for EventsRequest {
    fn check(&self, faults: &mut Faults) {
        faults.range("limit", self.limit, LIMIT_MAX);
    }
}

/// Query parameters of `GET /api/events/stream`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StreamRequest {
    /// Only events of this type; a trailing `*` matches all types with that prefix.
    pub pattern: Option<String>,
    /// Start after this event; 0 starts with the oldest; default: only new events. The header
    /// `Last-Event-ID` takes precedence.
    #[serde(default, deserialize_with = "wire::optional_whole")]
    pub after: Option<u64>,
}

impl Check for StreamRequest {
    fn check(&self, _faults: &mut Faults) {}
}

impl Serialize for EventData {
    fn serialize<S: Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        let mut map = output.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for EventData {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = EventData;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<EventData, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(EventData(entries))
            }
        }
        input.deserialize_map(Entries)
    }
}
