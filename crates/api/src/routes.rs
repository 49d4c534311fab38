//! The table of all routes of the service: its router, the OpenAPI document and the client are made from it.

use std::borrow::Cow;
use std::fmt::Display;
use std::marker::PhantomData;

use utoipa::openapi::path::Parameter;

pub use crate::content::{
    Backup, Body, Content, Events, Export, Input, Json, Lines, Metrics, Object, Optional, Output,
    Query,
};
use crate::query::encode;
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
    /// The name of its constant.
    pub name: &'static str,
    /// A one-line description.
    pub summary: &'static str,
    /// The HTTP method.
    pub method: &'static str,
    /// The path, with `{id}` in place of an id.
    pub path: &'static str,
    /// Who may call it.
    pub access: Access,
    /// What its request does when it is sent again with its idempotency key.
    pub repeat: Repeat,
    /// Whether its response may take as long as it likes. The client sends such a request only once.
    pub is_slow: bool,
    /// The statuses of its successful responses, and when they are returned.
    pub answers: [Option<(u16, &'static str)>; 2],
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

impl Route {
    const fn new(method: &'static str, path: &'static str) -> Self {
        Self {
            name: "",
            summary: "",
            method,
            path,
            access: Access::Scope(Scope::MemoryRead),
            repeat: Repeat::Reads,
            is_slow: false,
            answers: [None, None],
            problems: &[],
        }
    }

    const fn named(self, name: &'static str, summary: &'static str) -> Self {
        Self { name, summary: summary.trim_ascii(), ..self }
    }

    const fn access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    const fn once(self) -> Self {
        Self { repeat: Repeat::Once, ..self }
    }

    const fn at_most_once(self) -> Self {
        Self { repeat: Repeat::AtMostOnce, ..self }
    }

    const fn harmless(self) -> Self {
        Self { repeat: Repeat::Harmless, ..self }
    }

    const fn slow(self) -> Self {
        Self { is_slow: true, ..self }
    }

    const fn returns(self, status: u16, when: &'static str) -> Self {
        let answer = Some((status, when));
        let answers = match self.answers {
            [None, _] => [answer, None],
            [first, _] => [first, answer],
        };
        Self { answers, ..self }
    }

    const fn fails(self, problems: &'static [u16]) -> Self {
        Self { problems, ..self }
    }

    /// Its name in the OpenAPI document: that of its constant, in camel case.
    pub fn operation(&self) -> String {
        let mut words = self.name.split('_').map(str::to_ascii_lowercase);
        let first = words.next().unwrap_or_default();
        words.fold(first, |name, word| {
            let (initial, rest) = word.split_at(1);
            name + &initial.to_ascii_uppercase() + rest
        })
    }
}

const fn get(path: &'static str) -> Route {
    Route::new("GET", path)
}

const fn post(path: &'static str) -> Route {
    Route::new("POST", path)
}

const fn patch(path: &'static str) -> Route {
    Route::new("PATCH", path)
}

const fn delete(path: &'static str) -> Route {
    Route::new("DELETE", path)
}

/// A route with the types of its request and its response, and the path of a request.
#[derive(Debug)]
pub struct Endpoint<I, O> {
    route: Route,
    path: Cow<'static, str>,
    types: PhantomData<fn(I) -> O>,
}

impl<I: Input, O: Output> Endpoint<I, O> {
    const TYPES: Types = Types { parameters: I::parameters, body: I::body, answers: O::answers };

    const fn new(route: Route) -> Self {
        Self { route, path: Cow::Borrowed(route.path), types: PhantomData }
    }

    /// The route.
    pub fn route(&self) -> Route {
        self.route
    }

    /// The path of a request.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// With that value in place of the `{id}` in the path.
    #[must_use]
    pub fn at(self, value: impl Display) -> Self {
        let Some((before, (_, after))) =
            self.path.split_once('{').and_then(|(before, it)| Some((before, it.split_once('}')?)))
        else {
            return self;
        };
        let mut path = before.to_owned();
        encode(&value.to_string(), &mut path);
        path.push_str(after);
        Self { path: path.into(), ..self }
    }
}

/// What the OpenAPI document says of a route's request and of its responses.
pub(crate) struct Types {
    pub(crate) parameters: fn() -> Vec<Parameter>,
    pub(crate) body: fn() -> Option<Content>,
    pub(crate) answers: fn() -> Vec<Option<Content>>,
}

const WRITE: Access = Access::Scope(Scope::MemoryWrite);
const READ_CONTEXT: Access = Access::Scope(Scope::ContextRead);
const READ_EVENTS: Access = Access::Scope(Scope::EventsRead);
const PUBLISH: Access = Access::Scope(Scope::EventsPublish);
const READ_FLOWS: Access = Access::Scope(Scope::FlowsRead);
const RUN_FLOWS: Access = Access::Scope(Scope::FlowsRun);
const USE_BROWSER: Access = Access::Scope(Scope::BrowserUse);
const ADMIN: Access = Access::Scope(Scope::Admin);

/// Declares each route as a constant: its summary, its name, what it takes and what it returns.
macro_rules! routes {
    ($(#[doc = $summary:literal] $name:ident: $input:ty => $output:ty = $route:expr;)*) => {
        $(
            #[doc = $summary]
            pub const $name: Endpoint<$input, $output> =
                Endpoint::new($route.named(stringify!($name), $summary));
        )*

        /// All routes.
        pub const ROUTES: &[Route] = &[$($route.named(stringify!($name), $summary)),*];

        /// The types of all routes, in the same order.
        pub(crate) const TYPES: &[Types] = &[$(Endpoint::<$input, $output>::TYPES),*];
    };
}

// Without a call of `access`, a route needs the scope `memory:read`.
routes! {
    /// Search memories
    SEARCH_MEMORIES: Json<SearchRequest> => Vec<Hit> = post("/api/memory/search")
        .returns(200, "The hits, best first");

    /// Add a memory
    ADD_MEMORY: Json<AddRequest> => Json<AddedMemory> = post("/api/memory/add").access(WRITE).once()
        .returns(201, "The new memory, which is on disk")
        .returns(200, "The existing memory: the same one was already stored").fails(&[507]);

    /// Add memories, one per line; an invalid line does not affect the others
    ADD_MEMORIES: Lines<AddRequest> => Lines<BatchResult> = post("/api/memory/batch")
        .access(WRITE).once()
        .returns(200, "One result per line, in order");

    /// List memories in order of id, or the newest first
    LIST_MEMORIES: Query<ListRequest> => Vec<Memory> = get("/api/memory")
        .returns(200, "A page; `Link: <...>; rel=\"next\"` is the next one");

    /// Count memories, also by type, tag and space
    COUNT_MEMORIES: Optional<Json<CountRequest>> => Json<Counts> = post("/api/memory/count")
        .returns(200, "The counts");

    /// Merge two memories: change one, move the links of the other to it, and delete that
    MERGE_MEMORIES: Json<MergeRequest> => Json<Memory> = post("/api/memory/merge")
        .access(WRITE).once()
        .returns(200, "The memory that stays").fails(&[404, 409]);

    /// List memories that say nearly the same, or different things about the same subject
    LIST_SUGGESTIONS: Query<SuggestionsRequest> => Json<Suggestions> =
        get("/api/memory/suggestions")
        .returns(200, "The suggestions, the most similar pair first").fails(&[404]);

    /// Get the state and statistics of the service
    MEMORY_STATUS: () => Json<Status> = get("/api/memory/status")
        .returns(200, "The status");

    /// Rebuild the index; with `Accept: text/event-stream`, report progress
    REINDEX_MEMORIES: Optional<Json<IndexRequest>> => (Json<IndexResult>, Events<IndexProgress>) =
        post("/api/memory/index").access(WRITE).harmless()
        .returns(200, "The result")
        .returns(200, "Events `progress` (IndexProgress), then one `done` (IndexResult) or `problem` (Problem)")
        .fails(&[409]);

    /// Remove deleted memories from disk, and with `versions` old versions
    COMPACT_MEMORIES: Optional<Json<CompactRequest>> => Json<CompactResult> =
        post("/api/memory/compact").access(ADMIN).harmless().slow()
        .returns(200, "The result").fails(&[409]);

    /// Add a typed link between two memories
    ADD_LINK: Json<LinkRequest> => Json<Link> = post("/api/memory/link").access(WRITE).once()
        .returns(201, "The new link")
        .returns(200, "The existing link").fails(&[404]);

    /// Remove a link, given by query parameters or a body
    REMOVE_LINK: (Query<LinkRequest>, Optional<Json<LinkRequest>>) => () =
        delete("/api/memory/link").access(WRITE).once()
        .returns(204, "Deleted").fails(&[404]);

    /// Export memories, links and history
    EXPORT_MEMORIES: () => Export = get("/api/memory/export")
        .returns(200, "One record per line");

    /// Import an export, ids included
    IMPORT_MEMORIES: (Query<ImportRequest>, Export) => Json<ImportResult> =
        post("/api/memory/import").access(WRITE).once()
        .returns(200, "The number of imported records").fails(&[409]);

    /// Get a memory
    GET_MEMORY: () => Json<Memory> = get("/api/memory/{id}")
        .returns(200, "The memory").fails(&[404]);

    /// Change a memory, keeping its earlier versions
    UPDATE_MEMORY: Json<PatchRequest> => Json<Memory> = patch("/api/memory/{id}")
        .access(WRITE).once()
        .returns(200, "The memory after the change").fails(&[404, 409]);

    /// Delete a memory
    DELETE_MEMORY: () => () = delete("/api/memory/{id}").access(WRITE).once()
        .returns(204, "Deleted").fails(&[404]);

    /// Give a memory the fields of an earlier version, as a new version
    RESTORE_VERSION: Json<RestoreRequest> => Json<Memory> = post("/api/memory/{id}/restore")
        .access(WRITE).once()
        .returns(200, "The memory after the change").fails(&[404, 410]);

    /// Restore a deleted memory, without its links
    UNDELETE_MEMORY: () => Json<Memory> = post("/api/memory/{id}/undelete").access(WRITE).once()
        .returns(200, "The memory").fails(&[404, 409, 410]);

    /// List the versions of a memory, oldest first
    MEMORY_HISTORY: Query<HistoryRequest> => Vec<Version> = get("/api/memory/{id}/history")
        .returns(200, "A page; `Link: <...>; rel=\"next\"` is the next one").fails(&[404]);

    /// List the links from and to a memory, breadth first
    MEMORY_LINKS: Query<LinksRequest> => Vec<Link> = get("/api/memory/{id}/links")
        .returns(200, "The links").fails(&[404]);

    /// List what was injected into sessions and what was withheld, the newest first
    LIST_RECALL: Query<RecallListRequest> => Vec<RecallEntry> = get("/api/recall")
        .returns(200, "A page; `Link: <...>; rel=\"next\"` is the next one");

    /// Get what a session has, and how much of its transcript was recorded
    GET_RECALL_SESSION: Query<RecallSessionRequest> => Json<RecallSession> =
        get("/api/recall/sessions/{session}")
        .returns(200, "The session").fails(&[404]);

    /// Get the brief for a session that starts, or that was compacted
    BRIEF_SESSION: Json<RecallBriefRequest> => Json<Recalled> = post("/api/recall/brief").harmless()
        .returns(200, "The brief").fails(&[507]);

    /// Get what is relevant to a prompt and new to its session
    RECALL_FOR_PROMPT: Json<RecallPromptRequest> => Json<Recalled> = post("/api/recall/prompt")
        .harmless()
        .returns(200, "The memories, or the reason for none").fails(&[507]);

    /// Record prompts and answers of a session as memories; safe to repeat
    RECORD_TURNS: Json<RecallTurnsRequest> => Json<RecallTurns> = post("/api/recall/turns")
        .access(WRITE).harmless()
        .returns(200, "The new memories, which are on disk").fails(&[409, 507]);

    /// Note that a session is compacted: its next prompt gets the brief again
    NOTE_COMPACTION: Json<RecallCompactionRequest> => () = post("/api/recall/compaction")
        .access(WRITE).harmless()
        .returns(204, "Noted").fails(&[507]);

    /// Explain for each memory that answers a question why a session got it or not
    WHY_RECALL: Json<RecallWhyRequest> => Json<RecallWhy> = post("/api/recall/why")
        .returns(200, "The memories");

    /// Find project context for a task
    QUERY_CONTEXT: Optional<Json<ContextRequest>> => Json<ContextAnswer> = post("/api/context")
        .access(READ_CONTEXT)
        .returns(200, "The items, best first; also while the project is being indexed")
        .fails(&[409]);

    /// Get which files are indexed, which are excluded, and why
    CONTEXT_STATUS: () => Json<ContextStatus> = get("/api/context/status").access(READ_CONTEXT)
        .returns(200, "The status");

    /// Rescan the whole project, and wait until the index is up to date
    RESCAN_CONTEXT: () => Json<ContextScan> = post("/api/context/rescan")
        .access(READ_CONTEXT).harmless().slow()
        .returns(200, "The result of the scan").fails(&[409]);

    /// Publish an event; with `Idempotency-Key`, a retry does not publish it again
    PUBLISH_EVENT: Json<PublishRequest> => Json<Published> = post("/api/events")
        .access(PUBLISH).once()
        .returns(201, "The new event, which is on disk")
        .returns(200, "The existing event with this key").fails(&[409, 507]);

    /// List events in order, after a cursor or the newest ones
    LIST_EVENTS: Query<EventsRequest> => Vec<Event> = get("/api/events").access(READ_EVENTS)
        .returns(200, "A page, oldest event first; `Link: <...>; rel=\"next\"` is the next one")
        .fails(&[410]);

    /// Stream events; `Last-Event-ID` resumes
    FOLLOW_EVENTS: Query<StreamRequest> => Events<Event> = get("/api/events/stream")
        .access(READ_EVENTS)
        .returns(200, "One message per event (Event); `reset` if events have been dropped, `end` before the stream ends");

    /// Get an event
    GET_EVENT: () => Json<Event> = get("/api/events/{id}").access(READ_EVENTS)
        .returns(200, "The event").fails(&[404]);

    /// List flows and flow files with their state
    LIST_FLOWS: () => Json<Flows> = get("/api/flows").access(READ_FLOWS)
        .returns(200, "Flows and flow files");

    /// Read the flow files and their approvals again, and wait until they are in force
    RESCAN_FLOWS: () => Json<Flows> = post("/api/flows/rescan").access(READ_FLOWS).harmless()
        .returns(200, "Flows and flow files");

    /// List runs of flows, newest first
    LIST_RUNS: Query<RunsRequest> => Vec<Run> = get("/api/flows/runs").access(READ_FLOWS)
        .returns(200, "The runs");

    /// Get a run with the output of its programs
    GET_RUN: () => Json<Run> = get("/api/flows/runs/{id}").access(READ_FLOWS)
        .returns(200, "The run").fails(&[404]);

    /// Resume a failed run at the failed action
    RETRY_RUN: () => Json<Run> = post("/api/flows/runs/{id}/retry").access(RUN_FLOWS).at_most_once()
        .returns(200, "The run").fails(&[404, 409, 507]);

    /// Cancel a run
    CANCEL_RUN: () => Json<Run> = post("/api/flows/runs/{id}/cancel")
        .access(RUN_FLOWS).at_most_once()
        .returns(200, "The run").fails(&[404, 409, 507]);

    /// Explain for each flow whether an event triggers it
    WHY_FLOWS: Query<WhyRequest> => Vec<FlowWhy> = get("/api/flows/why").access(READ_FLOWS)
        .returns(200, "Each flow, in the order of the files").fails(&[404]);

    /// Get the last approved text of a flow file, and the current one
    GET_FLOW_FILE: () => Json<FlowFileTexts> = get("/api/flows/files/{name}").access(READ_FLOWS)
        .returns(200, "Both texts, and those of the programs that the file names").fails(&[404]);

    /// Approve the content of a flow file, which activates it
    ALLOW_FLOW_FILE: Json<AllowRequest> => Json<FlowFileInfo> =
        post("/api/flows/files/{name}/allow").access(ADMIN).harmless()
        .returns(200, "The file").fails(&[404, 409]);

    /// Show what a flow would do for an event, without doing it
    TEST_FLOW: Json<FlowTestRequest> => Json<FlowTest> = post("/api/flows/{name}/test")
        .access(RUN_FLOWS)
        .returns(200, "What the flow would do").fails(&[404]);

    /// Run a flow for past events, or show which events would trigger it
    REPLAY_FLOW: Json<ReplayRequest> => Json<Replay> = post("/api/flows/{name}/replay")
        .access(RUN_FLOWS).at_most_once()
        .returns(200, "The replay").fails(&[404, 507]);

    /// Pause a flow; new runs wait
    PAUSE_FLOW: Optional<Json<PauseRequest>> => Json<FlowInfo> = post("/api/flows/{name}/pause")
        .access(RUN_FLOWS).at_most_once()
        .returns(200, "The flow").fails(&[404, 507]);

    /// Resume a paused flow
    RESUME_FLOW: () => Json<FlowInfo> = post("/api/flows/{name}/resume")
        .access(RUN_FLOWS).at_most_once()
        .returns(200, "The flow").fails(&[404, 507]);

    /// List the browsers on the mesh
    LIST_BROWSERS: () => Vec<Browser> = get("/api/browser").access(USE_BROWSER)
        .returns(200, "The browsers; commands go to the one with `url`");

    /// Send a command to the browser on the mesh: `read`, `click` and so on, with its arguments
    COMMAND_BROWSER: Optional<Object> => Object = post("/api/browser/{command}")
        .access(USE_BROWSER).at_most_once().slow()
        .returns(200, "The browser's answer").fails(&[404, 409, 502]);

    /// List the peers of the mesh and the targets that they serve
    LIST_PEERS: () => Vec<MeshPeer> = get("/api/mesh/peers").access(ADMIN)
        .returns(200, "The peers, without the service");

    /// Call a command of a target on the mesh
    CALL_TARGET: Json<MeshCallRequest> => Json<MeshResult> = post("/api/mesh/call")
        .access(ADMIN).at_most_once().slow()
        .returns(200, "What the target returned").fails(&[404, 409, 502]);

    /// Broadcast an event to the listeners on the mesh
    BROADCAST_EVENT: Json<MeshBroadcastRequest> => Json<MeshBroadcast> = post("/api/mesh/events")
        .access(ADMIN).at_most_once().slow()
        .returns(200, "The event's id");

    /// Receive the events that peers broadcast, from now on
    LISTEN_TO_MESH: Query<MeshListenRequest> => Events<MeshEvent, MeshLost> =
        get("/api/mesh/events").access(ADMIN)
        .returns(200, "One message per event (MeshEvent); `lost` if events arrived too fast (MeshLost), `end` before the stream ends");

    /// List tokens
    LIST_TOKENS: () => Vec<TokenInfo> = get("/api/tokens").access(ADMIN)
        .returns(200, "The tokens, without their secrets");

    /// Create a token, which is shown only once
    CREATE_TOKEN: Json<NewTokenRequest> => Json<TokenCreated> = post("/api/tokens")
        .access(ADMIN).at_most_once()
        .returns(201, "The token");

    /// Get what the token of this request permits
    CURRENT_TOKEN: () => Json<TokenGrants> = get("/api/tokens/current").access(Access::Token)
        .returns(200, "The scopes and the space");

    /// Revoke a token, and those derived from it, at once
    REVOKE_TOKEN: () => Json<TokenRevoked> = delete("/api/tokens/{id}").access(ADMIN).harmless()
        .returns(200, "The tokens are invalid now").fails(&[404]);

    /// Create a code with which the dashboard's page gets a token, once and within a minute
    CREATE_DASHBOARD_CODE: Optional<Json<DashboardCodeRequest>> => Json<DashboardCode> =
        post("/api/dashboard/codes").access(ADMIN).harmless()
        .returns(201, "The code");

    /// Exchange a code for a token; only for the service's own page
    CREATE_DASHBOARD_TOKEN: Json<DashboardTokenRequest> => Json<TokenCreated> =
        post("/api/dashboard/token").access(Access::Open).harmless()
        .returns(201, "The token").fails(&[401, 403, 410]);

    /// Prove to the dashboard's page that this start of the service issued its code or token
    PROVE_DASHBOARD: Json<DashboardProofRequest> => Json<DashboardProof> =
        post("/api/dashboard/proof").access(Access::Open)
        .returns(200, "The proof").fails(&[404]);

    /// Download a backup of everything that the service stores
    BACK_UP: () => Backup = get("/api/backup").access(ADMIN)
        .returns(200, "The backup file").fails(&[507]);

    /// Send a message of the Model Context Protocol; each tool needs the scope of its route
    MCP: Object => (Object, ()) = post("/mcp").access(Access::Token)
        .returns(200, "The response of JSON-RPC")
        .returns(202, "A notification was accepted").fails(&[404, 406, 415]);

    /// Report whether the process responds
    LIVE: () => Json<Health> = get("/healthz").access(Access::Open)
        .returns(200, "The process responds");

    /// Report whether the service accepts requests
    READY: () => Json<Readiness> = get("/readyz").access(Access::Open)
        .returns(200, "The service is ready").fails(&[503]);

    /// Get metrics in the Prometheus text format
    METRICS: () => Metrics = get("/metrics").access(Access::SocketOrScope(Scope::MemoryRead))
        .returns(200, "The metrics");

    /// Get this document
    OPENAPI: () => Object = get("/openapi.json").access(Access::Open)
        .returns(200, "The document");
}
