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
        summary: "Search memories by words and by meaning",
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
            answer(201, "It was added and is on disk", Payload::Json("Memory")),
            answer(200, "The same memory was there already", Payload::Json("Memory")),
        ],
        problems: &[507],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/memory/batch",
        operation: "addMemories",
        summary: "Add many memories, one a line; a bad line fails alone",
        access: WRITE,
        body: Payload::Lines("AddRequest"),
        answers: &[answer(200, "One result a line, in order", Payload::Lines("BatchResult"))],
        ..BASE
    },
    Route {
        path: "/api/memory",
        operation: "listMemories",
        summary: "List memories in order of their ids",
        query: Some("ListRequest"),
        answers: &[answer(
            200,
            "A page; `Link: <...>; rel=\"next\"` leads to the next",
            Payload::Array("Memory"),
        )],
        ..BASE
    },
    Route {
        path: "/api/memory/status",
        operation: "memoryStatus",
        summary: "Health and statistics of the memory",
        answers: &[answer(200, "How it is doing", Payload::Json("Status"))],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/memory/index",
        operation: "reindexMemories",
        summary: "Rebuild the index; with `Accept: text/event-stream`, tell how far it is",
        access: WRITE,
        body: Payload::OptionalJson("IndexRequest"),
        answers: &[
            answer(200, "It is done", Payload::Json("IndexResult")),
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
        summary: "Remove from disk what was deleted, and with `versions` old versions",
        access: ADMIN,
        body: Payload::OptionalJson("CompactRequest"),
        answers: &[answer(200, "It is done", Payload::Json("CompactResult"))],
        problems: &[409],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/memory/link",
        operation: "addLink",
        summary: "Add a typed edge between two memories",
        access: WRITE,
        body: Payload::Json("LinkRequest"),
        answers: &[
            answer(201, "It was added", Payload::Json("Link")),
            answer(200, "It was there already", Payload::Json("Link")),
        ],
        problems: &[404],
        ..BASE
    },
    Route {
        method: "DELETE",
        path: "/api/memory/link",
        operation: "removeLink",
        summary: "Remove an edge, named by query parameters or by a body",
        access: WRITE,
        query: Some("LinkRequest"),
        body: Payload::OptionalJson("LinkRequest"),
        answers: &[answer(204, "It is gone", Payload::None)],
        problems: &[404],
    },
    Route {
        path: "/api/memory/export",
        operation: "exportMemories",
        summary: "Export memories, links and history",
        answers: &[answer(200, "One record a line", Payload::Export)],
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
        answers: &[answer(200, "What was brought in", Payload::Json("ImportResult"))],
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
        summary: "Change a memory; its earlier versions are kept",
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
        answers: &[answer(204, "It is gone", Payload::None)],
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
        summary: "List the edges around a memory, both ways, breadth first",
        query: Some("LinksRequest"),
        answers: &[answer(200, "The edges", Payload::Array("Link"))],
        problems: &[404],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/context",
        operation: "queryContext",
        summary: "Find what of the project a task needs: journals, documents, code headers",
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
        summary: "What of the project is indexed, what is left out, and why",
        access: READ_CONTEXT,
        answers: &[answer(200, "How it is", Payload::Json("ContextStatus"))],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/context/rescan",
        operation: "rescanContext",
        summary: "Compare all of the project with its index, and wait until they agree",
        access: READ_CONTEXT,
        answers: &[answer(200, "They did at that time", Payload::Json("ContextScan"))],
        problems: &[409],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/events",
        operation: "publishEvent",
        summary: "Publish an event; with `Idempotency-Key` a retry publishes nothing twice",
        access: PUBLISH,
        body: Payload::Json("PublishRequest"),
        answers: &[
            answer(201, "It was published and is on disk", Payload::Json("Published")),
            answer(200, "It had been published with this key before", Payload::Json("Published")),
        ],
        problems: &[409, 507],
        ..BASE
    },
    Route {
        path: "/api/events",
        operation: "listEvents",
        summary: "List events in order: after a cursor, or the newest",
        access: READ_EVENTS,
        query: Some("EventsRequest"),
        answers: &[answer(
            200,
            "A page, the oldest event first; `Link: <...>; rel=\"next\"` leads to the next",
            Payload::Array("Event"),
        )],
        problems: &[410],
        ..BASE
    },
    Route {
        path: "/api/events/stream",
        operation: "followEvents",
        summary: "Follow events as they come; resumed by `Last-Event-ID`",
        access: READ_EVENTS,
        query: Some("StreamRequest"),
        answers: &[answer(
            200,
            "One message for each event (Event); `reset` where some are not kept any more, `end` before it ends",
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
        summary: "List flows and flow files, and how they are doing",
        access: READ_FLOWS,
        answers: &[answer(200, "All of them", Payload::Json("Flows"))],
        ..BASE
    },
    Route {
        path: "/api/flows/runs",
        operation: "listRuns",
        summary: "List runs of flows, the newest first",
        access: READ_FLOWS,
        query: Some("RunsRequest"),
        answers: &[answer(200, "The runs", Payload::Array("Run"))],
        ..BASE
    },
    Route {
        path: "/api/flows/runs/{id}",
        operation: "getRun",
        summary: "Get a run, with what its programs wrote",
        access: READ_FLOWS,
        answers: &[answer(200, "The run", Payload::Json("Run"))],
        problems: &[404],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/flows/runs/{id}/retry",
        operation: "retryRun",
        summary: "Have a run that failed go on with the action that it was at",
        access: RUN_FLOWS,
        answers: &[answer(200, "The run", Payload::Json("Run"))],
        problems: &[404, 409, 507],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/flows/runs/{id}/cancel",
        operation: "cancelRun",
        summary: "End a run, whatever it does or waits for",
        access: RUN_FLOWS,
        answers: &[answer(200, "The run", Payload::Json("Run"))],
        problems: &[404, 409, 507],
        ..BASE
    },
    Route {
        path: "/api/flows/why",
        operation: "whyFlows",
        summary: "Tell what each flow makes of an event",
        access: READ_FLOWS,
        query: Some("WhyRequest"),
        answers: &[answer(200, "Each flow, in the order of the files", Payload::Array("FlowWhy"))],
        problems: &[404],
        ..BASE
    },
    Route {
        path: "/api/flows/files/{name}",
        operation: "getFlowFile",
        summary: "Get the text of a flow file that was approved last, and the one in the folder",
        access: READ_FLOWS,
        answers: &[answer(
            200,
            "Both, and those of the programs that it names",
            Payload::Json("FlowFileTexts"),
        )],
        problems: &[404],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/flows/files/{name}/allow",
        operation: "allowFlowFile",
        summary: "Approve the content of a flow file; it is in force then",
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
        summary: "Tell what a flow would do for an event; nothing is done",
        access: RUN_FLOWS,
        body: Payload::Json("FlowTestRequest"),
        answers: &[answer(200, "What it would do", Payload::Json("FlowTest"))],
        problems: &[404],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/flows/{name}/replay",
        operation: "replayFlow",
        summary: "Run a flow for past events, or tell for which it would run",
        access: RUN_FLOWS,
        body: Payload::Json("ReplayRequest"),
        answers: &[answer(200, "What is decided", Payload::Json("Replay"))],
        problems: &[404, 507],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/flows/{name}/pause",
        operation: "pauseFlow",
        summary: "Begin nothing of a flow; its runs wait",
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
        summary: "Take a paused flow up again",
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
        answers: &[answer(200, "What is kept about each", Payload::Array("TokenInfo"))],
        ..BASE
    },
    Route {
        method: "POST",
        path: "/api/tokens",
        operation: "createToken",
        summary: "Create a token; it is shown once",
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
        answers: &[answer(204, "It no longer works", Payload::None)],
        problems: &[404],
        ..BASE
    },
    Route {
        path: "/api/backup",
        operation: "backUp",
        summary: "Read a backup of everything that the service keeps",
        access: ADMIN,
        answers: &[answer(200, "The backup, as it is to be stored", Payload::Backup)],
        problems: &[507],
        ..BASE
    },
    Route {
        path: "/healthz",
        operation: "live",
        summary: "Tell whether the process answers",
        access: Access::Open,
        answers: &[answer(200, "It does", Payload::Json("Health"))],
        ..BASE
    },
    Route {
        path: "/readyz",
        operation: "ready",
        summary: "Tell whether requests are served",
        access: Access::Open,
        answers: &[answer(200, "They are", Payload::Json("Readiness"))],
        problems: &[503],
        ..BASE
    },
    Route {
        path: "/metrics",
        operation: "metrics",
        summary: "Metrics in the Prometheus text format",
        access: Access::SocketOrScope(Scope::MemoryRead),
        answers: &[answer(200, "The metrics", Payload::Metrics)],
        ..BASE
    },
    Route {
        path: "/openapi.json",
        operation: "openapi",
        summary: "This document",
        access: Access::Open,
        answers: &[answer(200, "The document", Payload::Object)],
        ..BASE
    },
];
