//! Runs: one execution of one flow, for one event.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use waypost_events::EventType;
use waypost_time::Timestamp;

use crate::record::Quiet;
use crate::scalar::from_text;
use crate::set::FlowEntry;
use crate::{ContentHash, Event, FlowName, Leader, Lineage};

/// Identifies a run: a flow, its event, and the number of the replay of that event.
///
/// As a text it is `flow.event`, or `flow.event.replay` for a replay. It is created once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(into = "String")]
pub struct RunId {
    /// The flow.
    pub flow: FlowName,
    /// The event's id.
    pub event: u64,
    /// 0 for the event itself, 1 and more for replays.
    pub replay: u32,
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.flow, self.event)?;
        if self.replay > 0 { write!(f, ".{}", self.replay) } else { Ok(()) }
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.to_string()
    }
}

impl FromStr for RunId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = || {
            format!("{text:?} is not a valid run id; expected flow.event, such as auto-merge.12")
        };
        let mut parts = text.split('.');
        let flow = parts.next().unwrap_or_default().parse().map_err(|_| invalid())?;
        let event = parts.next().and_then(|part| part.parse().ok()).ok_or_else(invalid)?;
        let replay = parts.next().map_or(Ok(0), str::parse).map_err(|_| invalid())?;
        let id = Self { flow, event, replay };
        // One text for each run: no leading zeros, no fourth part.
        if id.to_string() == text { Ok(id) } else { Err(invalid()) }
    }
}

from_text!(RunId: "a run, flow.event");

/// Identifies one attempt of one action of a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId {
    /// The run.
    pub run: RunId,
    /// The action, from 0.
    pub step: u16,
    /// The number of the attempt, from 1.
    pub attempt: u32,
}

/// The state of a run and what it has done.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// The hash of the file that its flow was read from then: a run keeps its definition.
    pub definition: ContentHash,
    /// The type of its event.
    pub kind: EventType,
    /// When it was created.
    pub created: Timestamp,
    /// The value of its flow's `concurrency.key`.
    pub key: Option<String>,
    /// Its phase.
    pub phase: Phase,
    /// The attempts, in order.
    pub tries: Vec<Try>,
    /// Why it is to be ended, if that was requested while an action was running.
    pub cancelling: Option<String>,
    /// Its position in the chain of runs.
    pub lineage: Lineage,
    /// The machine that started its last action, if several share the journal.
    pub machine: Option<String>,
    /// Set until the run has ended.
    pub(crate) event: Option<Arc<Event>>,
    /// From its definition; set from when the engine is open until the run has ended.
    pub(crate) entry: Option<Arc<FlowEntry>>,
    /// What it waits for because of a `debounce`.
    pub(crate) quiet: Option<Quiet>,
    pub(crate) step: u16,
    /// Attempts of the step so far.
    pub(crate) attempt: u32,
    pub(crate) failures: u32,
    pub(crate) interruptions: u32,
    /// Whether its end was announced.
    pub(crate) is_end_published: bool,
    /// The position of its event's record in the journal.
    pub(crate) place: u64,
}

impl Run {
    pub(crate) fn new(
        id: &RunId,
        definition: &ContentHash,
        kind: &EventType,
        created: Timestamp,
    ) -> Self {
        Self {
            id: id.clone(),
            definition: definition.clone(),
            kind: kind.clone(),
            created,
            key: None,
            phase: Phase::Queued,
            tries: Vec::new(),
            cancelling: None,
            lineage: Lineage::default(),
            machine: None,
            event: None,
            entry: None,
            quiet: None,
            step: 0,
            attempt: 0,
            failures: 0,
            interruptions: 0,
            is_end_published: false,
            place: 0,
        }
    }
}

/// The phase of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// Waits until no further events come (`debounce`).
    Quiet {
        /// Until then.
        until: Timestamp,
    },
    /// Waits before retrying an action.
    Retrying {
        /// Until then.
        until: Timestamp,
    },
    /// Waits for its turn.
    Queued,
    /// An action runs.
    Running {
        /// Since then.
        since: Timestamp,
        /// Its process, once it is known.
        leader: Option<Leader>,
    },
    /// It has ended.
    Ended {
        /// How.
        end: End,
        /// Why.
        why: String,
        /// When.
        at: Timestamp,
    },
}

/// The phase of a run, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// It waits until no further events come.
    Quiet,
    /// It waits before retrying an action.
    Retrying,
    /// It waits for its turn.
    Queued,
    /// An action runs.
    Running,
    /// It has ended.
    Ended(End),
}

impl Phase {
    /// The stage of a run in this phase.
    pub fn stage(&self) -> Stage {
        match self {
            Self::Quiet { .. } => Stage::Quiet,
            Self::Retrying { .. } => Stage::Retrying,
            Self::Queued => Stage::Queued,
            Self::Running { .. } => Stage::Running,
            Self::Ended { end, .. } => Stage::Ended(*end),
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// Every action that had to succeed did.
    Succeeded,
    /// An action failed for good, with or without retries, or was interrupted and may not be
    /// repeated.
    Failed,
    /// The name in earlier releases for a failed run whose retries were exhausted. No run ends like
    /// this any more; old journals contain it.
    Dead,
    /// It was never started.
    Skipped,
    /// A person, or a newer run, ended it.
    Cancelled,
}

/// A completed attempt of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Try {
    /// The action, from 0.
    pub step: u16,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// When it ended.
    pub at: Timestamp,
    /// Its result.
    pub report: Report,
    /// The machine that ran it and has its output, if several share the journal.
    pub machine: Option<String>,
}

/// The result of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The result in one word.
    pub outcome: Outcome,
    /// The result in a few words: `exit status 3`, `ended by signal 9`, `the event has no data.pr`.
    pub detail: String,
    /// Whether processes that it left running held its output open, and were ended.
    #[serde(default, skip_serializing_if = "is_false")]
    pub leaked: bool,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// Bytes written to standard output, stored or not.
    #[serde(default)]
    pub stdout_bytes: u64,
    /// Bytes written to standard error, stored or not.
    #[serde(default)]
    pub stderr_bytes: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(it: &bool) -> bool {
    !it
}

impl Report {
    /// A report about something without output and with a negligible duration.
    pub fn new(outcome: Outcome, detail: impl Into<String>) -> Self {
        Self {
            outcome,
            detail: detail.into(),
            leaked: false,
            took_ms: 0,
            stdout_bytes: 0,
            stderr_bytes: 0,
        }
    }
}

/// The result of an attempt, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It succeeded.
    Succeeded,
    /// It ran and ended with an error.
    Failed,
    /// It took too long and was ended.
    TimedOut,
    /// It could not be started: retrying would change nothing.
    Refused,
    /// It was ended because its run was cancelled.
    Cancelled,
    /// The service stopped while it was running.
    Interrupted,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_one_text() {
        for text in ["a.1", "a-b_c.18446744073709551615", "a.1.1"] {
            assert_eq!(text.parse::<RunId>().unwrap().to_string(), text);
        }
        for text in ["", "a", "a.", "a.01", "a.1.0", "a.1.1.1", ".1", "a.x", "a.-1", "a.1."] {
            let error = text.parse::<RunId>().unwrap_err();
            assert!(error.contains("flow.event"), "{error}");
        }
    }
}
