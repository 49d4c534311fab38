//! The journal's records: what has happened to flows and their runs, as stored on disk.

use serde::{Deserialize, Serialize};
use waypost_events::{Data, EventType};
use waypost_time::{Timestamp, millis};

use crate::run::{End, Report};
use crate::{ContentHash, Error, Event, FlowName, Leader, Lineage, RunId};

/// Size of the journal's segments, in bytes: small, so that compaction frees space soon.
const SEGMENT_BYTES: u64 = 8 << 20;
/// The kind of every record in the log.
const KIND: u8 = 1;
/// The version of their payloads: JSON of [`Record`].
const VERSION: u8 = 1;
/// The version of records that earlier releases do not know: they must not treat them as damage.
const VERSION_LOST: u8 = 2;
/// The version of records that say which machine something ran on.
const VERSION_MACHINE: u8 = 3;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(crate) enum Record {
    /// The first record: distinguishes this journal's runs from another project's.
    Journal {
        identity: String,
    },
    /// Every event up to it has been evaluated.
    Cursor {
        event: u64,
    },
    /// The flow is in force and evaluates events after this one.
    Joined {
        flow: FlowName,
        from: u64,
    },
    /// The flow is no longer in force; events up to this one were evaluated for it.
    Left {
        flow: FlowName,
        at: u64,
    },
    /// Past events are to be evaluated for the flow.
    Filling {
        flow: FlowName,
        replay: u32,
        after: u64,
        until: u64,
    },
    /// They have been evaluated, up to this one.
    Filled {
        flow: FlowName,
        replay: u32,
        through: u64,
        until: u64,
    },
    /// The text of a flow file that runs keep.
    Defined {
        hash: ContentHash,
        file: String,
        text: String,
    },
    /// The event of the runs created or retried next.
    Seen(StoredEvent),
    Created(Created),
    /// A skipped run: created and ended at once.
    Skipped {
        run: RunId,
        hash: ContentHash,
        kind: EventType,
        #[serde(rename = "at_ms", with = "millis")]
        at: Timestamp,
        why: String,
    },
    Begun {
        run: RunId,
        step: u16,
        attempt: u32,
        #[serde(rename = "at_ms", with = "millis")]
        at: Timestamp,
        /// The machine that runs it, if several share the journal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        machine: Option<String>,
    },
    Spawned {
        run: RunId,
        leader: Leader,
    },
    Tried {
        run: RunId,
        step: u16,
        attempt: u32,
        #[serde(rename = "at_ms", with = "millis")]
        at: Timestamp,
        report: Report,
        then: Then,
        /// As in the record of its start, which compaction may drop.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        machine: Option<String>,
    },
    Cancelling {
        run: RunId,
        why: String,
    },
    Ended {
        run: RunId,
        #[serde(rename = "at_ms", with = "millis")]
        at: Timestamp,
        end: End,
        why: String,
    },
    /// A person requested a retry from the failed step.
    Retried {
        run: RunId,
    },
    /// Its end was published.
    #[serde(rename = "told")]
    EndPublished {
        run: RunId,
    },
    Opened {
        flow: FlowName,
        #[serde(rename = "at_ms", with = "millis")]
        at: Timestamp,
    },
    Closed {
        flow: FlowName,
    },
    Paused {
        flow: FlowName,
        why: String,
    },
    Resumed {
        flow: FlowName,
    },
    Forgotten {
        runs: Vec<RunId>,
    },
    /// A repair found the journal without the records `from` to `to`. The consequences were
    /// recorded with it; later replays get numbers above `replays`.
    Lost {
        from: u64,
        to: u64,
        #[serde(rename = "at_ms", with = "millis")]
        at: Timestamp,
        replays: u32,
    },
}

/// The options for opening the journal's log.
pub(crate) fn log_options(reached: u64) -> waypost_log::Options {
    waypost_log::Options::default()
        .with_segment_bytes(SEGMENT_BYTES)
        .with_reached(reached)
        .with_can_read(|kind, version| {
            kind == KIND && (VERSION..=VERSION_MACHINE).contains(&version)
        })
}

/// A run at its creation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Created {
    pub(crate) run: RunId,
    pub(crate) hash: ContentHash,
    #[serde(rename = "at_ms", with = "millis")]
    pub(crate) at: Timestamp,
    /// The value of `concurrency.key`.
    pub(crate) key: Option<String>,
    /// The value of `rate_limit.key`, within another option: whether the flow has a rate limit.
    pub(crate) rate: Option<Keyed>,
    pub(crate) quiet: Option<Quiet>,
    /// Whether it counts for the breaker: runs for events of the past do not.
    pub(crate) counts: bool,
}

/// Counted by the value of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Keyed {
    pub(crate) key: Option<String>,
    /// For how long, in milliseconds.
    pub(crate) per_ms: u64,
}

/// What a run waits for because of a `debounce`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Quiet {
    pub(crate) key: Option<String>,
    #[serde(rename = "until_ms", with = "millis")]
    pub(crate) until: Timestamp,
    #[serde(rename = "deadline_ms", with = "millis::optional")]
    pub(crate) deadline: Option<Timestamp>,
}

/// What follows an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Then {
    /// The next step, or the end if there is none.
    Next,
    /// The same step again, at this time; it counts as a failure.
    Retry(#[serde(with = "millis")] Timestamp),
    /// The same step again as soon as there is room; it counts as an interruption.
    Again,
    /// The end, which is a separate record.
    End,
}

/// An event as stored in the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredEvent {
    id: u64,
    #[serde(rename = "type")]
    kind: EventType,
    data: Data,
    #[serde(rename = "time_ms", with = "millis")]
    time: Timestamp,
    source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    root: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    #[serde(default)]
    depth: u8,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    flows: Vec<String>,
}

impl From<&Event> for StoredEvent {
    fn from(event: &Event) -> Self {
        Self {
            id: event.id,
            kind: event.kind.clone(),
            data: event.data.clone(),
            time: event.time,
            source: event.source.clone(),
            root: event.lineage.root,
            cause: event.lineage.cause.clone(),
            depth: event.lineage.depth,
            flows: event.lineage.flows.clone(),
        }
    }
}

impl From<StoredEvent> for Event {
    fn from(it: StoredEvent) -> Self {
        Self {
            id: it.id,
            kind: it.kind,
            data: it.data,
            time: it.time,
            source: it.source,
            lineage: Lineage { root: it.root, cause: it.cause, depth: it.depth, flows: it.flows },
            // A run needs none: flows are for readers of all spaces.
            space: None,
        }
    }
}

impl Record {
    /// Whether losing it in a power cut would do no harm: it can be created again, or is useful
    /// only for this boot.
    pub(crate) fn can_wait(&self) -> bool {
        matches!(
            self,
            Self::Cursor { .. }
                | Self::Filled { .. }
                | Self::Spawned { .. }
                | Self::EndPublished { .. }
        )
    }

    /// When it was created, if it says so.
    pub(crate) fn at(&self) -> Option<Timestamp> {
        match self {
            Self::Created(it) => Some(it.at),
            Self::Skipped { at, .. }
            | Self::Begun { at, .. }
            | Self::Tried { at, .. }
            | Self::Ended { at, .. }
            | Self::Opened { at, .. }
            | Self::Lost { at, .. } => Some(*at),
            _ => None,
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("names, texts and numbers always become JSON")
    }

    pub(crate) fn entry<'a>(&self, payload: &'a [u8]) -> waypost_log::Record<'a> {
        let version = match self {
            Self::Lost { .. } => VERSION_LOST,
            Self::Begun { machine: Some(_), .. } | Self::Tried { machine: Some(_), .. } => {
                VERSION_MACHINE
            }
            _ => VERSION,
        };
        waypost_log::Record { kind: KIND, version, payload }
    }

    /// The record of an entry of the journal.
    pub(crate) fn decode(entry: &waypost_log::Entry) -> Result<Self, Error> {
        let (sequence, kind, version) = (entry.sequence, entry.kind, entry.version);
        let newer = |message| Error::Newer {
            what: format!("record {sequence} of the journal of flows"),
            message,
        };
        if kind != KIND || !(VERSION..=VERSION_MACHINE).contains(&version) {
            return Err(newer(format!(
                "it has kind {kind} and version {version}; this release reads kind {KIND} up to version {VERSION_MACHINE}"
            )));
        }
        serde_json::from_slice(&entry.payload).map_err(|error| {
            let message = error.to_string();
            // The bytes are as written: their checksum is valid. An unknown name here is from a
            // later release.
            if message.starts_with("unknown variant") || message.starts_with("unknown field") {
                newer(message)
            } else {
                Error::Record { sequence, message }
            }
        })
    }
}

impl StoredEvent {
    pub(crate) fn id(&self) -> u64 {
        self.id
    }
}
