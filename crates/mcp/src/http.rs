//! The protocol over HTTP: one message per POST, no sessions, one JSON response.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use rmcp::model::JsonRpcError;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use crate::invalid;
use crate::server::Server;
use crate::service::Service;

/// Answers the messages of HTTP clients.
///
/// It checks neither `Host`, `Origin` nor tokens: its caller does that before. The extensions of a request reach the
/// [`Service`] as the caller's.
#[derive(Clone)]
pub struct Http<S>(StreamableHttpService<Server<S>, NeverSessionManager>);

impl<S> fmt::Debug for Http<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Http").finish_non_exhaustive()
    }
}

/// What a message is answered with.
#[derive(Debug)]
pub enum Answered {
    /// A response of the protocol.
    Response(Response<BoxBody<Bytes, Infallible>>),
    /// The request is not one of the protocol: with that status, for that reason.
    Refused(StatusCode, String),
}

impl<S: Service> Http<S> {
    /// Calls that service.
    pub fn new(service: S) -> Self {
        // The caller has checked the size of the body, and the host and the origin.
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(usize::MAX)
            .disable_allowed_hosts()
            .disable_allowed_origins();
        let create = move || Ok(Server::new(service.clone()));
        Self(StreamableHttpService::new(create, Arc::new(NeverSessionManager::default()), config))
    }

    /// Answers one message.
    pub async fn answer(&self, request: Request<Bytes>) -> Answered {
        let bytes = request.body().clone();
        if let Some(error) = invalid::repeated(&bytes) {
            return Answered::Response(refusal(&error));
        }
        let response = self.0.handle(request.map(Full::new)).await;
        let status = response.status();
        let is_json = response.headers().get(CONTENT_TYPE).is_some_and(|it| it == JSON);
        if is_json || !(status.is_client_error() || status.is_server_error()) {
            return Answered::Response(response);
        }
        let body = response.into_body().collect().await;
        let Ok(body) = body.map(http_body_util::Collected::to_bytes);
        let reason = String::from_utf8_lossy(&body).into_owned();
        if reason.starts_with(UNPARSED) {
            return Answered::Response(refusal(&invalid::error(&bytes)));
        }
        match reason.strip_prefix(UNKNOWN_VERSION) {
            Some(version) => {
                Answered::Response(refusal(&invalid::unknown_version(&bytes, version.trim())))
            }
            None => Answered::Refused(status, reason),
        }
    }
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// What the SDK says, with status 415, about a body that is not a message.
const UNPARSED: &str = "fail to deserialize request body";

/// What the SDK says, with status 400, about the header of a request without metadata.
const UNKNOWN_VERSION: &str = "Bad Request: Unsupported MCP-Protocol-Version:";

/// 400 with an error of the protocol.
fn refusal(error: &JsonRpcError) -> Response<BoxBody<Bytes, Infallible>> {
    let body = serde_json::to_vec(error).unwrap_or_default();
    let mut response = Response::new(Full::new(Bytes::from(body)).boxed());
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}
