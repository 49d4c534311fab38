//! The path of every request: id, origin checks, token, route, log line, metrics.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::Method;
use http::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER,
};
use http_body_util::BodyExt;
use tower::ServiceExt;
use tracing::Instrument;
use waypost_api::{MIN_POSITION_HEADER, POSITION_HEADER, PROBLEM_JSON, Problem, routes};

use crate::app::App;
use crate::cluster::position;
use crate::http::failure::{Failure, as_problem};
use crate::http::gate::{self, Peer};
use crate::http::guard;
use crate::http::request_id::{REQUEST_ID, request_id};
use crate::http::room::{Held, Place};
use crate::http::route::Route;
use crate::http::sessions;
use crate::http::stream::StillWriting;

/// Below it are the tokens that can be revoked.
const TOKENS: &str = "/api/tokens/";

/// Marks the response to a caller who may know the position of the store.
#[derive(Debug, Clone, Copy)]
struct Admitted;

/// Responds to one request, whatever happens.
pub(crate) async fn answer(
    app: Arc<App>,
    router: Router,
    peer: Peer,
    request: Request,
) -> Response {
    let started = Instant::now();
    app.metrics.begin();
    let activity = app.activity.begin();
    let id = request_id(request.headers());
    let method = request.method().clone();
    let path = match request.uri().path() {
        // `CONNECT` names an authority.
        "" => request.uri().to_string(),
        path => path.to_owned(),
    };
    let span = tracing::info_span!("request", id = id.to_str().unwrap_or_default());
    let response = admit(&app, router, peer, request).instrument(span.clone());
    let mut response = catch(response).await.unwrap_or_else(|_| {
        let _entered = span.enter();
        tracing::error!("a request handler panicked");
        Failure::internal().into_response()
    });
    let held = response.extensions_mut().remove::<Arc<Held>>();
    let route = response.extensions().get::<Route>().map_or("unmatched", |extension| extension.0);
    let has_position = response.extensions().get::<Admitted>().is_some()
        && response.extensions().get::<StillWriting>().is_none();
    let position = if has_position { position::header(&app) } else { None };
    let mut response = as_problem(response);
    if let Some(position) = position {
        response.headers_mut().insert(POSITION_HEADER, position);
    }
    let response = finish(response, &method, &path, &id).await;
    let mut response = response.map(|response| activity.with_body(response, held));
    let status = response.status();
    response.headers_mut().insert(REQUEST_ID.clone(), id);
    let took = started.elapsed();
    app.metrics.end(&method, route, status.as_u16(), took);
    let _entered = span.enter();
    let ms = took.as_secs_f64() * 1000.0;
    tracing::debug!(target: "waypost::request", %method, route, status = status.as_u16(), ms, "responded");
    response
}

/// The checks before the router, then the router.
async fn admit(app: &App, router: Router, peer: Peer, mut request: Request) -> Response {
    let admitted = gate::check(&app.gate, peer, &request).and_then(|()| {
        if gate::is_public(request.uri().path(), peer) {
            return Ok(None);
        }
        if app.is_stopping() {
            return Err(Failure::stopping());
        }
        guard::authenticate(app, request.headers()).map(|caller| Some(caller.begin(&app.sessions)))
    });
    match admitted {
        Ok(caller) => {
            let Some(mut caller) = caller else { return routed(router, request).await };
            let held = match request.extensions_mut().remove::<Arc<Place>>() {
                Some(place) => Some(Arc::new(place.hold().await)),
                None => None,
            };
            if request.headers().contains_key(MIN_POSITION_HEADER) {
                // The token may be revoked by what the request waits for.
                let waited = position::wait(app, request.uri().path(), request.headers()).await;
                let again = waited.and_then(|()| guard::authenticate(app, request.headers()));
                match again {
                    Ok(again) => caller = again.begin(&app.sessions),
                    Err(failure) => {
                        let mut response = failure.into_response();
                        if response.status() != http::StatusCode::UNAUTHORIZED {
                            response.extensions_mut().insert(Admitted);
                        }
                        return response;
                    }
                }
            }
            let session = Arc::clone(caller.session());
            let (method, account) = (request.method().clone(), caller.account(app));
            request.extensions_mut().insert(caller);
            // It may revoke its own token, and then still says what it revoked.
            let revokes =
                request.method() == Method::DELETE && request.uri().path().starts_with(TOKENS);
            // The call's commands are done; a token that has ended does not get the response.
            let mut response = tokio::select! {
                biased;
                () = Arc::clone(&session).ended(), if !revokes => {
                    return guard::bad_token().into_response();
                }
                response = routed(router, request) => response,
            };
            response.extensions_mut().insert(Admitted);
            if let Some(held) = held {
                response.extensions_mut().insert(held);
            }
            let reads = reads(&response, &method);
            account
                .count(if revokes { response } else { sessions::bound(response, session) }, reads)
        }
        Err(failure) => failure.into_response(),
    }
}

async fn routed(router: Router, request: Request) -> Response {
    match router.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// Whether the request of a response changes nothing.
fn reads(response: &Response, method: &Method) -> bool {
    let Some(Route(path)) = response.extensions().get() else { return true };
    let same = |route: &&routes::Route| route.path == *path && route.method == method.as_str();
    routes::ROUTES.iter().find(same).is_none_or(|it| it.repeat == routes::Repeat::Reads)
}

/// Adds the headers of every response, the path to every problem, and the request id to the
/// service's own failures.
async fn finish(response: Response, method: &Method, path: &str, id: &HeaderValue) -> Response {
    let (mut head, mut body) = response.into_parts();
    // Requests that were rejected for overload are not logged.
    let is_logged = head.status.is_server_error() && !head.headers.contains_key(RETRY_AFTER);
    let id = id.to_str().ok().filter(|_| is_logged).map(str::to_owned);
    head.headers.insert(HeaderName::from_static("x-content-type-options"), NOSNIFF);
    head.headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    let is_problem = head
        .headers
        .get(CONTENT_TYPE)
        .is_some_and(|header| header.as_bytes() == PROBLEM_JSON.as_bytes());
    if is_problem && method != Method::HEAD {
        // Problems are small and complete: collecting one does not wait.
        head.headers.remove(CONTENT_LENGTH);
        if let Ok(bytes) = body.collect().await.map(|body| body.to_bytes()) {
            body = match serde_json::from_slice::<Problem>(&bytes) {
                Ok(problem) => {
                    let problem = Problem { request_id: id, ..problem.at(path) };
                    serde_json::to_vec(&problem).unwrap_or_default().into()
                }
                Err(_) => bytes.into(),
            };
        } else {
            body = Body::empty();
        }
    }
    Response::from_parts(head, body)
}

const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");

/// Runs the future; a panic in it becomes an error.
async fn catch<F: Future<Output = Response>>(work: F) -> Result<Response, Box<dyn Any + Send>> {
    let mut work = pin!(work);
    poll_fn(move |context| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
        Ok(Poll::Ready(response)) => Poll::Ready(Ok(response)),
        Ok(Poll::Pending) => Poll::Pending,
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}
