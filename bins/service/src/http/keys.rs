//! Idempotency keys: a request that is sent again with its key has no second effect.
//!
//! A change of memories is in one append with its key. What changes other things is carried out at
//! most once: its key is stored before, and the response after it. Keys are scoped by the caller's
//! token, so no token learns anything about the keys of another.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts, Request};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use http::request::Parts;
use http_body_util::BodyExt;
use waypost_api::{self as api, Problem, ProblemKind};
use waypost_events::{IdempotencyKey, InvalidKey};
use waypost_memory::limits::ANSWER_BYTES_MAX;
use waypost_memory::{Begun, RequestKey, Store};

use crate::app::App;
use crate::clock::now;
use crate::error::chain;
use crate::http::failure::{Failure, Unsure};
use crate::http::guard::Caller;
use crate::http::reply::encode;
use crate::http::request::whole;

/// What a response to a repeat says, in place of the response itself.
#[derive(Debug, Clone)]
pub(crate) struct OnRepeat(Box<Problem>);

impl OnRepeat {
    /// 409 with this explanation.
    pub(crate) fn new(detail: impl Into<String>) -> Self {
        let problem = Problem::new(StatusCode::CONFLICT.as_u16(), detail);
        Self(Box::new(problem.of(ProblemKind::AlreadyDone)))
    }
}

/// The key in the headers of a request; 400 if it is invalid.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, Failure> {
    let mut values = headers.get_all(api::IDEMPOTENCY_KEY_HEADER).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let bad =
        |why: String| Failure::new(StatusCode::BAD_REQUEST, format!("Idempotency-Key: {why}"));
    if values.next().is_some() {
        return Err(bad("it is given more than once".to_owned()));
    }
    let text = String::from_utf8_lossy(value.as_bytes());
    text.parse().map(Some).map_err(|error: InvalidKey| bad(error.to_string()))
}

/// The key of a request for a change, if it has one, before its body is read.
#[derive(Debug, Clone)]
pub(crate) struct KeyHead(Option<Named>);

#[derive(Debug, Clone)]
struct Named {
    owner: String,
    key: IdempotencyKey,
    /// The method, and the path with the query.
    target: String,
}

impl KeyHead {
    fn new(parts: &Parts) -> Result<Self, Failure> {
        let Some(key) = idempotency_key(&parts.headers)? else { return Ok(Self(None)) };
        let Some(caller) = parts.extensions.get::<Caller>() else { return Ok(Self(None)) };
        let path = parts.uri.path_and_query().map_or("/", |query| query.as_str());
        let target = format!("{} {path}", parts.method);
        Ok(Self(Some(Named { owner: caller.source(), key, target })))
    }

    /// The key of the request with this body.
    pub(crate) fn of(&self, body: &[u8]) -> Option<RequestKey> {
        let Named { owner, key, target } = self.0.as_ref()?;
        Some(RequestKey::new(owner, key.as_str(), &[target.as_bytes(), body]))
    }

    /// The key of the request without its body, whose parts have keys of their own.
    pub(crate) fn of_parts(&self) -> Option<RequestKey> {
        self.of(b"")
    }
}

impl<S: Sync> FromRequestParts<S> for KeyHead {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Failure> {
        Self::new(parts)
    }
}

/// Carries out a request at most once.
pub(super) async fn at_most_once(
    app: Arc<App>,
    request: Request,
    next: Next,
) -> Result<Response, Failure> {
    let (parts, body) = request.into_parts();
    let head = KeyHead::new(&parts)?;
    if head.0.is_none() {
        return Ok(next.run(Request::from_parts(parts, body)).await);
    }
    let body = whole(&app, Request::new(body)).await?;
    let key = head.of(&body.bytes);
    let store = Arc::clone(app.keys());
    let begun = app.writes.run(move || store.request(key).begin(now())).await??;
    match begun {
        Begun::Now => {}
        Begun::Finished(kept) => return kept_response(&kept),
        Begun::Unknown => {
            let detail = "the first request with this Idempotency-Key is not finished: it is being \
                carried out, or the service ended while it was; look whether it took effect, and \
                send the request with another key if not";
            let failure = Failure::new(StatusCode::CONFLICT, detail);
            return Err(failure.of(ProblemKind::AlreadyDone));
        }
    }
    let request = Request::from_parts(parts, Body::from(body.bytes.clone()));
    let store = Arc::clone(app.keys());
    // The key must not stay without an outcome because the client disconnects.
    let carried_out = tokio::spawn(async move {
        let response = next.run(request).await;
        drop(body);
        keep(&app, store, key, response).await
    });
    carried_out.await.unwrap_or_else(|_| Err(Failure::internal()))
}

/// Stores what a repeat gets, and returns the response.
async fn keep(
    app: &App,
    store: Arc<Store>,
    key: Option<RequestKey>,
    response: Response,
) -> Result<Response, Failure> {
    let status = response.status();
    let had_no_effect = is_refusal(&response);
    if !status.is_success() && !had_no_effect {
        // What it did is unknown, and stays so.
        return Ok(response);
    }
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.map_err(|_| Failure::internal())?.to_bytes();
    let answer = if had_no_effect {
        None
    } else if let Some(OnRepeat(problem)) = parts.extensions.get::<OnRepeat>() {
        Some(kept(StatusCode::CONFLICT, &encode(problem.as_ref())))
    } else if bytes.len() + 2 > ANSWER_BYTES_MAX {
        let OnRepeat(problem) =
            OnRepeat::new("the request was carried out; its response was too long to be kept");
        Some(kept(StatusCode::CONFLICT, &encode(problem.as_ref())))
    } else {
        Some(kept(status, &bytes))
    };
    let finish = move || store.request(key).finish(answer, now());
    // Without it, a repeat is told that the outcome is unknown.
    match app.writes.run(finish).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::warn!(error = chain(&error), "failed to keep the response to a request");
        }
        Err(_) => tracing::warn!("failed to keep the response to a request in time"),
    }
    Ok(Response::from_parts(parts, Body::from(bytes)))
}

/// Whether a request with this response has changed nothing.
fn is_refusal(response: &Response) -> bool {
    if response.extensions().get::<Unsure>().is_some() {
        return false;
    }
    match response.status() {
        // A deadline may pass while something else goes on.
        StatusCode::REQUEST_TIMEOUT => false,
        StatusCode::INSUFFICIENT_STORAGE => true,
        // Busy or stopping: it was not begun.
        StatusCode::SERVICE_UNAVAILABLE => response.headers().contains_key(RETRY_AFTER),
        status => status.is_client_error(),
    }
}

/// A status and a body as they are stored.
fn kept(status: StatusCode, body: &[u8]) -> Vec<u8> {
    [&status.as_u16().to_le_bytes(), body].concat()
}

fn kept_response(kept: &[u8]) -> Result<Response, Failure> {
    let read = kept.split_first_chunk().and_then(|(status, body)| {
        Some((StatusCode::from_u16(u16::from_le_bytes(*status)).ok()?, body))
    });
    let (status, body) = read.ok_or_else(Failure::internal)?;
    let mut response = (status, body.to_vec()).into_response();
    let media = if status.is_success() { "application/json" } else { api::PROBLEM_JSON };
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
    Ok(response)
}
