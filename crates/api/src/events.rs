//! Events on the wire.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

use crate::{Scalar, Time, wire};

/// Body of `POST /api/events`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PublishRequest {
    /// What happened: `namespace:name`, each of 1 to 64 letters, digits, `_` and `-`. The
    /// namespaces `flow`, `memory` and `system` are the service's own.
    #[serde(rename = "type")]
    pub kind: String,
    /// What there is to say about it: at most 64 names with a string or a number each. A boolean
    /// is stored as `"true"` or `"false"`.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = std::collections::BTreeMap<String, Scalar>))]
    pub data: EventData,
}

/// The names and values of an event, in the order given.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EventData(pub Vec<(String, Scalar)>);

/// An event that was published.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Its place in the one order of all events: 1, 2, 3 and so on, without gaps.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub id: u64,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: String,
    /// What there is to say about it.
    #[cfg_attr(feature = "openapi", schema(value_type = std::collections::BTreeMap<String, Scalar>))]
    pub data: EventData,
    /// When it was published. For people: nothing is ordered by it.
    pub time: Time,
    /// Who published it: `token:` and a token's id, or a part of the service.
    pub source: String,
    /// The first event of the chain that led to it; absent if it came from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<u64>,
    /// What published it on behalf of another event, such as a flow's run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The space of the memory or of the token that it came of; absent if it belongs to none and is
    /// for tokens of all spaces only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<String>,
}

/// Answer of `POST /api/events`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Published {
    /// The event.
    #[serde(flatten)]
    pub event: Event,
    /// Whether it had been published before with the same idempotency key.
    pub duplicate: bool,
}

/// Query parameters of `GET /api/events`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EventsRequest {
    /// How many at most: 1 to 1000, by default 100.
    #[serde(
        default,
        deserialize_with = "wire::optional_whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub limit: Option<u64>,
    /// Only events of this type; with a `*` at its end, of all types that begin so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Only events after this one, from the oldest of them on; without it the newest are read.
    #[serde(
        default,
        deserialize_with = "wire::optional_whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub after: Option<u64>,
    /// Only events before this one.
    #[serde(
        default,
        deserialize_with = "wire::optional_whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub before: Option<u64>,
    /// Only events published at or after this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}

/// Query parameters of `GET /api/events/stream`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StreamRequest {
    /// Only events of this type; with a `*` at its end, of all types that begin so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Begin after this event, 0 for all that are kept; without it only new events come. The
    /// header `Last-Event-ID` goes before it.
    #[serde(
        default,
        deserialize_with = "wire::optional_whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub after: Option<u64>,
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
