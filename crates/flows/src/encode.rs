//! Encodings of texts in other notations.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use serde::Serialize;
use waypost_events::{Data, Event, EventType, Value};
use waypost_time::Timestamp;

/// As in a URL (RFC 3986, section 2.1): everything but unreserved characters is escaped.
pub(crate) fn percent_encoded(text: &str) -> PercentEncode<'_> {
    const RESERVED: &AsciiSet =
        &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(text, RESERVED)
}

/// An event as programs and web hooks receive it: the object that the service returns, in one line.
pub(crate) fn event_json(event: &Event) -> String {
    #[derive(Serialize)]
    struct Told<'a> {
        id: u64,
        #[serde(rename = "type")]
        kind: &'a EventType,
        data: &'a Data,
        time: Timestamp,
        source: &'a str,
    }

    let told = Told {
        id: event.id,
        kind: &event.kind,
        data: &event.data,
        time: event.time,
        source: &event.source,
    };
    json(&told)
}

/// Names and values as a JSON object, in the given order.
pub(crate) fn object_json(values: &[(&str, Value)]) -> String {
    let fields = values.iter().map(|(name, value)| format!("{}:{}", json(name), json(value)));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

fn json(it: &impl Serialize) -> String {
    serde_json::to_string(it).expect("texts and finite numbers always become JSON")
}
