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
use crate::http::gauges;
use crate::http::guard::Caller;
use crate::http::reply::{encode, json};

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
        storage_bytes: if caller.space().is_none() { app.storage_bytes() } else { 0 },
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
    let text = app.reads.run(move || gauges::text(&shared)).await??;
    let mut response = text.into_response();
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
