//! The wire contract of Waypost: requests, answers, problems, OpenAPI, a blocking client.
//!
//! Every struct here is what travels over HTTP, nothing else: the store and the indexes have types of their own.
//! Requests refuse fields that they do not know ([`parse_body`] names the nearest one that exists); answers, as read
//! by [`client`], take unknown fields silently, so that an older client can talk to a newer service.

pub mod backup;
#[cfg(feature = "client")]
pub mod client;
mod context;
mod events;
mod flows;
#[cfg(feature = "server")]
mod gate;
pub mod limits;
#[cfg(feature = "local")]
pub mod local;
mod memory;
#[cfg(feature = "openapi")]
pub mod openapi;
mod parse;
mod problem;
mod query;
pub mod routes;
mod scan;
mod status;
mod time;
mod tokens;
mod wire;

pub use context::{
    CONTEXT_TYPES, ContextAnswer, ContextItem, ContextRequest, ContextScan, ContextSkipped,
    ContextSource, ContextState, ContextStatus, ContextTask, ContextWatch, ContextWatchMode,
};
pub use events::{Event, EventData, EventsRequest, PublishRequest, Published, StreamRequest};
pub use flows::{
    AllowRequest, EventRange, FlowFailure, FlowFileInfo, FlowFileTexts, FlowFinding, FlowInfo,
    FlowProgram, FlowTest, FlowTestRequest, FlowWhy, Flows, PauseRequest, PlannedAction,
    PlannedPost, PlannedProgram, Replay, ReplayRequest, Run, RunState, RunTry, RunsRequest,
    WhyRequest,
};
#[cfg(feature = "server")]
pub use gate::Gate;
pub use limits::{Check, Faults, escape_pointer};
pub use memory::{
    AddRequest, BatchResult, CompactRequest, CompactResult, Explanation, Hit, ImportIds,
    ImportRequest, ImportResult, IndexProgress, IndexRequest, IndexResult, LineProblem, Link,
    LinkKind, LinkRequest, LinksRequest, ListRequest, MappedId, Memory, PatchRequest, Scalar,
    Scores, SearchMode, SearchRequest, SignalScore, Version, VersionChange,
};
pub use parse::{parse_arguments, parse_body, parse_id, parse_optional_body, parse_query};
pub use problem::{FieldError, Problem, ProblemKind};
pub use status::{
    Health, IndexStatus, MeshStatus, ModelState, ModelStatus, Readiness, Status, StatusKind,
};
pub use time::{Time, TimeError};
pub use tokens::{NewTokenRequest, Scope, TokenCreated, TokenInfo};

/// The media type of every error body.
pub const PROBLEM_JSON: &str = "application/problem+json";
/// The media type of batches, exports and imports: one JSON value a line.
pub const NDJSON: &str = "application/x-ndjson";
/// The media type of a stream of progress events.
pub const EVENT_STREAM: &str = "text/event-stream";
/// The header that tells how a search was answered: `hybrid`, `lexical` or `semantic`.
pub const SEARCH_MODE_HEADER: &str = "Waypost-Search-Mode";
/// The header that names the last event that a page of events examined: read on after it.
pub const NEXT_AFTER_HEADER: &str = "waypost-next-after";
/// The header that makes it safe to publish an event again.
pub const IDEMPOTENCY_KEY_HEADER: &str = "idempotency-key";
/// The header that carries a request's id, taken from the caller or made by the service.
pub const REQUEST_ID_HEADER: &str = "X-Request-Id";
