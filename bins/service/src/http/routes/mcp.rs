//! The Model Context Protocol, over the other routes.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::Extensions;
use http_body_util::{BodyExt, Limited};
use tower::ServiceExt;
use waypost_events::IdempotencyKey;
use waypost_mcp::{Answered, Http, Service, Unavailable};

use crate::app::App;
use crate::http::failure::Failure;
use crate::http::guard::Caller;
use crate::http::keys;
use crate::http::request::whole;
use crate::http::waiting::{Account, Waiting};

/// Maximum size of the response that a tool reads: many times what its own may have.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The tools, which call the other routes.
pub(super) type Tools = Arc<Http<InProcess>>;

/// The key of a message, for the requests that its tool makes: at most one of them is a change.
#[derive(Debug, Clone)]
struct Forwarded(IdempotencyKey);

/// The other routes, called in this process as the caller of the message.
#[derive(Debug, Clone)]
pub(super) struct InProcess {
    router: Router,
    waiting: Arc<Waiting>,
}

impl InProcess {
    /// The tools over these routes.
    pub(super) fn tools(router: Router, app: &App) -> Tools {
        Arc::new(Http::new(Self { router, waiting: Arc::clone(&app.waiting) }))
    }
}

impl Service for InProcess {
    async fn call(
        &self,
        caller: &Extensions,
        request: http::Request<Vec<u8>>,
    ) -> Result<http::Response<Bytes>, Unavailable> {
        let mut request = request.map(Body::from);
        // Without one, the route answers that a token is missing.
        if let Some(caller) = caller.get::<Caller>() {
            request.extensions_mut().insert(caller.clone());
        }
        if let Some(Forwarded(key)) = caller.get::<Forwarded>() {
            keys::forward(key, request.headers_mut());
        }
        let mut response = match self.router.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        if let Some(caller) = caller.get::<Caller>() {
            let account = Account::new(&self.waiting, caller.session());
            response = account.count(response, true);
        }
        let (head, body) = response.into_parts();
        let body = Limited::new(body, BODY_BYTES_MAX).collect().await;
        let body = body.map_err(|error| Unavailable {
            what: format!("the response ended early: {error}"),
            remedy: Some("ask for less, with a lower `limit`".to_owned()),
        })?;
        Ok(http::Response::from_parts(head, body.to_bytes()))
    }
}

pub(super) async fn answer(
    State(app): State<Arc<App>>,
    Extension(tools): Extension<Tools>,
    request: Request,
) -> Result<Response, Failure> {
    let (mut head, body) = request.into_parts();
    if let Some(key) = keys::idempotency_key(&head.headers)? {
        head.extensions.insert(Forwarded(key));
    }
    let body = whole(&app, Request::new(body)).await?;
    let message = http::Request::from_parts(head, body.bytes.clone());
    Ok(match tools.answer(message).await {
        Answered::Response(response) => response.map(Body::new).into_response(),
        Answered::Refused(status, reason) => return Err(Failure::new(status, reason)),
    })
}
