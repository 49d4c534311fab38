//! The table of all routes of the service: tests check the service's router, the OpenAPI document and the client
//! against it.

use std::borrow::Cow;

use utoipa::openapi::path::Parameter;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{IntoParams, ToSchema};

use crate::{
    AddRequest, AddedMemory, AllowRequest, BatchResult, Browser, CompactRequest, CompactResult,
    ContextAnswer, ContextRequest, ContextScan, ContextStatus, CountRequest, Counts, DashboardCode,
    DashboardCodeRequest, DashboardProof, DashboardProofRequest, DashboardTokenRequest, Event,
    EventsRequest, FlowFileInfo, FlowFileTexts, FlowInfo, FlowTest, FlowTestRequest, FlowWhy,
    Flows, Health, HistoryRequest, Hit, ImportRequest, ImportResult, IndexProgress, IndexRequest,
    IndexResult, Link, LinkRequest, LinksRequest, ListRequest, Memory, MergeRequest, MeshBroadcast,
    MeshBroadcastRequest, MeshCallRequest, MeshEvent, MeshListenRequest, MeshLost, MeshPeer,
    MeshResult, NewTokenRequest, PatchRequest, PauseRequest, PublishRequest, Published, Readiness,
    RecallBriefRequest, RecallCompactionRequest, RecallEntry, RecallListRequest,
    RecallPromptRequest, RecallSession, RecallSessionRequest, RecallTurns, RecallTurnsRequest,
    RecallWhy, RecallWhyRequest, Recalled, Replay, ReplayRequest, RestoreRequest, Run, RunsRequest,
    Scope, SearchRequest, Status, StreamRequest, Suggestions, SuggestionsRequest, TokenCreated,
    TokenGrants, TokenInfo, TokenRevoked, Version, WhyRequest,
};

/// One method on one path.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// The HTTP method.
    pub method: &'static str,
    /// The path, with `{id}` in place of an id.
    pub path: &'static str,
    /// Its name in the OpenAPI document.
    pub operation: &'static str,
    /// A one-line description.
    pub summary: &'static str,
    /// Who may call it.
    pub access: Access,
    /// Its query parameters.
    pub query: Option<fn() -> Vec<Parameter>>,
    /// The body that it accepts.
    pub body: Payload,
    /// Its successful responses.
    pub answers: &'static [Answer],
    /// What its request does when it is sent again with its idempotency key.
    pub repeat: Repeat,
    /// The statuses of its own problems; every route may also return the common ones.
    pub problems: &'static [u16],
}

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Any client, without a token.
    Open,
    /// Any valid token.
    Token,
    /// A token with this scope, or with `admin`.
    Scope(Scope),
    /// Without a token at the service's socket, otherwise a token with this scope.
    SocketOrScope(Scope),
}

/// What a request does when it is sent again with its `Idempotency-Key`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// It only reads; the header is ignored.
    Reads,
    /// The key is stored in one append with the change; a repeat changes nothing and returns the first outcome.
    Once,
    /// The key is stored before the change and the response after it; a repeat changes nothing.
    AtMostOnce,
    /// A repeat does the same as the first request, which does no harm; no key is stored.
    Harmless,
}

/// The content of a body.
#[derive(Debug, Clone, Copy)]
pub enum Payload {
    /// Nothing.
    None,
    /// JSON of that struct.
    Json(Shape),
    /// JSON of that struct, or nothing, which means all defaults.
    OptionalJson(Shape),
    /// A JSON array of that struct.
    Array(Shape),
    /// One JSON value of that struct per line.
    Lines(Shape),
    /// Lines of the export format.
    Export,
    /// A backup.
    Backup,
    /// Server-sent events with data of these structs, named in the description.
    Events(&'static [Shape]),
    /// Metrics in the Prometheus text format.
    Metrics,
    /// A JSON object that is described elsewhere.
    Object,
    /// The same, or nothing.
    OptionalObject,
}

/// A struct of the wire.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Its name in the OpenAPI document.
    pub name: fn() -> Cow<'static, str>,
    /// Its schema.
    pub schema: fn() -> RefOr<Schema>,
    /// Adds the schemas of the structs in it.
    pub parts: fn(&mut Vec<(String, RefOr<Schema>)>),
}

pub(crate) const fn shape<T: ToSchema>() -> Shape {
    Shape { name: T::name, schema: T::schema, parts: T::schemas }
}

fn parameters<T: IntoParams>() -> Vec<Parameter> {
    T::into_params(|| None)
}

/// A successful response.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// When it is returned.
    pub when: &'static str,
    /// Its body.
    pub body: Payload,
}

const fn answer(status: u16, when: &'static str, body: Payload) -> Answer {
    Answer { status, when, body }
}

const BASE: Route = Route {
    method: "GET",
    path: "",
    operation: "",
    summary: "",
    access: Access::Scope(Scope::MemoryRead),
    query: None,
    body: Payload::None,
    answers: &[],
    repeat: Repeat::Reads,
    problems: &[],
};

const WRITE: Access = Access::Scope(Scope::MemoryWrite);
const READ_CONTEXT: Access = Access::Scope(Scope::ContextRead);
const READ_EVENTS: Access = Access::Scope(Scope::EventsRead);
const PUBLISH: Access = Access::Scope(Scope::EventsPublish);
const READ_FLOWS: Access = Access::Scope(Scope::FlowsRead);
const RUN_FLOWS: Access = Access::Scope(Scope::FlowsRun);
const USE_BROWSER: Access = Access::Scope(Scope::BrowserUse);
const ADMIN: Access = Access::Scope(Scope::Admin);

/// All routes.
pub const ROUTES: &[Route] = &[
    Route {
        method: "POST",
        path: "/api/memory/search",
        operation: "searchMemories",
        summary: "Search memories",
        body: Payload::Json(shape::<SearchRequest>()),
        answers: &[answer(200, "The hits, best first", Payload::Array(shape::<Hit>()))],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/memory/add",
        operation: "addMemory",
        summary: "Add a memory",
        access: WRITE,
        body: Payload::Json(shape::<AddRequest>()),
        answers: &[
            answer(201, "The new memory, which is on disk", Payload::Json(shape::<AddedMemory>())),
            answer(
                200,
                "The existing memory: the same one was already stored",
                Payload::Json(shape::<AddedMemory>()),
            ),
        ],
        repeat: Repeat::Once,
        problems: &[507],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/memory/batch",
        operation: "addMemories",
        summary: "Add memories, one per line; an invalid line does not affect the others",
        access: WRITE,
        body: Payload::Lines(shape::<AddRequest>()),
        answers: &[answer(
            200,
            "One result per line, in order",
            Payload::Lines(shape::<BatchResult>()),
        )],
        repeat: Repeat::Once,
        ..BASE
    },
    Route {
        path: "/api/memory",
        operation: "listMemories",
        summary: "List memories in order of id, or the newest first",
        query: Some(parameters::<ListRequest>),
        answers: &[answer(
            200,
            "A page; `Link: <...>; rel=\"next\"` is the next one",
            Payload::Array(shape::<Memory>()),
        )],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/memory/count",
        operation: "countMemories",
        summary: "Count memories, also by type, tag and space",
        body: Payload::OptionalJson(shape::<CountRequest>()),
        answers: &[answer(200, "The counts", Payload::Json(shape::<Counts>()))],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/memory/merge",
        operation: "mergeMemories",
        summary: "Merge two memories: change one, move the links of the other to it, and delete that",
        access: WRITE,
        body: Payload::Json(shape::<MergeRequest>()),
        answers: &[answer(200, "The memory that stays", Payload::Json(shape::<Memory>()))],
        repeat: Repeat::Once,
        problems: &[404, 409],
        ..BASE
    },
    Route {
        path: "/api/memory/suggestions",
        operation: "listSuggestions",
        summary: "List memories that say nearly the same, or different things about the same subject",
        query: Some(parameters::<SuggestionsRequest>),
        answers: &[answer(
            200,
            "The suggestions, the most similar pair first",
            Payload::Json(shape::<Suggestions>()),
        )],
        problems: &[404],
        ..BASE
    },
    Route {
        path: "/api/memory/status",
        operation: "memoryStatus",
        summary: "Get the state and statistics of the service",
        answers: &[answer(200, "The status", Payload::Json(shape::<Status>()))],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/memory/index",
        operation: "reindexMemories",
        summary: "Rebuild the index; with `Accept: text/event-stream`, report progress",
        access: WRITE,
        body: Payload::OptionalJson(shape::<IndexRequest>()),
        answers: &[
            answer(200, "The result", Payload::Json(shape::<IndexResult>())),
            answer(
                200,
                "Events `progress` (IndexProgress), then one `done` (IndexResult) or `problem` (Problem)",
                Payload::Events(&[shape::<IndexProgress>()]),
            ),
        ],
        repeat: Repeat::Harmless,
        problems: &[409],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/memory/compact",
        operation: "compactMemories",
        summary: "Remove deleted memories from disk, and with `versions` old versions",
        access: ADMIN,
        body: Payload::OptionalJson(shape::<CompactRequest>()),
        answers: &[answer(200, "The result", Payload::Json(shape::<CompactResult>()))],
        repeat: Repeat::Harmless,
        problems: &[409],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/memory/link",
        operation: "addLink",
        summary: "Add a typed link between two memories",
        access: WRITE,
        body: Payload::Json(shape::<LinkRequest>()),
        answers: &[
            answer(201, "The new link", Payload::Json(shape::<Link>())),
            answer(200, "The existing link", Payload::Json(shape::<Link>())),
        ],
        repeat: Repeat::Once,
        problems: &[404],
        ..BASE
    },
    Route {
        method: "DELETE",
        path: "/api/memory/link",
        operation: "removeLink",
        summary: "Remove a link, given by query parameters or a body",
        access: WRITE,
        query: Some(parameters::<LinkRequest>),
        body: Payload::OptionalJson(shape::<LinkRequest>()),
        answers: &[answer(204, "Deleted", Payload::None)],
        repeat: Repeat::Once,
        problems: &[404],
    },
    Route {
        path: "/api/memory/export",
        operation: "exportMemories",
        summary: "Export memories, links and history",
        answers: &[answer(200, "One record per line", Payload::Export)],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/memory/import",
        operation: "importMemories",
        summary: "Import an export, ids included",
        access: WRITE,
        query: Some(parameters::<ImportRequest>),
        body: Payload::Export,
        answers: &[answer(
            200,
            "The number of imported records",
            Payload::Json(shape::<ImportResult>()),
        )],
        repeat: Repeat::Once,
        problems: &[409],
    },
    Route {
        path: "/api/memory/{id}",
        operation: "getMemory",
        summary: "Get a memory",
        answers: &[answer(200, "The memory", Payload::Json(shape::<Memory>()))],
        problems: &[404],
        ..BASE
    },
    Route {
        method: "PATCH",
        path: "/api/memory/{id}",
        operation: "updateMemory",
        summary: "Change a memory, keeping its earlier versions",
        access: WRITE,
        body: Payload::Json(shape::<PatchRequest>()),
        answers: &[answer(200, "The memory after the change", Payload::Json(shape::<Memory>()))],
        repeat: Repeat::Once,
        problems: &[404, 409],
        ..BASE
    },
    Route {
        method: "DELETE",
        path: "/api/memory/{id}",
        operation: "deleteMemory",
        summary: "Delete a memory",
        access: WRITE,
        answers: &[answer(204, "Deleted", Payload::None)],
        repeat: Repeat::Once,
        problems: &[404],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/memory/{id}/restore",
        operation: "restoreVersion",
        summary: "Give a memory the fields of an earlier version, as a new version",
        access: WRITE,
        body: Payload::Json(shape::<RestoreRequest>()),
        answers: &[answer(200, "The memory after the change", Payload::Json(shape::<Memory>()))],
        repeat: Repeat::Once,
        problems: &[404, 410],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/memory/{id}/undelete",
        operation: "undeleteMemory",
        summary: "Restore a deleted memory, without its links",
        access: WRITE,
        answers: &[answer(200, "The memory", Payload::Json(shape::<Memory>()))],
        repeat: Repeat::Once,
        problems: &[404, 409, 410],
        ..BASE
    },
    Route {
        path: "/api/memory/{id}/history",
        operation: "memoryHistory",
        summary: "List the versions of a memory, oldest first",
        query: Some(parameters::<HistoryRequest>),
        answers: &[answer(
            200,
            "A page; `Link: <...>; rel=\"next\"` is the next one",
            Payload::Array(shape::<Version>()),
        )],
        problems: &[404],
        ..BASE
    },
    Route {
        path: "/api/memory/{id}/links",
        operation: "memoryLinks",
        summary: "List the links from and to a memory, breadth first",
        query: Some(parameters::<LinksRequest>),
        answers: &[answer(200, "The links", Payload::Array(shape::<Link>()))],
        problems: &[404],
        ..BASE
    },
    Route {
        path: "/api/recall",
        operation: "listRecall",
        summary: "List what was injected into sessions and what was withheld, the newest first",
        query: Some(parameters::<RecallListRequest>),
        answers: &[answer(
            200,
            "A page; `Link: <...>; rel=\"next\"` is the next one",
            Payload::Array(shape::<RecallEntry>()),
        )],
        ..BASE
    },
    Route {
        path: "/api/recall/sessions/{session}",
        operation: "getRecallSession",
        summary: "Get what a session has, and how much of its transcript was recorded",
        query: Some(parameters::<RecallSessionRequest>),
        answers: &[answer(200, "The session", Payload::Json(shape::<RecallSession>()))],
        problems: &[404],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/recall/brief",
        operation: "briefSession",
        summary: "Get the brief for a session that starts, or that was compacted",
        body: Payload::Json(shape::<RecallBriefRequest>()),
        answers: &[answer(200, "The brief", Payload::Json(shape::<Recalled>()))],
        repeat: Repeat::Harmless,
        problems: &[507],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/recall/prompt",
        operation: "recallForPrompt",
        summary: "Get what is relevant to a prompt and new to its session",
        body: Payload::Json(shape::<RecallPromptRequest>()),
        answers: &[answer(
            200,
            "The memories, or the reason for none",
            Payload::Json(shape::<Recalled>()),
        )],
        repeat: Repeat::Harmless,
        problems: &[507],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/recall/turns",
        operation: "recordTurns",
        summary: "Record prompts and answers of a session as memories; safe to repeat",
        access: WRITE,
        body: Payload::Json(shape::<RecallTurnsRequest>()),
        answers: &[answer(
            200,
            "The new memories, which are on disk",
            Payload::Json(shape::<RecallTurns>()),
        )],
        repeat: Repeat::Harmless,
        problems: &[409, 507],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/recall/compaction",
        operation: "noteCompaction",
        summary: "Note that a session is compacted: its next prompt gets the brief again",
        access: WRITE,
        body: Payload::Json(shape::<RecallCompactionRequest>()),
        answers: &[answer(204, "Noted", Payload::None)],
        repeat: Repeat::Harmless,
        problems: &[507],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/recall/why",
        operation: "whyRecall",
        summary: "Explain for each memory that answers a question why a session got it or not",
        body: Payload::Json(shape::<RecallWhyRequest>()),
        answers: &[answer(200, "The memories", Payload::Json(shape::<RecallWhy>()))],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/context",
        operation: "queryContext",
        summary: "Find project context for a task",
        access: READ_CONTEXT,
        body: Payload::OptionalJson(shape::<ContextRequest>()),
        answers: &[answer(
            200,
            "The items, best first; also while the project is being indexed",
            Payload::Json(shape::<ContextAnswer>()),
        )],
        problems: &[409],
        ..BASE
    },
    Route {
        path: "/api/context/status",
        operation: "contextStatus",
        summary: "Get which files are indexed, which are excluded, and why",
        access: READ_CONTEXT,
        answers: &[answer(200, "The status", Payload::Json(shape::<ContextStatus>()))],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/context/rescan",
        operation: "rescanContext",
        summary: "Rescan the whole project, and wait until the index is up to date",
        access: READ_CONTEXT,
        answers: &[answer(200, "The result of the scan", Payload::Json(shape::<ContextScan>()))],
        repeat: Repeat::Harmless,
        problems: &[409],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/events",
        operation: "publishEvent",
        summary: "Publish an event; with `Idempotency-Key`, a retry does not publish it again",
        access: PUBLISH,
        body: Payload::Json(shape::<PublishRequest>()),
        answers: &[
            answer(201, "The new event, which is on disk", Payload::Json(shape::<Published>())),
            answer(200, "The existing event with this key", Payload::Json(shape::<Published>())),
        ],
        repeat: Repeat::Once,
        problems: &[409, 507],
        ..BASE
    },
    Route {
        path: "/api/events",
        operation: "listEvents",
        summary: "List events in order, after a cursor or the newest ones",
        access: READ_EVENTS,
        query: Some(parameters::<EventsRequest>),
        answers: &[answer(
            200,
            "A page, oldest event first; `Link: <...>; rel=\"next\"` is the next one",
            Payload::Array(shape::<Event>()),
        )],
        problems: &[410],
        ..BASE
    },
    Route {
        path: "/api/events/stream",
        operation: "followEvents",
        summary: "Stream events; `Last-Event-ID` resumes",
        access: READ_EVENTS,
        query: Some(parameters::<StreamRequest>),
        answers: &[answer(
            200,
            "One message per event (Event); `reset` if events have been dropped, `end` before the stream ends",
            Payload::Events(&[shape::<Event>()]),
        )],
        ..BASE
    },
    Route {
        path: "/api/events/{id}",
        operation: "getEvent",
        summary: "Get an event",
        access: READ_EVENTS,
        answers: &[answer(200, "The event", Payload::Json(shape::<Event>()))],
        problems: &[404],
        ..BASE
    },
    Route {
        path: "/api/flows",
        operation: "listFlows",
        summary: "List flows and flow files with their state",
        access: READ_FLOWS,
        answers: &[answer(200, "Flows and flow files", Payload::Json(shape::<Flows>()))],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/flows/rescan",
        operation: "rescanFlows",
        summary: "Read the flow files and their approvals again, and wait until they are in force",
        access: READ_FLOWS,
        answers: &[answer(200, "Flows and flow files", Payload::Json(shape::<Flows>()))],
        repeat: Repeat::Harmless,
        ..BASE
    },
    Route {
        path: "/api/flows/runs",
        operation: "listRuns",
        summary: "List runs of flows, newest first",
        access: READ_FLOWS,
        query: Some(parameters::<RunsRequest>),
        answers: &[answer(200, "The runs", Payload::Array(shape::<Run>()))],
        ..BASE
    },
    Route {
        path: "/api/flows/runs/{id}",
        operation: "getRun",
        summary: "Get a run with the output of its programs",
        access: READ_FLOWS,
        answers: &[answer(200, "The run", Payload::Json(shape::<Run>()))],
        problems: &[404],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/flows/runs/{id}/retry",
        operation: "retryRun",
        summary: "Resume a failed run at the failed action",
        access: RUN_FLOWS,
        answers: &[answer(200, "The run", Payload::Json(shape::<Run>()))],
        repeat: Repeat::AtMostOnce,
        problems: &[404, 409, 507],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/flows/runs/{id}/cancel",
        operation: "cancelRun",
        summary: "Cancel a run",
        access: RUN_FLOWS,
        answers: &[answer(200, "The run", Payload::Json(shape::<Run>()))],
        repeat: Repeat::AtMostOnce,
        problems: &[404, 409, 507],
        ..BASE
    },
    Route {
        path: "/api/flows/why",
        operation: "whyFlows",
        summary: "Explain for each flow whether an event triggers it",
        access: READ_FLOWS,
        query: Some(parameters::<WhyRequest>),
        answers: &[answer(
            200,
            "Each flow, in the order of the files",
            Payload::Array(shape::<FlowWhy>()),
        )],
        problems: &[404],
        ..BASE
    },
    Route {
        path: "/api/flows/files/{name}",
        operation: "getFlowFile",
        summary: "Get the last approved text of a flow file, and the current one",
        access: READ_FLOWS,
        answers: &[answer(
            200,
            "Both texts, and those of the programs that the file names",
            Payload::Json(shape::<FlowFileTexts>()),
        )],
        problems: &[404],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/flows/files/{name}/allow",
        operation: "allowFlowFile",
        summary: "Approve the content of a flow file, which activates it",
        access: ADMIN,
        body: Payload::Json(shape::<AllowRequest>()),
        answers: &[answer(200, "The file", Payload::Json(shape::<FlowFileInfo>()))],
        repeat: Repeat::Harmless,
        problems: &[404, 409],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/flows/{name}/test",
        operation: "testFlow",
        summary: "Show what a flow would do for an event, without doing it",
        access: RUN_FLOWS,
        body: Payload::Json(shape::<FlowTestRequest>()),
        answers: &[answer(200, "What the flow would do", Payload::Json(shape::<FlowTest>()))],
        problems: &[404],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/flows/{name}/replay",
        operation: "replayFlow",
        summary: "Run a flow for past events, or show which events would trigger it",
        access: RUN_FLOWS,
        body: Payload::Json(shape::<ReplayRequest>()),
        answers: &[answer(200, "The replay", Payload::Json(shape::<Replay>()))],
        repeat: Repeat::AtMostOnce,
        problems: &[404, 507],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/flows/{name}/pause",
        operation: "pauseFlow",
        summary: "Pause a flow; new runs wait",
        access: RUN_FLOWS,
        body: Payload::OptionalJson(shape::<PauseRequest>()),
        answers: &[answer(200, "The flow", Payload::Json(shape::<FlowInfo>()))],
        repeat: Repeat::AtMostOnce,
        problems: &[404, 507],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/flows/{name}/resume",
        operation: "resumeFlow",
        summary: "Resume a paused flow",
        access: RUN_FLOWS,
        answers: &[answer(200, "The flow", Payload::Json(shape::<FlowInfo>()))],
        repeat: Repeat::AtMostOnce,
        problems: &[404, 507],
        ..BASE
    },
    Route {
        path: "/api/browser",
        operation: "listBrowsers",
        summary: "List the browsers on the mesh",
        access: USE_BROWSER,
        answers: &[answer(
            200,
            "The browsers; commands go to the one with `url`",
            Payload::Array(shape::<Browser>()),
        )],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/browser/{command}",
        operation: "commandBrowser",
        summary: "Send a command to the browser on the mesh: `read`, `click` and so on, with its arguments",
        access: USE_BROWSER,
        body: Payload::OptionalObject,
        answers: &[answer(200, "The browser's answer", Payload::Object)],
        repeat: Repeat::AtMostOnce,
        problems: &[404, 409, 502],
        ..BASE
    },
    Route {
        path: "/api/mesh/peers",
        operation: "listPeers",
        summary: "List the peers of the mesh and the targets that they serve",
        access: ADMIN,
        answers: &[answer(
            200,
            "The peers, without the service",
            Payload::Array(shape::<MeshPeer>()),
        )],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/mesh/call",
        operation: "callTarget",
        summary: "Call a command of a target on the mesh",
        access: ADMIN,
        body: Payload::Json(shape::<MeshCallRequest>()),
        answers: &[answer(200, "What the target returned", Payload::Json(shape::<MeshResult>()))],
        repeat: Repeat::AtMostOnce,
        problems: &[404, 409, 502],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/mesh/events",
        operation: "broadcastEvent",
        summary: "Broadcast an event to the listeners on the mesh",
        access: ADMIN,
        body: Payload::Json(shape::<MeshBroadcastRequest>()),
        answers: &[answer(200, "The event's id", Payload::Json(shape::<MeshBroadcast>()))],
        repeat: Repeat::AtMostOnce,
        ..BASE
    },
    Route {
        path: "/api/mesh/events",
        operation: "listenToMesh",
        summary: "Receive the events that peers broadcast, from now on",
        access: ADMIN,
        query: Some(parameters::<MeshListenRequest>),
        answers: &[answer(
            200,
            "One message per event (MeshEvent); `lost` if events arrived too fast (MeshLost), `end` before the stream ends",
            Payload::Events(&[shape::<MeshEvent>(), shape::<MeshLost>()]),
        )],
        ..BASE
    },
    Route {
        path: "/api/tokens",
        operation: "listTokens",
        summary: "List tokens",
        access: ADMIN,
        answers: &[answer(
            200,
            "The tokens, without their secrets",
            Payload::Array(shape::<TokenInfo>()),
        )],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/tokens",
        operation: "createToken",
        summary: "Create a token, which is shown only once",
        access: ADMIN,
        body: Payload::Json(shape::<NewTokenRequest>()),
        answers: &[answer(201, "The token", Payload::Json(shape::<TokenCreated>()))],
        repeat: Repeat::AtMostOnce,
        ..BASE
    },
    Route {
        path: "/api/tokens/current",
        operation: "currentToken",
        summary: "Get what the token of this request permits",
        access: Access::Token,
        answers: &[answer(200, "The scopes and the space", Payload::Json(shape::<TokenGrants>()))],
        ..BASE
    },
    Route {
        method: "DELETE",
        path: "/api/tokens/{id}",
        operation: "revokeToken",
        summary: "Revoke a token, and those derived from it, at once",
        access: ADMIN,
        answers: &[answer(
            200,
            "The tokens are invalid now",
            Payload::Json(shape::<TokenRevoked>()),
        )],
        repeat: Repeat::Harmless,
        problems: &[404],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/dashboard/codes",
        operation: "createDashboardCode",
        summary: "Create a code with which the dashboard's page gets a token, once and within a minute",
        access: ADMIN,
        body: Payload::OptionalJson(shape::<DashboardCodeRequest>()),
        answers: &[answer(201, "The code", Payload::Json(shape::<DashboardCode>()))],
        repeat: Repeat::Harmless,
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/dashboard/token",
        operation: "createDashboardToken",
        summary: "Exchange a code for a token; only for the service's own page",
        access: Access::Open,
        body: Payload::Json(shape::<DashboardTokenRequest>()),
        answers: &[answer(201, "The token", Payload::Json(shape::<TokenCreated>()))],
        repeat: Repeat::Harmless,
        problems: &[401, 403, 410],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/dashboard/proof",
        operation: "proveDashboard",
        summary: "Prove to the dashboard's page that this start of the service issued its code or token",
        access: Access::Open,
        body: Payload::Json(shape::<DashboardProofRequest>()),
        answers: &[answer(200, "The proof", Payload::Json(shape::<DashboardProof>()))],
        problems: &[404],
        ..BASE
    },
    Route {
        path: "/api/backup",
        operation: "backUp",
        summary: "Download a backup of everything that the service stores",
        access: ADMIN,
        answers: &[answer(200, "The backup file", Payload::Backup)],
        problems: &[507],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/mcp",
        operation: "mcp",
        summary: "Send a message of the Model Context Protocol; each tool needs the scope of its route",
        access: Access::Token,
        body: Payload::Object,
        answers: &[
            answer(200, "The response of JSON-RPC", Payload::Object),
            answer(202, "A notification was accepted", Payload::None),
        ],
        problems: &[404, 406, 415],
        ..BASE
    },
    Route {
        path: "/healthz",
        operation: "live",
        summary: "Report whether the process responds",
        access: Access::Open,
        answers: &[answer(200, "The process responds", Payload::Json(shape::<Health>()))],
        ..BASE
    },
    Route {
        path: "/readyz",
        operation: "ready",
        summary: "Report whether the service accepts requests",
        access: Access::Open,
        answers: &[answer(200, "The service is ready", Payload::Json(shape::<Readiness>()))],
        problems: &[503],
        ..BASE
    },
    Route {
        path: "/metrics",
        operation: "metrics",
        summary: "Get metrics in the Prometheus text format",
        access: Access::SocketOrScope(Scope::MemoryRead),
        answers: &[answer(200, "The metrics", Payload::Metrics)],
        ..BASE
    },
    Route {
        path: "/openapi.json",
        operation: "openapi",
        summary: "Get this document",
        access: Access::Open,
        answers: &[answer(200, "The document", Payload::Object)],
        ..BASE
    },
];
