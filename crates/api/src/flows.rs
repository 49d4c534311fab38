//! Flows and their runs on the wire.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::events::EventData;
use crate::{PublishRequest, Time, wire};

/// Answer of `GET /api/flows`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Flows {
    /// The flows in force, in the order of the files.
    pub flows: Vec<FlowInfo>,
    /// The flow files, by name.
    pub files: Vec<FlowFileInfo>,
    /// Why nothing is decided any more, and what to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halted: Option<String>,
}

/// A flow in force, and how it is doing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FlowInfo {
    /// Its name.
    pub name: String,
    /// The file that it is in.
    pub file: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it is on.
    pub enabled: bool,
    /// The types of events that it wants.
    pub pattern: String,
    /// What it wants of them beside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Why nothing of it begins, if it is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<String>,
    /// Since when it is held back because it ran too often.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_since: Option<Time>,
    /// Runs that wait for their turn.
    pub queued: u64,
    /// Runs that wait for quiet or for their next try.
    pub waiting: u64,
    /// Runs with an action going on.
    pub running: u64,
    /// The run that waits longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_waiting: Option<String>,
    /// Past events, from and to, that it has yet to decide.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backfills: Vec<EventRange>,
    /// How many runs of the history ended in each state.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ended: BTreeMap<String, u64>,
    /// The run in the history that failed, or was given up, last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<FlowFailure>,
}

/// A run that failed or was given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FlowFailure {
    /// Which.
    pub run: String,
    /// Why.
    pub why: String,
    /// When it ended.
    pub at: Time,
}

/// Events after one, up to and with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct EventRange {
    /// Those after this one,
    pub after: u64,
    /// up to and with this one.
    pub until: u64,
}

/// A flow file, and whether it is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FlowFileInfo {
    /// Its name in `.waypost/flows/`.
    pub name: String,
    /// SHA-256 of the content that is in force; absent if none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_force: Option<String>,
    /// SHA-256 of the content in the folder; absent if it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// Why the one is not the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// What waits for approval: the file or the programs that it names, relative to the project.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<String>,
}

/// Answer of `GET /api/flows/files/{name}`: what to compare before it is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FlowFileTexts {
    /// Its name.
    pub name: String,
    /// The text that was approved last; empty if none was.
    pub in_force: String,
    /// The text in the folder.
    pub found: String,
    /// SHA-256 of the text in the folder.
    pub hash: String,
    /// The project's own files that its flows name as their programs or scripts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<FlowProgram>,
}

/// A file of the project that a flow names as its program or script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FlowProgram {
    /// Relative to the project.
    pub file: String,
    /// SHA-256 of its content.
    pub hash: String,
    /// The content that was approved last, if it is text; empty if none was.
    pub approved: String,
    /// Its content, if it is text; absent if it is not, or is larger than 1 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
}

/// Body of `POST /api/flows/files/{name}/allow`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AllowRequest {
    /// SHA-256 of the text that was looked at: another one is not allowed by this.
    pub hash: String,
    /// The same for each program that its flows name, by the program's file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub programs: BTreeMap<String, String>,
}

/// Query parameters of `GET /api/flows/runs`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunsRequest {
    /// Only runs of this flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// Only runs in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<RunState>,
    /// How many at most: 1 to 1000, by default 100.
    #[serde(
        default,
        deserialize_with = "wire::optional_whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub limit: Option<u64>,
}

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum RunState {
    /// It waits for events to be quiet.
    Quiet,
    /// It waits before an action is tried again.
    Retrying,
    /// It waits for its turn.
    Queued,
    /// An action goes on.
    Running,
    /// Every action that had to succeed did.
    Succeeded,
    /// An action failed for good, with or without more tries.
    Failed,
    /// What earlier releases called a failed run whose tries were used up.
    Dead,
    /// It was never begun.
    Skipped,
    /// Somebody, or a newer run, ended it.
    Cancelled,
}

impl RunState {
    /// Every state.
    pub const ALL: [Self; 9] = [
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

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Retrying => "retrying",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Dead => "dead",
            Self::Skipped => "skipped",
            Self::Cancelled => "cancelled",
        }
    }

    /// The state of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == name)
    }
}

/// One flow, run for one event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Its name, `flow.event`, and `.replay` for a replay.
    pub id: String,
    /// The flow.
    pub flow: String,
    /// The event's id.
    pub event: u64,
    /// The event's type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where it is.
    pub state: RunState,
    /// Why it ended so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// When it was created.
    pub created_at: Time,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Time>,
    /// When it goes on, if it waits for a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// SHA-256 of the file that defines it.
    pub definition: String,
    /// What was tried, in order.
    pub tries: Vec<RunTry>,
}

/// One try of an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RunTry {
    /// Which action, from 1.
    pub action: u64,
    /// Which try of it, from 1.
    pub attempt: u64,
    /// When it ended.
    pub at: Time,
    /// What came of it: `succeeded`, `failed`, `timedout`, `refused`, `cancelled`, `interrupted`.
    pub outcome: String,
    /// The same in a few words.
    pub detail: String,
    /// How long it took.
    pub took_ms: u64,
    /// Whether processes that it left behind were ended.
    #[serde(default)]
    pub leaked: bool,
    /// Bytes that it wrote to standard output.
    pub stdout_bytes: u64,
    /// Bytes that it wrote to standard error.
    pub stderr_bytes: u64,
    /// What is kept of standard output. Whatever a program wrote can be in it; only in the answer
    /// about one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// What is kept of standard error; only in the answer about one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
}

/// Body of `POST /api/flows/{name}/replay`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReplayRequest {
    /// Events after this one; by default all that are kept.
    #[serde(
        default,
        deserialize_with = "wire::optional_whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub after: Option<u64>,
    /// Up to and with this one; by default the last one.
    #[serde(
        default,
        deserialize_with = "wire::optional_whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub until: Option<u64>,
    /// Only tells which events would get a run.
    #[serde(default)]
    pub dry_run: bool,
}

/// Answer of `POST /api/flows/{name}/replay`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Replay {
    /// The flow.
    pub flow: String,
    /// The events that are decided.
    pub range: EventRange,
    /// How many of them the flow wants, as far as they were looked at: the first 10,000 of its
    /// pattern.
    pub wanted: u64,
    /// The first 100 of those that it wants.
    pub events: Vec<u64>,
    /// The number of the replay, the last part of its runs' names; absent for a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<u64>,
}

/// Query parameters of `GET /api/flows/why`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WhyRequest {
    /// The event's id.
    #[serde(deserialize_with = "wire::whole")]
    pub event: u64,
}

/// What a flow makes of an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FlowWhy {
    /// The flow.
    pub flow: String,
    /// Whether it wants a run for the event.
    pub wants: bool,
    /// Whether its pattern selects the event's type.
    pub selects: bool,
    /// Whether it is on.
    pub enabled: bool,
    /// What its condition comes to: `true`, `false` or `unknown`; absent for a flow without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// What each comparison of the condition comes to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FlowFinding>,
    /// Why the event starts no run, whatever the condition says: its data does not have the declared
    /// types, or the chain of runs that led to it may not go on with this flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// The run for this event, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Box<Run>>,
}

/// What a comparison of a condition comes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FlowFinding {
    /// The comparison.
    pub text: String,
    /// `true`, `false` or `unknown`.
    pub truth: String,
    /// What was compared, or why nothing could be.
    pub because: String,
}

/// Answer of `POST /api/flows/{name}/test`: what a flow would do. Nothing was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FlowTest {
    /// Whether it would run.
    pub why: FlowWhy,
    /// Its actions, in order.
    pub actions: Vec<PlannedAction>,
}

/// What an action would do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlannedAction {
    /// Its name, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What its `if` comes to: `true`, `false` or `unknown`; absent for an action without one.
    #[serde(default, rename = "if", skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// The program that would be run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<PlannedProgram>,
    /// The event that would be published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<PublishRequest>,
    /// What would be posted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post: Option<PlannedPost>,
    /// The memory that would be added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<crate::AddRequest>,
    /// Why it could not be begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A program that would be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlannedProgram {
    /// The program.
    pub path: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its variables; secrets are `***`.
    pub variables: BTreeMap<String, String>,
    /// The folder that it would run in.
    pub folder: String,
}

/// Something that would be posted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlannedPost {
    /// Where to.
    pub url: String,
    /// JSON.
    pub body: String,
    /// Whether it would be signed.
    pub signed: bool,
}

/// Body of `POST /api/flows/{name}/test`: an event that did not happen. Its type may be one of the
/// service's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FlowTestRequest {
    /// What would have happened.
    #[serde(rename = "type")]
    pub kind: String,
    /// What there would be to say about it.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = BTreeMap<String, crate::Scalar>))]
    pub data: EventData,
}

/// Body of `POST /api/flows/{name}/pause`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PauseRequest {
    /// Why, up to 256 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
