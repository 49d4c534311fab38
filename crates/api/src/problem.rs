//! Errors on the wire: RFC 9457.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use crate::{Lines, visible};

/// Characters of a pointer in a problem.
const POINTER_CHARS_MAX: usize = 256;

/// The body of every error response.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// A URI for the kind of problem; `about:blank` if the status is sufficient.
    #[serde(rename = "type", default = "about_blank")]
    pub kind: String,
    /// The title of this kind of problem.
    #[serde(default)]
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What is wrong with this request, and how to fix it.
    #[serde(default)]
    pub detail: String,
    /// The path of the request.
    pub instance: Option<String>,
    /// For an internal error: the request id to look for in the service's log, as in `X-Request-Id`.
    pub request_id: Option<String>,
    /// The invalid fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
}

/// An invalid field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldError {
    /// Its location: a JSON pointer (RFC 6901) into the body, or `?name` for a query parameter.
    pub pointer: String,
    /// What is wrong with it.
    pub message: String,
}

/// Problems that a client may want to distinguish beyond their status.
///
/// Each is the `type` `urn:waypost:problem:NAME`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemKind {
    /// 401: no token was sent.
    TokenMissing,
    /// 401: the token is unknown, expired or revoked.
    TokenRefused,
    /// 403: the token lacks a scope.
    ScopeMissing,
    /// 403: the token is bound to a space, and the request needs another one or all.
    SpaceBound,
    /// 403: a web page sent the request.
    WebPage,
    /// 409: a reindex is running.
    ReindexRunning,
    /// 409: the idempotency key belongs to another request.
    KeyReused,
    /// 409: a request with the idempotency key was begun before, and its response cannot be returned again.
    AlreadyDone,
    /// 409: the flow is pending approval.
    FlowPending,
    /// 409: the run did not fail.
    RunNotFailed,
    /// 409: the run has ended.
    RunEnded,
    /// 409: the file has changed meanwhile.
    FileChanged,
    /// 409: the project has no context.
    NoContext,
    /// 503: no browser can be reached.
    NoBrowser,
    /// 503: no peer of the mesh serves the target.
    NoPeer,
    /// 503: there is no embedding model.
    NoModel,
    /// 507: the disk is full.
    DiskFull,
}

impl ProblemKind {
    const PREFIX: &str = "urn:waypost:problem:";
    /// All kinds.
    pub const ALL: [Self; 17] = [
        Self::TokenMissing,
        Self::TokenRefused,
        Self::ScopeMissing,
        Self::SpaceBound,
        Self::WebPage,
        Self::ReindexRunning,
        Self::KeyReused,
        Self::AlreadyDone,
        Self::FlowPending,
        Self::RunNotFailed,
        Self::RunEnded,
        Self::FileChanged,
        Self::NoContext,
        Self::NoBrowser,
        Self::NoPeer,
        Self::NoModel,
        Self::DiskFull,
    ];

    /// The last part of the `type`.
    pub fn name(self) -> &'static str {
        match self {
            Self::TokenMissing => "token-missing",
            Self::TokenRefused => "token-refused",
            Self::ScopeMissing => "scope-missing",
            Self::SpaceBound => "space-bound",
            Self::WebPage => "web-page",
            Self::ReindexRunning => "reindex-running",
            Self::KeyReused => "key-reused",
            Self::AlreadyDone => "already-done",
            Self::FlowPending => "flow-pending",
            Self::RunNotFailed => "run-not-failed",
            Self::RunEnded => "run-ended",
            Self::FileChanged => "file-changed",
            Self::NoContext => "no-context",
            Self::NoBrowser => "no-browser",
            Self::NoPeer => "no-peer",
            Self::NoModel => "no-model",
            Self::DiskFull => "disk-full",
        }
    }
}

fn about_blank() -> String {
    "about:blank".to_owned()
}

impl Problem {
    /// A problem with that status, and what is wrong and what would be valid.
    pub fn new(status: u16, detail: impl Into<String>) -> Self {
        Self {
            kind: about_blank(),
            title: title(status).to_owned(),
            status,
            detail: detail.into(),
            instance: None,
            request_id: None,
            errors: Vec::new(),
        }
    }

    /// The same, with that kind.
    #[must_use]
    pub fn of(mut self, kind: ProblemKind) -> Self {
        self.kind = format!("{}{}", ProblemKind::PREFIX, kind.name());
        self
    }

    /// Its kind, if this program knows it.
    pub fn known_kind(&self) -> Option<ProblemKind> {
        let name = self.kind.strip_prefix(ProblemKind::PREFIX)?;
        ProblemKind::ALL.into_iter().find(|it| it.name() == name)
    }

    /// 422 for invalid fields; the detail consists of their messages.
    ///
    /// A pointer is cut after 256 characters: a client may have written any name.
    pub fn fields(mut errors: Vec<FieldError>) -> Self {
        for error in &mut errors {
            let cut = error.pointer.char_indices().nth(POINTER_CHARS_MAX).is_some();
            if cut && let Some((end, _)) = error.pointer.char_indices().nth(POINTER_CHARS_MAX - 3) {
                error.pointer.truncate(end);
                error.pointer.push_str("...");
            }
        }
        let detail = errors
            .iter()
            .map(|error| {
                let name = error.pointer.trim_start_matches(['/', '?']);
                if name.is_empty() {
                    error.message.clone()
                } else {
                    format!("{}: {}", visible(name, Lines::Fold), error.message)
                }
            })
            .collect::<Vec<_>>()
            .join("; ");
        Self { errors, ..Self::new(422, detail) }
    }

    /// 422 for one field.
    pub fn field(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self::fields(vec![FieldError { pointer: pointer.into(), message: message.into() }])
    }

    /// The same, for that request path.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.instance = Some(path.into());
        self
    }
}

/// The title of a status.
fn title(status: u16) -> &'static str {
    match status {
        400 => "Bad request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not found",
        405 => "Method not allowed",
        406 => "Not acceptable",
        408 => "Request timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length required",
        413 => "Body too large",
        414 => "URI too long",
        415 => "Unsupported media type",
        421 => "Misdirected request",
        422 => "Invalid field",
        429 => "Too many requests",
        431 => "Header fields too large",
        500 => "Internal error",
        501 => "Not implemented",
        502 => "Bad gateway",
        503 => "Service unavailable",
        507 => "Insufficient storage",
        _ if status < 500 => "Request rejected",
        _ => "Service error",
    }
}
