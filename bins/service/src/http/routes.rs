//! Every path of the service and what answers it.

mod batch;
mod context;
mod events;
mod flows;
mod index;
mod memory;
mod operation;
mod search;
pub(crate) mod stream;
mod token;
mod transfer;

use std::sync::Arc;

use axum::Router;
use axum::routing::{delete, get, post};

use crate::app::App;
use crate::http::route::note_route;

/// All routes over the opened parts.
pub(crate) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/api/memory/search", post(search::search))
        .route("/api/memory/add", post(memory::add))
        .route("/api/memory/batch", post(batch::batch))
        .route("/api/memory/status", get(operation::status))
        .route("/api/memory/index", post(index::index))
        .route("/api/memory/compact", post(index::compact))
        .route("/api/memory/link", post(memory::link).delete(memory::unlink))
        .route("/api/memory/export", get(transfer::export))
        .route("/api/memory/import", post(transfer::import))
        .route("/api/memory", get(memory::list))
        .route("/api/memory/{id}", get(memory::get).patch(memory::update).delete(memory::delete))
        .route("/api/memory/{id}/history", get(memory::history))
        .route("/api/memory/{id}/links", get(memory::links))
        .route("/api/context", post(context::query))
        .route("/api/context/status", get(context::status))
        .route("/api/context/rescan", post(context::rescan))
        .route("/api/events", get(events::list).post(events::publish))
        .route("/api/events/stream", get(stream::stream))
        .route("/api/events/{id}", get(events::get))
        .route("/api/flows", get(flows::list))
        .route("/api/flows/runs", get(flows::runs))
        .route("/api/flows/runs/{id}", get(flows::run))
        .route("/api/flows/runs/{id}/retry", post(flows::retry))
        .route("/api/flows/runs/{id}/cancel", post(flows::cancel))
        .route("/api/flows/why", get(flows::why))
        .route("/api/flows/files/{name}", get(flows::file))
        .route("/api/flows/files/{name}/allow", post(flows::allow))
        .route("/api/flows/{name}/test", post(flows::test))
        .route("/api/flows/{name}/replay", post(flows::replay))
        .route("/api/flows/{name}/pause", post(flows::pause))
        .route("/api/flows/{name}/resume", post(flows::resume))
        .route("/api/tokens", get(token::list).post(token::create))
        .route("/api/tokens/{id}", delete(token::revoke))
        .route("/api/backup", get(transfer::backup))
        .route("/healthz", get(operation::healthz))
        .route("/readyz", get(operation::readyz))
        .route("/metrics", get(operation::metrics))
        .route("/openapi.json", get(operation::openapi))
        .route_layer(axum::middleware::from_fn(note_route))
        .with_state(app)
}
