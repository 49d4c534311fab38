//! Encodings of texts in other notations.

use std::fmt::Write;

use serde::Serialize;
use waypost_events::{Data, Event, EventType, Value};
use waypost_time::Timestamp;

/// As in a URL (RFC 3986, section 2.1): everything but unreserved characters is escaped.
pub(crate) fn percent_encoded(text: &str, digits: &[u8; 16]) -> String {
    let mut encoded = String::with_capacity(3 * text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let [high, low] = [byte >> 4, byte & 15].map(|it| digits[usize::from(it)]);
            encoded.extend(['%', char::from(high), char::from(low)]);
        }
    }
    encoded
}

/// The digits of escapes for output.
pub(crate) const UPPER: &[u8; 16] = b"0123456789ABCDEF";
/// The digits of escapes as other programs write them.
pub(crate) const LOWER: &[u8; 16] = b"0123456789abcdef";

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut hex, byte| {
        // Writing to a string cannot fail.
        write!(hex, "{byte:02x}").unwrap_or_default();
        hex
    })
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
