//! Who may come in, once the [`Gate`](waypost_api::Gate) has let the request pass: whoever has a
//! good token. It is taken from `Authorization` alone, which no web page can send for its reader.

use std::sync::Arc;

use http::StatusCode;
use http::header::{AUTHORIZATION, HeaderMap};
use waypost_api::ProblemKind;
use waypost_auth::{Rejected, Scope, Scopes, TokenId, TokenStore};
use waypost_events::Lineage;

use crate::failure::Failure;
use crate::flows::{Grant, Grants};
use crate::server::Peer;
use crate::state::now_ms;

/// Longer tokens are refused unread.
const TOKEN_BYTES_MAX: usize = 512;

/// Who calls, once the token was found good.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    who: Who,
    scopes: Scopes,
    space: Option<Arc<str>>,
}

#[derive(Debug, Clone)]
enum Who {
    Token(TokenId),
    /// The program of a flow's run.
    Run(Arc<Grant>),
}

impl Caller {
    /// 403 that names the scope, unless the token has it.
    pub(crate) fn require(&self, scope: Scope) -> Result<(), Failure> {
        if self.scopes.allows(scope) {
            return Ok(());
        }
        Err(Failure::forbidden(format!("the token lacks the scope {}", scope.as_str()))
            .of(ProblemKind::ScopeMissing))
    }

    /// Who it is, as the source of an event.
    pub(crate) fn source(&self) -> String {
        match &self.who {
            Who::Token(id) => format!("token:{id}"),
            Who::Run(grant) => grant.source.clone(),
        }
    }

    /// Where the chain of runs stands with an event of this caller's.
    pub(crate) fn lineage(&self) -> Lineage {
        match &self.who {
            Who::Token(_) => Lineage::default(),
            Who::Run(grant) => grant.lineage.clone(),
        }
    }

    /// The only space that the token may touch.
    pub(crate) fn space(&self) -> Option<&str> {
        self.space.as_deref()
    }

    /// 403 for work on all of the store, unless the token is for all of it.
    pub(crate) fn require_all_spaces(&self) -> Result<(), Failure> {
        match self.space() {
            None => Ok(()),
            Some(space) => Err(Failure::forbidden(format!(
                "the token is bound to the space {space}; this needs a token for all spaces"
            ))
            .of(ProblemKind::SpaceBound)),
        }
    }

    /// Puts the token's space in place of none; another one is 403.
    pub(crate) fn narrow(&self, asked: &mut Option<String>) -> Result<(), Failure> {
        let Some(own) = self.space() else { return Ok(()) };
        match asked {
            Some(asked) if asked != own => {
                Err(Failure::forbidden(format!("the token is bound to the space {own}"))
                    .of(ProblemKind::SpaceBound))
            }
            _ => {
                *asked = Some(own.to_owned());
                Ok(())
            }
        }
    }

    /// Whether a memory of that space exists for this caller.
    pub(crate) fn sees(&self, space: &str) -> bool {
        self.space().is_none_or(|own| own == space)
    }
}

impl<S: Sync> axum::extract::FromRequestParts<S> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(
        parts: &mut http::request::Parts,
        _state: &S,
    ) -> Result<Self, Failure> {
        // Only a public path has no caller, and none of those routes takes one.
        parts.extensions.get::<Self>().cloned().ok_or_else(no_token)
    }
}

/// Paths that need no token. Metrics tell how much is remembered, and of what: without a token only at
/// the socket, which nobody but this user reaches. On loopback, it may be any user of the machine, or a
/// proxy that brings everybody.
pub(crate) fn is_public(path: &str, peer: Peer) -> bool {
    match path {
        "/healthz" | "/readyz" | "/openapi.json" => true,
        "/metrics" => peer == Peer::Socket,
        _ => false,
    }
}

fn no_token() -> Failure {
    Failure::unauthorized("send a token: Authorization: Bearer wp_…", "Bearer realm=\"waypost\"")
}

fn bad_token() -> Failure {
    Failure::unauthorized(
        "the token is unknown, expired or revoked",
        "Bearer realm=\"waypost\", error=\"invalid_token\"",
    )
}

/// Who sends these headers; 401 unless the token is good. Every bad token gets the same answer.
pub(crate) fn authenticate(
    tokens: &TokenStore,
    runs: &Grants,
    headers: &HeaderMap,
) -> Result<Caller, Failure> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next().ok_or_else(no_token)?;
    if values.next().is_some() {
        return Err(Failure::unauthorized(
            "more than one Authorization header; send exactly one",
            "Bearer realm=\"waypost\", error=\"invalid_request\"",
        ));
    }
    let text = value.to_str().map_err(|_| bad_token())?;
    let (scheme, token) = text.split_once(' ').ok_or_else(no_token)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(no_token());
    }
    if token.is_empty() || token.len() > TOKEN_BYTES_MAX || token.contains([' ', '\t']) {
        return Err(bad_token());
    }
    if Grants::is_run(token) {
        let who = Who::Run(runs.find(token).ok_or_else(bad_token)?);
        return Ok(Caller { who, scopes: Grant::scopes(), space: None });
    }
    match tokens.verify(token, now_ms()) {
        Ok(it) => Ok(Caller { who: Who::Token(it.id), scopes: it.scopes, space: it.space }),
        Err(Rejected::Unavailable { reason }) => {
            tracing::error!(%reason, "tokens cannot be checked");
            Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, "tokens cannot be checked now"))
        }
        Err(_) => Err(bad_token()),
    }
}
