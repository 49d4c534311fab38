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
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, on, post};
use http::Method;
use waypost_api::routes::{Access, ROUTES, Repeat, Route};

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
    let mut over = Vec::new();
    for route in ROUTES {
        match answers(route) {
            Some(answers) => {
                let answers = keyed(&app, route.repeat, answers);
                router = router.route(route.path, guarded(route.access, answers));
            }
            None => over.push(route),
        }
    }
    let router = router.route_layer(from_fn(note_route));
    // Routes over the others.
    let below = router.clone().with_state(Arc::clone(&app));
    let mut above = Router::new();
    for route in over {
        if route.operation == "mcp" {
            let answers = guarded(route.access, post(mcp::answer));
            above = above.route(
                route.path,
                answers.layer(Extension(mcp::InProcess::tools(below.clone(), &app))),
            );
        }
    }
    let pages = crate::http::dashboard::router();
    router.merge(above.route_layer(from_fn(note_route))).merge(pages).with_state(app)
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

/// The handler of a route, by its operation. A test calls every route.
fn answers(route: &Route) -> Option<MethodRouter<Arc<App>>> {
    let method = Method::from_bytes(route.method.as_bytes()).ok()?;
    let by = MethodFilter::try_from(method).ok()?;
    Some(match route.operation {
        "searchMemories" => on(by, search::search),
        "addMemory" => on(by, memory::add),
        "addMemories" => on(by, batch::batch),
        "listMemories" => on(by, memory::list),
        "countMemories" => on(by, memory::count),
        "listSuggestions" => on(by, suggestions::list),
        "memoryStatus" => on(by, operation::status),
        "reindexMemories" => on(by, index::index),
        "compactMemories" => on(by, index::compact),
        "addLink" => on(by, memory::link),
        "removeLink" => on(by, memory::unlink),
        "exportMemories" => on(by, transfer::export),
        "importMemories" => on(by, transfer::import),
        "getMemory" => on(by, memory::get),
        "updateMemory" => on(by, memory::update),
        "deleteMemory" => on(by, memory::delete),
        "mergeMemories" => on(by, memory::merge),
        "restoreVersion" => on(by, memory::restore),
        "undeleteMemory" => on(by, memory::undelete),
        "memoryHistory" => on(by, memory::history),
        "memoryLinks" => on(by, memory::links),
        "listRecall" => on(by, recall::list),
        "getRecallSession" => on(by, recall::session),
        "briefSession" => on(by, recall::brief),
        "recallForPrompt" => on(by, recall::prompt),
        "recordTurns" => on(by, recall::turns),
        "noteCompaction" => on(by, recall::compaction),
        "whyRecall" => on(by, recall::why),
        "queryContext" => on(by, context::query),
        "contextStatus" => on(by, context::status),
        "rescanContext" => on(by, context::rescan),
        "publishEvent" => on(by, events::publish),
        "listEvents" => on(by, events::list),
        "followEvents" => on(by, stream::stream),
        "getEvent" => on(by, events::get),
        "listFlows" => on(by, flows::list),
        "rescanFlows" => on(by, flows::rescan),
        "listRuns" => on(by, flows::runs),
        "getRun" => on(by, flows::run),
        "retryRun" => on(by, flows::retry),
        "cancelRun" => on(by, flows::cancel),
        "whyFlows" => on(by, flows::why),
        "getFlowFile" => on(by, flows::file),
        "allowFlowFile" => on(by, flows::allow),
        "testFlow" => on(by, flows::test),
        "replayFlow" => on(by, flows::replay),
        "pauseFlow" => on(by, flows::pause),
        "resumeFlow" => on(by, flows::resume),
        "listBrowsers" => on(by, browser::list),
        "commandBrowser" => on(by, browser::command),
        "listPeers" => on(by, mesh::peers),
        "callTarget" => on(by, mesh::call),
        "broadcastEvent" => on(by, mesh::broadcast),
        "listenToMesh" => on(by, mesh::listen),
        "listTokens" => on(by, token::list),
        "createToken" => on(by, token::create),
        "currentToken" => on(by, token::current),
        "revokeToken" => on(by, token::revoke),
        "createDashboardCode" => on(by, dashboard::open),
        "createDashboardToken" => on(by, dashboard::exchange),
        "proveDashboard" => on(by, dashboard::prove),
        "backUp" => on(by, transfer::backup),
        "live" => on(by, operation::healthz),
        "ready" => on(by, operation::readyz),
        "metrics" => on(by, operation::metrics),
        "openapi" => on(by, operation::openapi),
        _ => return None,
    })
}
