//! A published event, and a draft of one.

use std::str::FromStr;

use waypost_time::Timestamp;

use crate::{Data, EventType, Refused};

/// Maximum length of a source, in bytes.
pub const SOURCE_BYTES_MAX: usize = 256;
/// Maximum length of the name of a cause or of a flow in a lineage, in bytes.
pub const LINEAGE_NAME_BYTES_MAX: usize = 256;
/// Maximum number of flows in a lineage.
pub const LINEAGE_FLOWS_MAX: usize = 64;
/// Maximum length of the name of a space, in bytes: 128 characters.
pub const SPACE_BYTES_MAX: usize = 512;
/// Maximum length of an idempotency key, in characters.
pub const IDEMPOTENCY_KEY_BYTES_MAX: usize = 128;

/// An event that has been published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its position in the total order of events: 1, 2, 3 and so on, without gaps.
    pub id: u64,
    /// The type.
    pub kind: EventType,
    /// The data.
    pub data: Data,
    /// When it was published. For people: nothing is ordered by it.
    pub time: Timestamp,
    /// Who published it.
    pub source: String,
    /// The events and flows that led to it.
    pub lineage: Lineage,
    /// The space that it belongs to. Only readers of all spaces see an event without one.
    pub space: Option<String>,
}

/// The events and flows that led to an event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lineage {
    /// The first event of the chain; `None` for an event from outside, which starts its own chain.
    pub root: Option<u64>,
    /// What published it on behalf of another event, such as the id of a run.
    pub cause: Option<String>,
    /// The number of steps from the first event of the chain: 0 for an event from outside.
    pub depth: u8,
    /// The flows in between, in order.
    pub flows: Vec<String>,
}

/// An event to publish.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Draft {
    /// The type.
    pub kind: EventType,
    /// The data.
    pub data: Data,
    /// The publisher: at most [`SOURCE_BYTES_MAX`] bytes without control characters.
    pub source: String,
    /// The events and flows that led to it.
    pub lineage: Lineage,
    /// The space that it belongs to: at most [`SPACE_BYTES_MAX`] bytes without control characters.
    pub space: Option<String>,
    /// Makes it safe to publish the same draft again if the response was lost.
    pub key: Option<IdempotencyKey>,
}

/// The result of publishing a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// The event: the new one, or the earlier one with the same idempotency key.
    pub event: Event,
    /// Whether the event already existed and nothing was published.
    pub duplicate: bool,
}

impl Draft {
    /// A draft from outside, without a space and without a key.
    pub fn new(kind: EventType, data: Data, source: impl Into<String>) -> Self {
        let (source, lineage) = (source.into(), Lineage::default());
        Self { kind, data, source, lineage, space: None, key: None }
    }

    /// The same with other data.
    #[must_use]
    pub fn with_data(self, data: Data) -> Self {
        Self { data, ..self }
    }

    /// The same from another source.
    #[must_use]
    pub fn with_source(self, source: impl Into<String>) -> Self {
        Self { source: source.into(), ..self }
    }

    /// The same with what it came of.
    #[must_use]
    pub fn with_lineage(self, lineage: Lineage) -> Self {
        Self { lineage, ..self }
    }

    /// The same in this space.
    #[must_use]
    pub fn with_space(self, space: impl Into<String>) -> Self {
        Self { space: Some(space.into()), ..self }
    }

    /// The same, safe to publish again.
    #[must_use]
    pub fn with_key(self, key: IdempotencyKey) -> Self {
        Self { key: Some(key), ..self }
    }

    pub(crate) fn check(&self) -> Result<(), Refused> {
        let invalid = |field, reason: String| Err(Refused::Invalid { field, reason });
        let is_name = |it: &str, max: usize| it.len() <= max && !it.contains(char::is_control);
        if !is_name(&self.source, SOURCE_BYTES_MAX) {
            let reason =
                format!("must have at most {SOURCE_BYTES_MAX} bytes and no control characters");
            return invalid("source", reason);
        }
        let is_space = |text: &&str| !text.is_empty() && is_name(text, SPACE_BYTES_MAX);
        if self.space.as_deref().is_some_and(|space| !is_space(&space)) {
            let reason = format!("must have 1 to {SPACE_BYTES_MAX} bytes and no control character");
            return invalid("space", reason);
        }
        let names = self.lineage.cause.iter().chain(&self.lineage.flows);
        if names.into_iter().any(|name| !is_name(name, LINEAGE_NAME_BYTES_MAX)) {
            let reason = format!(
                "must have names with at most {LINEAGE_NAME_BYTES_MAX} bytes and no control characters"
            );
            return invalid("lineage", reason);
        }
        if self.lineage.flows.len() > LINEAGE_FLOWS_MAX {
            return invalid("lineage", format!("must name at most {LINEAGE_FLOWS_MAX} flows"));
        }
        if self.lineage.root == Some(0) {
            return invalid("lineage", "must have a root above 0, or none".to_owned());
        }
        Ok(())
    }
}

/// Makes it safe to publish the same draft twice: 1 to 128 visible ASCII characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The key itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for IdempotencyKey {
    type Err = InvalidKey;

    fn from_str(text: &str) -> Result<Self, InvalidKey> {
        if text.is_empty() || text.len() > IDEMPOTENCY_KEY_BYTES_MAX {
            return Err(InvalidKey { what: format!("it has {} bytes", text.len()) });
        }
        if let Some(at) = text.bytes().position(|byte| !byte.is_ascii_graphic()) {
            return Err(InvalidKey { what: format!("byte {} is invalid", at + 1) });
        }
        Ok(Self(text.to_owned()))
    }
}

/// An invalid idempotency key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}; an idempotency key has 1 to {IDEMPOTENCY_KEY_BYTES_MAX} visible ASCII characters")]
pub struct InvalidKey {
    what: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_short_and_visible() {
        for text in ["a", "~!", &"k".repeat(128)] {
            assert_eq!(text.parse::<IdempotencyKey>().unwrap().as_str(), text);
        }
        for (text, said) in [
            ("", "0 bytes"),
            ("a b", "byte 2"),
            ("a\n", "byte 2"),
            ("\u{e9}", "byte 1"),
            (&"k".repeat(129), "129 bytes"),
        ] {
            let error = text.parse::<IdempotencyKey>().unwrap_err().to_string();
            assert!(error.contains(said), "{text:?}: {error}");
        }
    }
}
