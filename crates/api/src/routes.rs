//! The table of all routes of the service: tests check the service's router, the OpenAPI document and the client
//! against it.

use crate::Scope;

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
    /// The name of the struct of its query parameters.
    pub query: Option<&'static str>,
    /// The body that it accepts.
    pub body: Payload,
    /// Its successful responses.
    pub answers: &'static [Answer],
    /// The statuses of its own problems; every route may also return the common ones.
    pub problems: &'static [u16],
}

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Any client, without a token.
    Open,
    /// A token with this scope, or with `admin`.
    Scope(Scope),
    /// Without a token at the service's socket, otherwise a token with this scope.
    SocketOrScope(Scope),
}

/// The content of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// Nothing.
    None,
    /// JSON of that struct.
    Json(&'static str),
    /// JSON of that struct, or nothing, which means all defaults.
    OptionalJson(&'static str),
    /// A JSON array of that struct.
    Array(&'static str),
    /// One JSON value of that struct per line.
    Lines(&'static str),
    /// Lines of the export format.
    Export,
    /// A backup.
    Backup,
    /// Server-sent events.
    Events,
    /// Metrics in the Prometheus text format.
    Metrics,
    /// A JSON object that is described elsewhere.
    Object,
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
    problems: &[],
};

const WRITE: Access = Access::Scope(Scope::MemoryWrite);
const READ_CONTEXT: Access = Access::Scope(Scope::ContextRead);
const READ_EVENTS: Access = Access::Scope(Scope::EventsRead);
const PUBLISH: Access = Access::Scope(Scope::EventsPublish);
const READ_FLOWS: Access = Access::Scope(Scope::FlowsRead);
const RUN_FLOWS: Access = Access::Scope(Scope::FlowsRun);
const ADMIN: Access = Access::Scope(Scope::Admin);

/// All routes.
pub const ROUTES: &[Route] = &[
    Route {
        method: "POST",
        path: "/api/memory/search",
        operation: "searchMemories",
        summary: "Search memories",
        body: Payload::Json("SearchRequest"),
        answers: &[answer(200, "The hits, best first", Payload::Array("Hit"))],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/memory/add",
        operation: "addMemory",
        summary: "Add a memory",
        access: WRITE,
        body: Payload::Json("AddRequest"),
        answers: &[
            answer(201, "The new memory, which is on disk", Payload::Json("Memory")),
            answer(
                200,
                "The existing memory: the same one was already stored",
                Payload::Json("Memory"),
            ),
        ],
        problems: &[507],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/memory/batch",
        operation: "addMemories",
        summary: "Add memories, one per line; an invalid line does not affect the others",
        access: WRITE,
        body: Payload::Lines("AddRequest"),
        answers: &[answer(200, "One result per line, in order", Payload::Lines("BatchResult"))],
        ..BASE
    },
    Route {
        path: "/api/memory",
        operation: "listMemories",
        summary: "List memories in order of id",
        query: Some("ListRequest"),
        answers: &[answer(
            200,
            "A page; `Link: <...>; rel=\"next\"` is the next one",
            Payload::Array("Memory"),
        )],
        ..BASE
    },
    Route {
        path: "/api/memory/status",
        operation: "memoryStatus",
        summary: "Get the state and statistics of the service",
        answers: &[answer(200, "The status", Payload::Json("Status"))],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/memory/index",
        operation: "reindexMemories",
        summary: "Rebuild the index; with `Accept: text/event-stream`, report progress",
        access: WRITE,
        body: Payload::OptionalJson("IndexRequest"),
        answers: &[
            answer(200, "The result", Payload::Json("IndexResult")),
            answer(
                200,
                "Events `progress` (IndexProgress), then one `done` (IndexResult) or `problem` (Problem)",
                Payload::Events,
            ),
        ],
        problems: &[409],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/memory/compact",
        operation: "compactMemories",
        summary: "Remove deleted memories from disk, and with `versions` old versions",
        access: ADMIN,
        body: Payload::OptionalJson("CompactRequest"),
        answers: &[answer(200, "The result", Payload::Json("CompactResult"))],
        problems: &[409],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/memory/link",
        operation: "addLink",
        summary: "Add a typed link between two memories",
        access: WRITE,
        body: Payload::Json("LinkRequest"),
        answers: &[
            answer(201, "The new link", Payload::Json("Link")),
            answer(200, "The existing link", Payload::Json("Link")),
        ],
        problems: &[404],
        ..BASE
    },
    Route {
        method: "DELETE",
        path: "/api/memory/link",
        operation: "removeLink",
        summary: "Remove a link, given by query parameters or a body",
        access: WRITE,
        query: Some("LinkRequest"),
        body: Payload::OptionalJson("LinkRequest"),
        answers: &[answer(204, "Deleted", Payload::None)],
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
        query: Some("ImportRequest"),
        body: Payload::Export,
        answers: &[answer(200, "The number of imported records", Payload::Json("ImportResult"))],
        problems: &[409],
    },
    Route {
        path: "/api/memory/{id}",
        operation: "getMemory",
        summary: "Get a memory",
        answers: &[answer(200, "The memory", Payload::Json("Memory"))],
        problems: &[404],
        ..BASE
    },
    Route {
        method: "PATCH",
        path: "/api/memory/{id}",
        operation: "updateMemory",
        summary: "Change a memory, keeping its earlier versions",
        access: WRITE,
        body: Payload::Json("PatchRequest"),
        answers: &[answer(200, "The memory after the change", Payload::Json("Memory"))],
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
        problems: &[404],
        ..BASE
    },
    Route {
        path: "/api/memory/{id}/history",
        operation: "memoryHistory",
        summary: "List the versions of a memory, oldest first",
        answers: &[answer(200, "The versions", Payload::Array("Version"))],
        problems: &[404],
        ..BASE
    },
    Route {
        path: "/api/memory/{id}/links",
        operation: "memoryLinks",
        summary: "List the links from and to a memory, breadth first",
        query: Some("LinksRequest"),
        answers: &[answer(200, "The links", Payload::Array("Link"))],
        problems: &[404],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/context",
        operation: "queryContext",
        summary: "Find project context for a task",
        access: READ_CONTEXT,
        body: Payload::OptionalJson("ContextRequest"),
        answers: &[answer(
            200,
            "The items, best first; also while the project is being indexed",
            Payload::Json("ContextAnswer"),
        )],
        problems: &[409],
        ..BASE
    },
    Route {
        path: "/api/context/status",
        operation: "contextStatus",
        summary: "Get which files are indexed, which are excluded, and why",
        access: READ_CONTEXT,
        answers: &[answer(200, "The status", Payload::Json("ContextStatus"))],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/context/rescan",
        operation: "rescanContext",
        summary: "Rescan the whole project, and wait until the index is up to date",
        access: READ_CONTEXT,
        answers: &[answer(200, "The result of the scan", Payload::Json("ContextScan"))],
        problems: &[409],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/events",
        operation: "publishEvent",
        summary: "Publish an event; with `Idempotency-Key`, a retry does not publish it again",
        access: PUBLISH,
        body: Payload::Json("PublishRequest"),
        answers: &[
            answer(201, "The new event, which is on disk", Payload::Json("Published")),
            answer(200, "The existing event with this key", Payload::Json("Published")),
        ],
        problems: &[409, 507],
        ..BASE
    },
    Route {
        path: "/api/events",
        operation: "listEvents",
        summary: "List events in order, after a cursor or the newest ones",
        access: READ_EVENTS,
        query: Some("EventsRequest"),
        answers: &[answer(
            200,
            "A page, oldest event first; `Link: <...>; rel=\"next\"` is the next one",
            Payload::Array("Event"),
        )],
        problems: &[410],
        ..BASE
    },
    Route {
        path: "/api/events/stream",
        operation: "followEvents",
        summary: "Stream events; `Last-Event-ID` resumes",
        access: READ_EVENTS,
        query: Some("StreamRequest"),
        answers: &[answer(
            200,
            "One message per event (Event); `reset` if events have been dropped, `end` before the stream ends",
            Payload::Events,
        )],
        ..BASE
    },
    Route {
        path: "/api/events/{id}",
        operation: "getEvent",
        summary: "Get an event",
        access: READ_EVENTS,
        answers: &[answer(200, "The event", Payload::Json("Event"))],
        problems: &[404],
        ..BASE
    },
    Route {
        path: "/api/flows",
        operation: "listFlows",
        summary: "List flows and flow files with their state",
        access: READ_FLOWS,
        answers: &[answer(200, "Flows and flow files", Payload::Json("Flows"))],
        ..BASE
    },
    Route {
        path: "/api/flows/runs",
        operation: "listRuns",
        summary: "List runs of flows, newest first",
        access: READ_FLOWS,
        query: Some("RunsRequest"),
        answers: &[answer(200, "The runs", Payload::Array("Run"))],
        ..BASE
    },
    Route {
        path: "/api/flows/runs/{id}",
        operation: "getRun",
        summary: "Get a run with the output of its programs",
        access: READ_FLOWS,
        answers: &[answer(200, "The run", Payload::Json("Run"))],
        problems: &[404],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/flows/runs/{id}/retry",
        operation: "retryRun",
        summary: "Resume a failed run at the failed action",
        access: RUN_FLOWS,
        answers: &[answer(200, "The run", Payload::Json("Run"))],
        problems: &[404, 409, 507],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/flows/runs/{id}/cancel",
        operation: "cancelRun",
        summary: "Cancel a run",
        access: RUN_FLOWS,
        answers: &[answer(200, "The run", Payload::Json("Run"))],
        problems: &[404, 409, 507],
        ..BASE
    },
    Route {
        path: "/api/flows/why",
        operation: "whyFlows",
        summary: "Explain for each flow whether an event triggers it",
        access: READ_FLOWS,
        query: Some("WhyRequest"),
        answers: &[answer(200, "Each flow, in the order of the files", Payload::Array("FlowWhy"))],
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
            Payload::Json("FlowFileTexts"),
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
        body: Payload::Json("AllowRequest"),
        answers: &[answer(200, "The file", Payload::Json("FlowFileInfo"))],
        problems: &[404, 409],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/flows/{name}/test",
        operation: "testFlow",
        summary: "Show what a flow would do for an event, without doing it",
        access: RUN_FLOWS,
        body: Payload::Json("FlowTestRequest"),
        answers: &[answer(200, "What the flow would do", Payload::Json("FlowTest"))],
        problems: &[404],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/flows/{name}/replay",
        operation: "replayFlow",
        summary: "Run a flow for past events, or show which events would trigger it",
        access: RUN_FLOWS,
        body: Payload::Json("ReplayRequest"),
        answers: &[answer(200, "The replay", Payload::Json("Replay"))],
        problems: &[404, 507],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/flows/{name}/pause",
        operation: "pauseFlow",
        summary: "Pause a flow; new runs wait",
        access: RUN_FLOWS,
        body: Payload::OptionalJson("PauseRequest"),
        answers: &[answer(200, "The flow", Payload::Json("FlowInfo"))],
        problems: &[404, 507],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/flows/{name}/resume",
        operation: "resumeFlow",
        summary: "Resume a paused flow",
        access: RUN_FLOWS,
        answers: &[answer(200, "The flow", Payload::Json("FlowInfo"))],
        problems: &[404, 507],
        ..BASE
    },
    Route {
        path: "/api/tokens",
        operation: "listTokens",
        summary: "List tokens",
        access: ADMIN,
        answers: &[answer(200, "The tokens, without their secrets", Payload::Array("TokenInfo"))],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/tokens",
        operation: "createToken",
        summary: "Create a token, which is shown only once",
        access: ADMIN,
        body: Payload::Json("NewTokenRequest"),
        answers: &[answer(201, "The token", Payload::Json("TokenCreated"))],
        ..BASE
    },
    Route {
        method: "DELETE",
        path: "/api/tokens/{id}",
        operation: "revokeToken",
        summary: "Revoke a token at once",
        access: ADMIN,
        answers: &[answer(204, "The token is invalid now", Payload::None)],
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
        path: "/healthz",
        operation: "live",
        summary: "Report whether the process responds",
        access: Access::Open,
        answers: &[answer(200, "The process responds", Payload::Json("Health"))],
        ..BASE
    },
    Route {
        path: "/readyz",
        operation: "ready",
        summary: "Report whether the service accepts requests",
        access: Access::Open,
        answers: &[answer(200, "The service is ready", Payload::Json("Readiness"))],
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
