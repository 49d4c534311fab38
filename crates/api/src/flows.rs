//! Flows and their runs on the wire.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};
use waypost_time::Timestamp;

use crate::events::EventData;
use crate::limits::{Check, Faults, ID_MAX, LIMIT_MAX, NOTE_CHARS_MAX};
use crate::{PublishRequest, Vocabulary, wire};

/// Response of `GET /api/flows`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Flows {
    /// The active flows, in the order of the files.
    pub flows: Vec<FlowInfo>,
    /// The flow files, by name.
    pub files: Vec<FlowFileInfo>,
    /// Why flows have stopped, and the remedy.
    pub halted: Option<String>,
}

/// An active flow and its state.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlowInfo {
    /// Its name.
    pub name: String,
    /// The file that it is in.
    pub file: String,
    /// A description.
    pub description: Option<String>,
    /// Whether it is enabled.
    pub enabled: bool,
    /// The pattern of event types that trigger it.
    pub pattern: String,
    /// Its condition.
    pub condition: Option<String>,
    /// Why it is paused, if it is.
    pub paused: Option<String>,
    /// The keys of values that must now be plain, in a file that was approved by a release that
    /// allowed any text in commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub now_plain: Vec<String>,
    /// When its circuit breaker opened because it ran too often.
    pub throttled_since: Option<Timestamp>,
    /// Queued runs.
    pub queued: u64,
    /// Runs waiting for a debounce or for a retry.
    pub waiting: u64,
    /// Runs with a running action.
    pub running: u64,
    /// The run that has waited longest.
    pub oldest_waiting: Option<String>,
    /// Past events that it has yet to process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backfills: Vec<EventRange>,
    /// Number of past runs by final state.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ended: BTreeMap<String, u64>,
    /// The last run that failed or is dead.
    pub last_failure: Option<FlowFailure>,
}

/// A run that failed or is dead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlowFailure {
    /// The id of the run.
    pub run: String,
    /// Why it failed.
    pub why: String,
    /// When it ended.
    pub at: Timestamp,
}

/// A range of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventRange {
    /// The event before the first one.
    pub after: u64,
    /// The last event.
    pub until: u64,
}

/// A flow file and its state.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlowFileInfo {
    /// Its name in `.waypost/flows/`.
    pub name: String,
    /// SHA-256 of the active content; absent if there is none.
    pub in_force: Option<String>,
    /// SHA-256 of the file's content; absent if the file cannot be read.
    pub found: Option<String>,
    /// Why the file's content is not active.
    pub problem: Option<String>,
    /// What is pending approval: the file or the programs that it names, relative to the project.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<String>,
}

/// Response of `GET /api/flows/files/{name}`: the texts to compare before approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlowFileTexts {
    /// Its name.
    pub name: String,
    /// The last approved text; empty if there is none.
    pub in_force: String,
    /// The file's text.
    pub found: String,
    /// SHA-256 of the file's text.
    pub hash: String,
    /// Files of the project that its flows name as programs or scripts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<FlowProgram>,
}

/// A file of the project that a flow names as its program or script.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlowProgram {
    /// Relative to the project.
    pub file: String,
    /// SHA-256 of its content.
    pub hash: String,
    /// The last approved content, if it is text; empty if there is none.
    pub approved: String,
    /// Its content, if it is text; absent if it is not, or is larger than 1 MiB.
    pub found: Option<String>,
}

/// Body of `POST /api/flows/files/{name}/allow`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AllowRequest {
    /// SHA-256 of the reviewed text; any other text is not approved.
    pub hash: String,
    /// The SHA-256 of each program that its flows name, by file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub programs: BTreeMap<String, String>,
}

impl Check for AllowRequest {
    fn check(&self, faults: &mut Faults) {
        let is_hash =
            self.hash.len() == 64 && self.hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hash {
            faults.add("hash", "must be the SHA-256 of the text, 64 hexadecimal digits");
        }
        let is_hash =
            |text: &String| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !self.programs.values().all(is_hash) {
            faults.add("programs", "must be a SHA-256 of 64 hexadecimal digits for each program");
        }
    }
}

/// Query parameters of `GET /api/flows/runs`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunsRequest {
    /// Only runs of this flow.
    pub flow: Option<String>,
    /// Only runs in this state.
    pub state: Option<RunState>,
    /// Maximum number of results: 1 to 1000; default: 100.
    #[serde(default, deserialize_with = "wire::optional_whole")]
    pub limit: Option<u64>,
}

impl Check for RunsRequest {
    fn check(&self, faults: &mut Faults) {
        faults.range("limit", self.limit, LIMIT_MAX);
    }
}

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "`describe` says what each means")]
pub enum RunState {
    Quiet,
    /// It waits for the retry of an action.
    Retrying,
    Queued,
    /// An action is running.
    Running,
    Succeeded,
    Failed,
    Dead,
    Skipped,
    Cancelled,
}

impl Vocabulary for RunState {
    const ALL: &'static [Self] = &[
        Self::Quiet,
        Self::Retrying,
        Self::Queued,
        Self::Running,
        Self::Succeeded,
        Self::Failed,
        Self::Dead,
        Self::Skipped,
        Self::Cancelled,
    ];

    fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::Quiet => ("quiet", "It waits until no matching events arrive"),
            Self::Retrying => ("retrying", "It waits before an action is retried"),
            Self::Queued => ("queued", "It waits for its turn"),
            Self::Running => ("running", "An action is running"),
            Self::Succeeded => ("succeeded", "Every action that had to succeed did"),
            Self::Failed => ("failed", "An action failed for good"),
            Self::Dead => ("dead", "Earlier releases called a run failed without retries left so"),
            Self::Skipped => ("skipped", "It was never started"),
            Self::Cancelled => ("cancelled", "A request or a newer run ended it"),
        }
    }
}

/// One flow, run for one event.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Its id, `flow.event`, with `.replay` for a replay.
    pub id: String,
    /// The flow.
    pub flow: String,
    /// The event's id.
    pub event: u64,
    /// The event's type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its state.
    pub state: RunState,
    /// Why it ended in this state.
    pub why: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// When it continues, if it waits for a time.
    pub until: Option<Timestamp>,
    /// SHA-256 of its flow file.
    pub definition: String,
    /// The attempts, in order.
    pub tries: Vec<RunTry>,
}

/// One attempt of an action.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunTry {
    /// The action, from 1.
    pub action: u64,
    /// The attempt, from 1.
    pub attempt: u64,
    /// When it ended.
    pub at: Timestamp,
    /// The outcome: `succeeded`, `failed`, `timedout`, `refused`, `cancelled`, `interrupted`.
    pub outcome: String,
    /// The outcome in a few words.
    pub detail: String,
    /// Duration of the request.
    pub took_ms: u64,
    /// Whether leftover processes were killed.
    #[serde(default)]
    pub leaked: bool,
    /// Bytes that it wrote to standard output.
    pub stdout_bytes: u64,
    /// Bytes that it wrote to standard error.
    pub stderr_bytes: u64,
    /// The stored part of standard output, which can contain anything that a program wrote; only in the response for a
    /// single run.
    pub stdout: Option<String>,
    /// The stored part of standard error; only in the response for a single run.
    pub stderr: Option<String>,
}

/// Body of `POST /api/flows/{name}/replay`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReplayRequest {
    /// Events after this one; default: all stored events.
    #[serde(default, deserialize_with = "wire::optional_whole")]
    pub after: Option<u64>,
    /// Up to and including this one; default: the newest.
    #[serde(default, deserialize_with = "wire::optional_whole")]
    pub until: Option<u64>,
    /// Only show which events would trigger a run.
    #[serde(default)]
    pub dry_run: bool,
}

impl Check for ReplayRequest {
    fn check(&self, faults: &mut Faults) {
        if let (Some(after), Some(until)) = (self.after, self.until)
            && until <= after
        {
            faults.add("until", "must be above `after`");
        }
    }
}

/// Response of `POST /api/flows/{name}/replay`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Replay {
    /// The flow.
    pub flow: String,
    /// The evaluated events.
    pub range: EventRange,
    /// How many of them trigger the flow, among the first 10,000 that match its pattern.
    pub wanted: u64,
    /// The first 100 events that trigger the flow.
    pub events: Vec<u64>,
    /// The number of the replay, the last part of its runs' ids; absent for a dry run.
    pub replay: Option<u64>,
}

/// Query parameters of `GET /api/flows/why`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WhyRequest {
    /// The event's id.
    #[serde(deserialize_with = "wire::whole")]
    pub event: u64,
}

impl Check for WhyRequest {
    fn check(&self, faults: &mut Faults) {
        faults.range("event", Some(self.event), ID_MAX);
    }
}

/// How a flow evaluates an event.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlowWhy {
    /// The flow.
    pub flow: String,
    /// Whether the event triggers a run.
    pub wants: bool,
    /// Whether its pattern matches the event's type.
    pub selects: bool,
    /// Whether it is enabled.
    pub enabled: bool,
    /// The result of its condition: `true`, `false` or `unknown`; absent for a flow without one.
    pub condition: Option<String>,
    /// The result of each comparison in the condition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FlowFinding>,
    /// Why the event starts no run regardless of the condition: its data does not match the declared types, or the
    /// chain of runs that led to it must not continue with this flow.
    pub stopped: Option<String>,
    /// Why there is no run although the flow wants the event: it came before the flow was approved, for example.
    pub missed: Option<String>,
    /// The run for this event, if there is one.
    pub run: Option<Box<Run>>,
}

/// The result of a comparison in a condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlowFinding {
    /// The comparison.
    pub text: String,
    /// `true`, `false` or `unknown`.
    pub truth: String,
    /// The compared values, or why they cannot be compared.
    pub because: String,
}

/// Response of `POST /api/flows/{name}/test`: what a flow would do, without doing it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlowTest {
    /// Whether it would run.
    pub why: FlowWhy,
    /// Why the run would fail before its first action: then none of them would run.
    pub failure: Option<String>,
    /// Its actions, in order.
    pub actions: Vec<PlannedAction>,
}

/// What an action would do.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedAction {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The result of its `if`: `true`, `false` or `unknown`; absent for an action without one.
    #[serde(rename = "if")]
    pub condition: Option<String>,
    /// The program that would be run.
    pub program: Option<PlannedProgram>,
    /// The event that would be published.
    pub event: Option<PublishRequest>,
    /// The HTTP request that would be sent.
    pub post: Option<PlannedPost>,
    /// The memory that would be added.
    pub memory: Option<crate::AddRequest>,
    /// Why it could not start.
    pub problem: Option<String>,
}

impl PlannedAction {
    /// What it would do, for people: verbs with their objects.
    pub fn sentences(&self) -> Vec<(&'static str, String)> {
        let mut sentences = Vec::new();
        if let Some(it) = &self.program {
            sentences.push(("runs", it.path.clone()));
        }
        if let Some(it) = &self.event {
            let data = serde_json::to_string(&it.data).unwrap_or_default();
            sentences.push(("publishes", format!("{} {data}", it.kind)));
        }
        if let Some(it) = &self.post {
            sentences.push(("posts to", format!("{}: {}", it.url, it.body)));
        }
        if let Some(it) = &self.memory {
            sentences.push(("adds a memory:", it.content.clone()));
        }
        sentences
    }
}

/// A program that would be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedProgram {
    /// The program.
    pub path: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its environment variables; secrets are `***`.
    pub variables: BTreeMap<String, String>,
    /// Its working directory.
    pub folder: String,
}

/// An HTTP request that would be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedPost {
    /// The URL.
    pub url: String,
    /// The body, as JSON.
    pub body: String,
    /// Whether it would be signed.
    pub signed: bool,
}

/// Body of `POST /api/flows/{name}/test`: a hypothetical event. Its type may be one that is reserved for the service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FlowTestRequest {
    /// The event's type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The event's data.
    #[serde(default)]
    #[schema(value_type = BTreeMap<String, crate::Scalar>)]
    pub data: EventData,
}

impl Check for FlowTestRequest {
    // The event bus decides which events are valid.
    fn check(&self, _faults: &mut Faults) {}
}

/// Body of `POST /api/flows/{name}/pause`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PauseRequest {
    /// The reason, up to 256 characters.
    pub why: Option<String>,
}

impl Check for PauseRequest {
    fn check(&self, faults: &mut Faults) {
        if let Some(why) = &self.why {
            faults.chars("why", why, NOTE_CHARS_MAX);
        }
    }
}
