//! Error responses: problem+json without internals.

use axum::response::{IntoResponse, Response};
use http::header::{ALLOW, CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use http::{StatusCode, header};
use waypost_api::{PROBLEM_JSON, Problem, ProblemKind};
use waypost_log::SharedError;
use waypost_memory::ErrorKind;

use crate::context::Unavailable;
use crate::damage::REPAIR;
use crate::error::chain;

/// A problem and the headers that go with it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) problem: Box<Problem>,
    headers: Vec<(HeaderName, HeaderValue)>,
    is_unsure: bool,
}

/// Marks a response to a request that may have had an effect, or may still have one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unsure;

impl Failure {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Problem::new(status.as_u16(), detail).into()
    }

    /// An error inside the service; the log has its cause under the request id.
    pub(crate) fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal error; the service's log has the cause under this response's X-Request-Id",
        )
    }

    /// 503 for a part of the service that has stopped after a fault.
    fn unavailable() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "temporarily unavailable; the service's log has the cause under this response's X-Request-Id",
        )
    }

    /// 500 for what a store cannot read; the log says where it is damaged.
    pub(crate) fn damaged(store: &str) -> Self {
        let detail = format!("the {store} store is damaged: {REPAIR}");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    }

    /// 503 with a hint to try again.
    pub(crate) fn busy(reason: &str) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, format!("{reason}; try again in a second"))
            .with(RETRY_AFTER, HeaderValue::from_static("1"))
    }

    /// 429 for a caller that asked for more than it may in that time.
    pub(crate) fn too_often(detail: &str) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, detail)
            .with(RETRY_AFTER, HeaderValue::from_static("1"))
    }

    /// 503 for a write that the journal of the cluster did not take. The log has the reason: it may
    /// name servers.
    pub(crate) fn no_cluster(why: &SharedError) -> Self {
        tracing::warn!(error = %why, "the journal of the cluster did not take a write");
        let detail = match why {
            SharedError::Elsewhere(leader) => {
                let detail =
                    format!("{leader}, as `ctl cluster status` shows; send the request there");
                return Self::new(StatusCode::SERVICE_UNAVAILABLE, detail);
            }
            SharedError::Excluded(_) => {
                "this machine cannot follow the journal of its cluster any more, and takes no writes: it must join the cluster again; `ctl doctor` says why. Reads and searches continue"
            }
            SharedError::Diverged(_) => {
                "this machine's copy of the store and the journal of its cluster differ, or the journal is damaged: the machine takes no writes until a person decides; `ctl cluster status` says why. Reads and searches continue"
            }
            SharedError::Refused(_) => {
                "this machine cannot use the database of its cluster, and nothing was written; `ctl doctor` says what to change. Reads and searches continue"
            }
            SharedError::Unknown(_) => {
                "the connection with the cluster's database ended during the write, and the change may have been written or not: repeat the request if it had an Idempotency-Key, with the same one; otherwise read what it would have changed"
            }
            _ => {
                "the cluster's database takes no writes at the moment; nothing was written. Reads and searches continue"
            }
        };
        Self::new(StatusCode::SERVICE_UNAVAILABLE, detail)
            .with(RETRY_AFTER, HeaderValue::from_static("2"))
    }

    /// The same for a request that may have an effect nevertheless.
    #[must_use]
    pub(crate) fn unsure(self) -> Self {
        Self { is_unsure: true, ..self }
    }

    /// 503 because the service is stopping.
    pub(crate) fn stopping() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "the service is stopping")
            .with(RETRY_AFTER, HeaderValue::from_static("5"))
            .closing()
    }

    /// 401 for a missing or invalid token.
    pub(crate) fn unauthorized(detail: &str, challenge: &'static str) -> Self {
        let kind = if challenge.contains("invalid_token") {
            ProblemKind::TokenRefused
        } else {
            ProblemKind::TokenMissing
        };
        Self::new(StatusCode::UNAUTHORIZED, detail)
            .of(kind)
            .with(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge))
    }

    /// 401 of that kind.
    #[must_use]
    pub(crate) fn of(mut self, kind: ProblemKind) -> Self {
        *self.problem = self.problem.of(kind);
        self
    }

    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    pub(crate) fn status(&self) -> u16 {
        self.problem.status
    }

    #[must_use]
    pub(crate) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// A failure of the store, with the pointer to the part of the request that its field stands for.
    pub(crate) fn of_store(
        error: waypost_memory::Error,
        pointer: impl FnOnce(&str) -> String,
    ) -> Self {
        match error {
            waypost_memory::Error::Invalid { field, reason } => {
                Problem::field(pointer(&field), reason).into()
            }
            other => other.into(),
        }
    }

    /// Closes the connection after the response.
    #[must_use]
    pub(crate) fn closing(self) -> Self {
        self.with(CONNECTION, HeaderValue::from_static("close"))
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self { problem: Box::new(problem), headers: Vec::new(), is_unsure: false }
    }
}

impl From<waypost_memory::Error> for Failure {
    fn from(error: waypost_memory::Error) -> Self {
        let status = match error.kind() {
            ErrorKind::Invalid => {
                if let waypost_memory::Error::Invalid { field, reason } = &error {
                    let pointer = format!("/{}", field.trim_start_matches('/'));
                    return Problem::field(pointer, reason.clone()).into();
                }
                StatusCode::UNPROCESSABLE_ENTITY
            }
            // A newer release wrote the imported file.
            ErrorKind::Newer => StatusCode::UNPROCESSABLE_ENTITY,
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::Gone => StatusCode::GONE,
            ErrorKind::NotDeleted => StatusCode::CONFLICT,
            ErrorKind::Busy => {
                return Self::new(StatusCode::CONFLICT, error.to_string())
                    .of(ProblemKind::ReindexRunning);
            }
            ErrorKind::KeyReused => {
                return Self::new(StatusCode::CONFLICT, error.to_string())
                    .of(ProblemKind::KeyReused);
            }
            ErrorKind::Full => return full(),
            ErrorKind::Unavailable => {
                if let waypost_memory::Error::SharedJournal(why) = &error {
                    return Self::no_cluster(why);
                }
                if !matches!(error, waypost_memory::Error::NoModel) {
                    tracing::error!(error = chain(&error), "the store is unavailable");
                    return Self::unavailable();
                }
                return Self::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string())
                    .of(ProblemKind::NoModel);
            }
            ErrorKind::Damaged => {
                tracing::error!(error = chain(&error), "the store is damaged");
                return Self::damaged("memory");
            }
            // Locked, or a failure of the system.
            _ => {
                tracing::error!(error = chain(&error), "the store failed");
                return Self::internal();
            }
        };
        Self::new(status, error.to_string())
    }
}

impl From<waypost_recall::Error> for Failure {
    fn from(error: waypost_recall::Error) -> Self {
        match error.kind() {
            waypost_recall::ErrorKind::Invalid => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string())
            }
            waypost_recall::ErrorKind::Full => full(),
            waypost_recall::ErrorKind::Damaged => {
                tracing::error!(error = chain(&error), "the recall log is damaged");
                Self::damaged("recall")
            }
            _ => {
                tracing::error!(error = chain(&error), "the recall log failed");
                Self::unavailable()
            }
        }
    }
}

impl From<waypost_context::Error> for Failure {
    fn from(error: waypost_context::Error) -> Self {
        if let waypost_context::Error::Invalid { what, reason } = error {
            return Problem::field(format!("/{what}"), reason).into();
        }
        tracing::error!(error = chain(&error), "the context failed");
        Self::internal()
    }
}

impl From<Unavailable> for Failure {
    fn from(error: Unavailable) -> Self {
        match error {
            Unavailable::Off(why) => {
                Self::new(StatusCode::CONFLICT, format!("context is unavailable: {why}"))
                    .of(ProblemKind::NoContext)
            }
            Unavailable::Stopping => Self::stopping(),
            // The keeper has logged why.
            Unavailable::ScanFailed => Self::internal(),
        }
    }
}

impl From<waypost_events::Error> for Failure {
    fn from(error: waypost_events::Error) -> Self {
        use waypost_events::{Error, ErrorKind};
        let status = match (error.kind(), &error) {
            (ErrorKind::Invalid, Error::Invalid { field, reason }) => {
                return Problem::field(format!("/{field}"), reason.clone()).into();
            }
            (ErrorKind::Conflict, _) => {
                return Self::new(StatusCode::CONFLICT, error.to_string())
                    .of(ProblemKind::KeyReused);
            }
            (ErrorKind::Gone, _) => StatusCode::GONE,
            (ErrorKind::Full, _) => return full(),
            (ErrorKind::Unavailable, Error::SharedJournal(why)) => return Self::no_cluster(why),
            (ErrorKind::Unavailable, _) => {
                tracing::error!(error = chain(&error), "the event bus is unavailable");
                return Self::unavailable();
            }
            (ErrorKind::Damaged, Error::Damaged(_)) => {
                tracing::error!(error = chain(&error), "the event bus is damaged");
                return Self::damaged("events");
            }
            _ => {
                tracing::error!(error = chain(&error), "the event bus failed");
                return Self::internal();
            }
        };
        Self::new(status, error.to_string())
    }
}

impl From<waypost_flows::Error> for Failure {
    fn from(error: waypost_flows::Error) -> Self {
        use waypost_flows::Error;
        let status = match &error {
            Error::UnknownRun(_) | Error::UnknownFlow(_) => StatusCode::NOT_FOUND,
            Error::PendingApproval(_) => {
                return Self::new(StatusCode::CONFLICT, error.to_string())
                    .of(ProblemKind::FlowPending);
            }
            Error::NotFailed(_) => {
                return Self::new(StatusCode::CONFLICT, error.to_string())
                    .of(ProblemKind::RunNotFailed);
            }
            it if it.is_full() => return full(),
            Error::NotLeading => {
                let why = "another machine of the cluster runs the flows".to_owned();
                return Self::no_cluster(&SharedError::Elsewhere(why));
            }
            Error::SharedJournal(why) => return Self::no_cluster(why),
            Error::Damaged { .. } => {
                tracing::error!(error = chain(&error), "the journal of flows is damaged");
                return Self::damaged("flows");
            }
            _ => {
                tracing::error!(error = chain(&error), "flows failed");
                return Self::internal();
            }
        };
        Self::new(status, error.to_string())
    }
}

impl From<waypost_flows::ApprovalError> for Failure {
    fn from(error: waypost_flows::ApprovalError) -> Self {
        use waypost_flows::ApprovalError;
        match &error {
            ApprovalError::File { .. } => Self::not_found(error.to_string()),
            ApprovalError::Changed(_) | ApprovalError::Program { .. } => {
                Self::new(StatusCode::CONFLICT, error.to_string()).of(ProblemKind::FileChanged)
            }
            _ => {
                tracing::error!(error = chain(&error), "flow approval failed");
                Self::internal()
            }
        }
    }
}

impl From<waypost_auth::Error> for Failure {
    fn from(error: waypost_auth::Error) -> Self {
        use waypost_auth::ErrorKind;
        match (error.kind(), &error) {
            (ErrorKind::Invalid, waypost_auth::Error::Invalid { field, reason }) => {
                // The field's name on the wire.
                let field = if *field == "expires" { "expiresAt" } else { *field };
                Problem::field(format!("/{field}"), reason.clone()).into()
            }
            (ErrorKind::NotFound, _) => Self::not_found(error.to_string()),
            (ErrorKind::Full, _) => full(),
            (kind @ (ErrorKind::Unavailable | ErrorKind::Unknown | ErrorKind::Unstored), _) => {
                // It may name servers.
                tracing::warn!(error = chain(&error), "failed to change the tokens of the cluster");
                let detail = match kind {
                    ErrorKind::Unavailable => {
                        "this machine cannot change the tokens of its cluster at the moment, and nothing was changed; the service's log says why, and `ctl cluster status` shows the cluster"
                    }
                    ErrorKind::Unstored => {
                        "the other machines of the cluster have the change, and this machine failed to write it to `tokens.json`; the service's log says why. It tries again; list the tokens before you do"
                    }
                    _ => {
                        "the connection with the cluster's database ended, and the tokens may have been changed or not; list them before you try again"
                    }
                };
                Self::new(StatusCode::SERVICE_UNAVAILABLE, detail)
                    .with(RETRY_AFTER, HeaderValue::from_static("2"))
            }
            _ => {
                tracing::error!(error = chain(&error), "token access failed");
                Self::internal()
            }
        }
    }
}

fn full() -> Failure {
    tracing::error!("the disk is full: refusing writes until there is free space");
    Failure::new(
        StatusCode::INSUFFICIENT_STORAGE,
        "the service's disk is full: nothing was stored, reads continue; free space until more than 64 MiB are free, then send the request again",
    )
    .of(ProblemKind::DiskFull)
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self.problem).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        for (name, value) in self.headers {
            headers.insert(name, value);
        }
        if self.is_unsure {
            response.extensions_mut().insert(Unsure);
        }
        response
    }
}

/// Turns the router's own bare errors into problems; keeps `Allow`.
pub(crate) fn as_problem(response: Response) -> Response {
    let status = response.status();
    let is_problem = response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes() == PROBLEM_JSON.as_bytes());
    // An error of JSON-RPC.
    let is_json = response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes() == b"application/json");
    if is_problem || is_json || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let allow = response.headers().get(ALLOW).cloned();
    let detail = match (status, &allow) {
        (StatusCode::NOT_FOUND, _) => "no such path".to_owned(),
        (StatusCode::METHOD_NOT_ALLOWED, Some(allow)) => {
            format!("this path accepts only {}", allow.to_str().unwrap_or_default())
        }
        _ => "cannot serve the request".to_owned(),
    };
    let mut failure = Failure::new(status, detail);
    if let Some(allow) = allow {
        failure = failure.with(ALLOW, allow);
    }
    failure.into_response()
}
