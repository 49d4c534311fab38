//! Every path of the service and its handler.

mod batch;
mod browser;
mod context;
mod dashboard;
mod events;
mod flows;
mod index;
mod mcp;
mod memory;
mod mesh;
mod operation;
mod recall;
mod search;
pub(crate) mod stream;
mod suggestions;
mod token;
mod transfer;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Extension, Request};
use axum::handler::Handler;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, on};
use waypost_api::routes::{self, Access, Endpoint, Input, Output, Repeat, Route};

use crate::app::App;
use crate::cluster::position;
use crate::http::failure::Failure;
use crate::http::guard::{Caller, no_token};
use crate::http::keys;
use crate::http::route::note_route;
use crate::http::wire;

/// All routes over the opened parts.
pub(crate) fn router(app: Arc<App>) -> Router {
    let mut router = Router::new();
    for (route, answers) in all() {
        let answers = keyed(&app, route.repeat, answers);
        router = router.route(route.path, guarded(route.access, answers));
    }
    let pages = crate::http::dashboard::router();
    router.route_layer(from_fn(note_route)).merge(pages).with_state(app)
}

/// Reads the keys of requests to a route that changes something, and lets a member of a cluster carry
/// them out when it has compared itself with the journal.
fn keyed(
    app: &Arc<App>,
    repeat: Repeat,
    answers: MethodRouter<Arc<App>>,
) -> MethodRouter<Arc<App>> {
    let answers = match repeat {
        Repeat::Reads => return answers,
        // The handler does.
        Repeat::Once => answers,
        Repeat::AtMostOnce => {
            let app = Arc::clone(app);
            answers.route_layer(from_fn(move |request: Request, next: Next| {
                keys::at_most_once(Arc::clone(&app), request, next)
            }))
        }
        Repeat::Harmless => {
            answers.route_layer(from_fn(|request: Request, next: Next| async move {
                keys::idempotency_key(request.headers())?;
                Ok::<_, Failure>(next.run(request).await)
            }))
        }
    };
    if app.cluster.is_none() {
        return answers;
    }
    let app = Arc::clone(app);
    answers.route_layer(from_fn(move |request: Request, next: Next| {
        let app = Arc::clone(&app);
        async move {
            position::wait_until_compared(&app).await;
            next.run(request).await
        }
    }))
}

fn guarded(access: Access, answers: MethodRouter<Arc<App>>) -> MethodRouter<Arc<App>> {
    answers.route_layer(from_fn(move |caller, request, next| enter(access, caller, request, next)))
}

/// Lets a request with the route's scope in. Only a public path has no caller.
async fn enter(
    access: Access,
    caller: Option<Extension<Caller>>,
    request: Request,
    next: Next,
) -> Result<Response, Failure> {
    match (access, caller) {
        (Access::Open, _) | (Access::SocketOrScope(_), None) | (Access::Token, Some(_)) => {}
        (Access::Scope(scope) | Access::SocketOrScope(scope), Some(Extension(caller))) => {
            caller.require(wire::scope(scope))?;
        }
        (Access::Token | Access::Scope(_), None) => return Err(no_token()),
    }
    Ok(next.run(request).await)
}

/// A route and its handler.
type Served = (Route, MethodRouter<Arc<App>>);

fn served<I: Input, O: Output, Arguments: 'static>(
    endpoint: &Endpoint<I, O>,
    handler: impl Handler<Arguments, Arc<App>>,
) -> Served {
    let route = endpoint.route();
    let by = match route.method {
        "POST" => MethodFilter::POST,
        "PATCH" => MethodFilter::PATCH,
        "DELETE" => MethodFilter::DELETE,
        _ => MethodFilter::GET,
    };
    (route, on(by, handler))
}

/// Every route.
fn all() -> Vec<Served> {
    vec![
        served(&routes::SEARCH_MEMORIES, search::search),
        served(&routes::ADD_MEMORY, memory::add),
        served(&routes::ADD_MEMORIES, batch::batch),
        served(&routes::LIST_MEMORIES, memory::list),
        served(&routes::COUNT_MEMORIES, memory::count),
        served(&routes::LIST_SUGGESTIONS, suggestions::list),
        served(&routes::MEMORY_STATUS, operation::status),
        served(&routes::REINDEX_MEMORIES, index::index),
        served(&routes::COMPACT_MEMORIES, index::compact),
        served(&routes::ADD_LINK, memory::link),
        served(&routes::REMOVE_LINK, memory::unlink),
        served(&routes::EXPORT_MEMORIES, transfer::export),
        served(&routes::IMPORT_MEMORIES, transfer::import),
        served(&routes::GET_MEMORY, memory::get),
        served(&routes::UPDATE_MEMORY, memory::update),
        served(&routes::DELETE_MEMORY, memory::delete),
        served(&routes::MERGE_MEMORIES, memory::merge),
        served(&routes::RESTORE_VERSION, memory::restore),
        served(&routes::UNDELETE_MEMORY, memory::undelete),
        served(&routes::MEMORY_HISTORY, memory::history),
        served(&routes::MEMORY_LINKS, memory::links),
        served(&routes::LIST_RECALL, recall::list),
        served(&routes::GET_RECALL_SESSION, recall::session),
        served(&routes::BRIEF_SESSION, recall::brief),
        served(&routes::RECALL_FOR_PROMPT, recall::prompt),
        served(&routes::RECORD_TURNS, recall::turns),
        served(&routes::NOTE_COMPACTION, recall::compaction),
        served(&routes::WHY_RECALL, recall::why),
        served(&routes::QUERY_CONTEXT, context::query),
        served(&routes::CONTEXT_STATUS, context::status),
        served(&routes::RESCAN_CONTEXT, context::rescan),
        served(&routes::PUBLISH_EVENT, events::publish),
        served(&routes::LIST_EVENTS, events::list),
        served(&routes::FOLLOW_EVENTS, stream::stream),
        served(&routes::GET_EVENT, events::get),
        served(&routes::LIST_FLOWS, flows::list),
        served(&routes::RESCAN_FLOWS, flows::rescan),
        served(&routes::LIST_RUNS, flows::runs),
        served(&routes::GET_RUN, flows::run),
        served(&routes::RETRY_RUN, flows::retry),
        served(&routes::CANCEL_RUN, flows::cancel),
        served(&routes::WHY_FLOWS, flows::why),
        served(&routes::GET_FLOW_FILE, flows::file),
        served(&routes::ALLOW_FLOW_FILE, flows::allow),
        served(&routes::TEST_FLOW, flows::test),
        served(&routes::REPLAY_FLOW, flows::replay),
        served(&routes::PAUSE_FLOW, flows::pause),
        served(&routes::RESUME_FLOW, flows::resume),
        served(&routes::LIST_BROWSERS, browser::list),
        served(&routes::COMMAND_BROWSER, browser::command),
        served(&routes::LIST_PEERS, mesh::peers),
        served(&routes::CALL_TARGET, mesh::call),
        served(&routes::BROADCAST_EVENT, mesh::broadcast),
        served(&routes::LISTEN_TO_MESH, mesh::listen),
        served(&routes::LIST_TOKENS, token::list),
        served(&routes::CREATE_TOKEN, token::create),
        served(&routes::CURRENT_TOKEN, token::current),
        served(&routes::REVOKE_TOKEN, token::revoke),
        served(&routes::CREATE_DASHBOARD_CODE, dashboard::open),
        served(&routes::CREATE_DASHBOARD_TOKEN, dashboard::exchange),
        served(&routes::PROVE_DASHBOARD, dashboard::prove),
        served(&routes::BACK_UP, transfer::backup),
        served(&routes::LIVE, operation::healthz),
        served(&routes::READY, operation::readyz),
        served(&routes::METRICS, operation::metrics),
        served(&routes::OPENAPI, operation::openapi),
        served(&routes::MCP, mcp::answer),
    ]
}
