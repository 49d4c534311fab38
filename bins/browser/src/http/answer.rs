//! One request, one response.

#![expect(
    clippy::result_large_err,
    reason = "a refused request is rare, and its answer is the problem itself"
)]

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, EXPECT, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use serde_json::Value;
use waypost_api::{Gate, PROBLEM_JSON, Problem, browser_problem};
use waypost_browser::COMMANDS;

use super::body;
use crate::relay::Commands;

/// Which clients are admitted, and what they can access.
#[derive(Debug)]
pub(crate) struct Access {
    gate: Gate,
    commands: Commands,
}

/// What is known of a client from the kernel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Client {
    /// A program of this user, or of root.
    pub(crate) is_admitted: bool,
    /// It is connected through the Unix socket, which no web page and no name can reach.
    pub(crate) is_by_socket: bool,
}

impl Client {
    fn check(self) -> Result<(), Problem> {
        if self.is_admitted {
            return Ok(());
        }
        let detail = "only programs of the user that started the browser, and of root, may give it \
                      commands; the system says that this one is another user's, or does not know it";
        Err(Problem::new(403, detail))
    }
}

impl Access {
    pub(crate) fn new(gate: Gate, commands: Commands) -> Self {
        Self { gate, commands }
    }

    /// Serves one request; whatever happens, there is a response.
    pub(super) async fn answer(
        &self,
        client: Client,
        request: Request<Incoming>,
    ) -> Response<Full<Bytes>> {
        let path = request.uri().path().to_owned();
        match self.done(client, request, &path).await {
            Ok(value) => response(StatusCode::OK, "application/json", value.to_string()),
            Err(problem) => {
                let status = StatusCode::from_u16(problem.status);
                let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                let problem = serde_json::to_string(&problem.at(path)).unwrap_or_default();
                let mut response = response(status, PROBLEM_JSON, problem);
                if status == StatusCode::METHOD_NOT_ALLOWED {
                    response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
                }
                response
            }
        }
    }

    async fn done(
        &self,
        client: Client,
        request: Request<Incoming>,
        path: &str,
    ) -> Result<Value, Problem> {
        let (head, body) = request.into_parts();
        let command = path.strip_prefix('/').filter(|rest| COMMANDS.contains(rest));
        let admission = client.check().and_then(|()| {
            if client.is_by_socket { Ok(()) } else { self.gate.check(&head.uri, &head.headers) }
        });
        let admitted = admission.and_then(|()| match command {
            Some(command) if head.method == Method::POST => Ok(command),
            Some(_) => Err(Problem::new(405, "commands take POST only")),
            None => {
                let paths: Vec<String> =
                    COMMANDS.iter().map(|command| format!("/{command}")).collect();
                let detail = format!("unknown path; expected one of {}", paths.join(", "));
                Err(Problem::new(404, detail))
            }
        });
        let command = match admitted {
            Ok(command) => command,
            Err(problem) => {
                // A client that is still sending would see a broken connection instead of the
                // response; one that waits for `100 Continue` has not started sending.
                if !head.headers.contains_key(EXPECT) {
                    drop(body::read(body).await);
                }
                return Err(problem);
            }
        };
        let arguments = waypost_api::parse_arguments(&body::read(body).await?)?;
        let done = self.commands.give(command, Value::Object(arguments)).await;
        done.map_err(|problem| Problem {
            kind: browser_problem(problem.kind.as_str()),
            ..Problem::new(problem.kind.status(), problem.detail)
        })
    }
}

fn response(status: StatusCode, media_type: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let nosniff = HeaderName::from_static("x-content-type-options");
    headers.insert(nosniff, HeaderValue::from_static("nosniff"));
    response
}
