//! What happens to every request, in order: id, origin checks, token, route, log line, metrics.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::task::Poll;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HeaderMap, HeaderName, HeaderValue,
};
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use serde::Serialize;
use tower::ServiceExt;
use tracing::Instrument;
use waypost_api::{PROBLEM_JSON, Problem};

use crate::body;
use crate::failure::{Failure, as_problem};
use crate::guard;
use crate::routes;
use crate::server::Peer;
use crate::sessions;
use crate::state::App;

/// Where the ids of this run begin.
static FIRST_ID: LazyLock<u64> = LazyLock::new(|| {
    let mut random = [0_u8; 8];
    // Without randomness the ids of two runs are alike, which is better than no service.
    getrandom::fill(&mut random).map_or(0, |()| u64::from_le_bytes(random))
});
static GIVEN_IDS: AtomicU64 = AtomicU64::new(0);
/// The distance of one id from the next: odd, so that none comes twice, and wide, so that
/// neighbours look unlike.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The pattern of the route that answered, such as `/api/memory/{id}`.
#[derive(Debug, Clone)]
pub(crate) struct Route(pub(crate) &'static str);

/// Answers one request; whatever happens, it is an answer.
pub(crate) async fn answer(
    app: Arc<App>,
    router: Router,
    peer: Peer,
    request: Request<hyper::body::Incoming>,
) -> Response {
    let started = Instant::now();
    app.metrics.begin();
    let id = request_id(request.headers());
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let span = tracing::info_span!("request", id = id.to_str().unwrap_or_default());
    let response = admit(&app, router, peer, request.map(Body::new)).instrument(span.clone());
    let response = catch(response).await.unwrap_or_else(|_| {
        let _entered = span.enter();
        tracing::error!("a request panicked");
        Failure::internal().into_response()
    });
    let route = response.extensions().get::<Route>().map_or("unmatched", |it| it.0);
    let mut response = finish(as_problem(response), &method, &path).await;
    let status = response.status();
    response.headers_mut().insert(REQUEST_ID.clone(), id);
    let took = started.elapsed();
    app.metrics.end(&method, route, status.as_u16(), took);
    let _entered = span.enter();
    let ms = took.as_secs_f64() * 1000.0;
    tracing::debug!(target: "waypost::request", %method, route, status = status.as_u16(), ms, "answered");
    response
}

/// The checks before the router, then the router.
async fn admit(app: &App, router: Router, peer: Peer, mut request: Request) -> Response {
    let checked = match peer {
        Peer::Socket => app.gate.check_page(request.headers()),
        Peer::Network => app.gate.check(request.uri(), request.headers()),
    };
    let admitted = checked.map_err(Failure::from).and_then(|()| {
        if guard::is_public(request.uri().path(), peer) {
            return Ok(None);
        }
        if app.is_stopping() {
            return Err(Failure::stopping());
        }
        guard::authenticate(app, request.headers()).map(|it| Some(it.begin(&app.sessions)))
    });
    match admitted {
        Ok(caller) => {
            let Some(caller) = caller else { return routed(router, request).await };
            let session = Arc::clone(caller.session());
            request.extensions_mut().insert(caller);
            // What a call has queued is done; its answer is not for a token that has ended.
            tokio::select! {
                response = routed(router, request) => sessions::bound(response, session),
                () = Arc::clone(&session).ended() => guard::bad_token().into_response(),
            }
        }
        Err(failure) => {
            // Who waits for `100 Continue` has not begun to send.
            if !request.headers().contains_key(EXPECT) {
                body::drain(request.into_body()).await;
            }
            failure.into_response()
        }
    }
}

async fn routed(router: Router, request: Request) -> Response {
    match router.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// Headers of every answer, and the path in every problem.
async fn finish(response: Response, method: &Method, path: &str) -> Response {
    let (mut head, mut body) = response.into_parts();
    head.headers.insert(HeaderName::from_static("x-content-type-options"), NOSNIFF);
    head.headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    let is_problem =
        head.headers.get(CONTENT_TYPE).is_some_and(|it| it.as_bytes() == PROBLEM_JSON.as_bytes());
    if is_problem && method != Method::HEAD {
        // Problems are small and complete: there is nothing to wait for.
        head.headers.remove(CONTENT_LENGTH);
        if let Ok(bytes) = body.collect().await.map(|it| it.to_bytes()) {
            body = match serde_json::from_slice::<Problem>(&bytes) {
                Ok(problem) => serde_json::to_vec(&problem.at(path)).unwrap_or_default().into(),
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

/// The caller's request id if it is harmless, else a new one.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    if let Some(given) = headers.get(&REQUEST_ID) {
        let harmless = |it: &u8| it.is_ascii_alphanumeric() || b"-_.:".contains(it);
        if (1..=128).contains(&given.len()) && given.as_bytes().iter().all(harmless) {
            return given.clone();
        }
    }
    HeaderValue::from_str(&new_id()).unwrap_or(HeaderValue::from_static("unknown"))
}

/// An id that tells requests apart, also those of two runs; it is no secret.
pub(crate) fn new_id() -> String {
    let number =
        FIRST_ID.wrapping_add(GIVEN_IDS.fetch_add(1, Ordering::Relaxed).wrapping_mul(STEP));
    format!("{number:016x}")
}

/// Remembers in the answer which route gave it.
pub(crate) async fn note_route(
    matched: Option<axum::extract::MatchedPath>,
    request: Request,
    next: axum::middleware::Next,
) -> Response {
    let mut response = next.run(request).await;
    let matched = matched.and_then(|it| routes::PATHS.iter().find(|path| **path == it.as_str()));
    if let Some(path) = matched {
        response.extensions_mut().insert(Route(path));
    }
    response
}

/// A JSON answer.
pub(crate) fn json<T: Serialize>(status: StatusCode, value: &T) -> Response {
    let mut response = (status, encode(value)).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The value as JSON on one line.
pub(crate) fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("the wire's types have string keys and finite numbers")
}

/// The failure, once the rest of the body has been read so that the client gets to see it.
pub(crate) async fn drain_and(body: Body, failure: Failure) -> Failure {
    body::drain(body).await;
    failure
}
