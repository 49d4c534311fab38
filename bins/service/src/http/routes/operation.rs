//! For operators: status, health, metrics, the API description.

use std::sync::{Arc, LazyLock};

use axum::extract::{Extension, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue, StatusCode};
use waypost_api as api;
use waypost_auth::Scope;

use crate::app::App;
use crate::http::call::Call;
use crate::http::failure::Failure;
use crate::http::guard::Caller;
use crate::http::reply::{encode, json};
use crate::http::wire;
use crate::metrics::{ClusterGauges, EventGauges, Gauges};

pub(super) async fn status(call: Call) -> Result<Response, Failure> {
    let work = |call: &Call| Ok(describe(&call.app, call.scoped().status()?, &call.caller));
    call.answer(|app| &app.reads, work).await
}

fn describe(app: &App, of_store: waypost_memory::Status, caller: &Caller) -> api::Status {
    let (model, reranker) = (app.model.status(), app.reranker.status());
    let remedy = if let Some(what) = app.fault().or_else(|| app.degradation()) {
        Some(what)
    } else if of_store.index.lacking > 0 {
        let lacking = of_store.index.lacking;
        Some(format!(
            "the index is being rebuilt and lacks {lacking} memories, which searches do not find yet"
        ))
    } else {
        let of_model = app.model.remedy(of_store.memories.saturating_sub(of_store.embedded));
        of_model.or_else(|| reranker.as_ref()?.problem.clone())
    };
    api::Status {
        status: if remedy.is_some() { api::StatusKind::Degraded } else { api::StatusKind::Ok },
        remedy,
        memories: of_store.memories,
        by_type: of_store.by_kind,
        by_space: of_store.by_space,
        links: of_store.links,
        embedded: of_store.embedded,
        pending_embeddings: of_store.pending_embeddings,
        model,
        reranker,
        index: api::IndexStatus {
            documents: of_store.index.documents,
            terms: of_store.index.terms,
            bytes: of_store.index.bytes,
            lacking: of_store.index.lacking,
        },
        // It would reveal the size of other spaces.
        storage_bytes: if caller.space().is_none() { app.disk.storage_bytes() } else { 0 },
        last_reindex_at: of_store.last_reindex_at,
        pending_approval: if caller.space().is_none() && caller.may(Scope::FlowsRead) {
            app.flows.pending()
        } else {
            Vec::new()
        },
        mesh: app.mesh.status(),
        url: Some(app.url.clone()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        uptime_seconds: app.started.elapsed().as_secs(),
    }
}

pub(super) async fn healthz() -> Response {
    let mut response = json(StatusCode::OK, &api::Health { status: "ok".to_owned() });
    let name = HeaderName::from_static(api::KEYS_HEADER);
    response.headers_mut().insert(name, HeaderValue::from_static("writes"));
    response
}

pub(super) async fn readyz(State(app): State<Arc<App>>) -> Result<Response, Failure> {
    if app.is_stopping() {
        return Err(Failure::stopping());
    }
    if let Some(fault) = app.fault() {
        return Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, fault));
    }
    let detail = app.degradation();
    let status = match &detail {
        Some(_) => "degraded",
        None if app.is_indexing() => "indexing",
        None => "ready",
    };
    Ok(json(StatusCode::OK, &api::Readiness { status: status.to_owned(), detail }))
}

/// On the socket for this user, elsewhere for callers that may see the status of all spaces.
pub(super) async fn metrics(
    State(app): State<Arc<App>>,
    caller: Option<Extension<Caller>>,
) -> Result<Response, Failure> {
    if let Some(Extension(caller)) = caller {
        caller.require_all_spaces()?;
    }
    let shared = Arc::clone(&app);
    let looked = app.reads.run(move || {
        (shared.counted(), EventGauges::of(&shared), wire::context::status(&shared.context))
    });
    let (of_store, events, context) = looked.await?;
    let of_store = of_store?;
    let gauges = Gauges {
        cluster: ClusterGauges::of(&app),
        events,
        memories: of_store.memories,
        links: of_store.links,
        embedded: of_store.embedded,
        pending: of_store.pending_embeddings,
        storage_bytes: app.disk.storage_bytes(),
        write_fault: of_store.write_fault.is_some(),
        disk_free_bytes: app.disk.free_bytes().unwrap_or(0),
        damage: app.damage.found(),
        index_documents: of_store.index.documents,
        index_terms: of_store.index.terms,
        index_bytes: of_store.index.bytes,
        context_files: context.files,
        context_chunks: context.chunks.values().sum(),
        context_pending: context.pending,
        context_skipped: context.skipped.values().map(|it| it.files).sum(),
        context_vectors: context.vectors,
        context_vectors_pending: context.vectors_pending,
        context_bytes: context.memory_bytes,
        model_ready: app.model.status().state == api::ModelState::Ready,
        queued_reads: app.reads.queued(),
        waiting_bytes: app.waiting.bytes(),
        queued_writes: app.writes.queued(),
        uptime_seconds: app.started.elapsed().as_secs(),
    };
    let mut response = app.metrics.text(&gauges).into_response();
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}

pub(super) async fn openapi() -> Response {
    /// Once for all clients: none of them has to show a token.
    static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| encode(&api::openapi::document()).into());
    let mut response = DOCUMENT.clone().into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
