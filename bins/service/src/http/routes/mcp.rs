//! The Model Context Protocol (MCP): tools and resources, over what the other routes do.
//!
//! It serves the revision 2026-07-28, which has no sessions, and `initialize` of earlier revisions. Each tool calls the
//! functions behind the routes as the caller of the message, so their checks, scopes and limits apply, and nothing is
//! implemented twice.
//!
//! All text that the service stores is data: results put it between fences, escape control characters, and say so.

mod arguments;
mod asker;
mod invalid;
mod outcome;
mod resources;
mod server;
mod text;
mod tools;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{HeaderName, StatusCode};
use http_body_util::{BodyExt, Full};
use rmcp::model::JsonRpcError;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use waypost_api::{MCP_CLIENT_HEADER, MCP_TOOLS_HEADER};

use self::asker::Asker;
use self::server::Server;
use crate::app::App;
use crate::http::failure::Failure;
use crate::http::guard::Caller;
use crate::http::keys;
use crate::http::request::whole;

/// Answers one message with one JSON response.
pub(super) async fn answer(
    State(app): State<Arc<App>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Failure> {
    let (head, body) = request.into_parts();
    let key = keys::idempotency_key(&head.headers)?;
    let client = head.headers.get(MCP_CLIENT_HEADER).and_then(|name| name.to_str().ok());
    let client = client.map(str::to_owned);
    let body = whole(&app, Request::new(body)).await?;
    if let Some(error) = invalid::repeated(&body.bytes) {
        return Ok(refusal(&error));
    }
    let server = Server(Asker { app, caller, key, client });
    let message = http::Request::from_parts(head, Full::new(body.bytes.clone()));
    let mut response = handler(server.clone()).handle(message).await.map(Body::new);
    let status = response.status();
    let is_json =
        response.headers().get(CONTENT_TYPE).is_some_and(|value| value == "application/json");
    if !is_json && (status.is_client_error() || status.is_server_error()) {
        let reason = response.into_body().collect().await.map_err(|_| Failure::internal())?;
        let reason = String::from_utf8_lossy(&reason.to_bytes()).into_owned();
        if reason.starts_with(UNPARSED) {
            return Ok(refusal(&invalid::error(&body.bytes)));
        }
        return match reason.strip_prefix(UNKNOWN_VERSION) {
            Some(version) => Ok(refusal(&invalid::unknown_version(&body.bytes, version.trim()))),
            None => Err(Failure::new(status, reason)),
        };
    }
    if server.0.client.is_some() {
        let names: Vec<_> = server.tools().await.iter().map(|tool| tool.name).collect();
        if let Ok(names) = HeaderValue::from_str(&names.join(",")) {
            response.headers_mut().insert(HeaderName::from_static(MCP_TOOLS_HEADER), names);
        }
    }
    Ok(response)
}

/// The protocol over HTTP, as the SDK implements it, without sessions.
fn handler(server: Server) -> StreamableHttpService<Server, NeverSessionManager> {
    // The size of the body, the host and the origin have been checked.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(usize::MAX)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let sessions = Arc::new(NeverSessionManager::default());
    StreamableHttpService::new(move || Ok(server.clone()), sessions, config)
}

/// What the SDK says, with status 415, about a body that is not a message.
const UNPARSED: &str = "fail to deserialize request body";

/// What the SDK says, with status 400, about the header of a request without metadata.
const UNKNOWN_VERSION: &str = "Bad Request: Unsupported MCP-Protocol-Version:";

/// 400 with an error of the protocol.
fn refusal(error: &JsonRpcError) -> Response {
    let body = serde_json::to_vec(error).unwrap_or_default();
    let json = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (StatusCode::BAD_REQUEST, json, body).into_response()
}
