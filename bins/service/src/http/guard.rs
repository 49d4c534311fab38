//! Authentication, after the [`Gate`](waypost_api::Gate). The token is read from `Authorization`
//! only, which no web page can send on behalf of its visitor.

use std::sync::Arc;

use http::StatusCode;
use http::header::{AUTHORIZATION, HeaderMap};
use waypost_api::ProblemKind;
use waypost_auth::{Rejected, Scope, Scopes, Token, TokenId};
use waypost_events::Lineage;

use crate::app::App;
use crate::clock::now;
use crate::flows::grants::{Grant, Grants};
use crate::http::failure::Failure;
use crate::http::sessions::{Identity, Session, Sessions};
use crate::http::waiting::Account;
use crate::metrics::Denied;

/// Longer tokens are rejected without a check.
const TOKEN_BYTES_MAX: usize = 512;
/// The authenticated caller.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    session: Arc<Session>,
    scopes: Scopes,
    space: Option<Arc<str>>,
}

impl Caller {
    /// 403 that names the scope, unless the token has it.
    pub(crate) fn require(&self, scope: Scope) -> Result<(), Failure> {
        if self.may(scope) {
            return Ok(());
        }
        Err(Failure::forbidden(format!("the token lacks the scope {}", scope.as_str()))
            .of(ProblemKind::ScopeMissing))
    }

    /// Whether the token has the scope.
    pub(crate) fn may(&self, scope: Scope) -> bool {
        self.scopes.allows(scope)
    }

    /// The id of the caller's token; 403 for the token of a run, which is not listed and ends with
    /// its action.
    pub(crate) fn token(&self) -> Result<TokenId, Failure> {
        match self.session.who() {
            Identity::Token(id) => Ok(*id),
            Identity::Run(_) => Err(Failure::forbidden(
                "a run of a flow cannot do this; use a token that you created",
            )),
        }
    }

    /// What the token permits.
    pub(crate) fn scopes(&self) -> Scopes {
        self.scopes
    }

    /// The caller as the source of an event.
    pub(crate) fn source(&self) -> String {
        match self.session.who() {
            Identity::Token(id) => format!("token:{id}"),
            Identity::Run(grant) => grant.source.clone(),
        }
    }

    /// The lineage of an event that this caller publishes.
    pub(crate) fn lineage(&self) -> Lineage {
        match self.session.who() {
            Identity::Token(_) => Lineage::default(),
            Identity::Run(grant) => grant.lineage.clone(),
        }
    }

    /// The only space that the token can access, if it is bound to one.
    pub(crate) fn space(&self) -> Option<&str> {
        self.space.as_deref()
    }

    /// 403 for operations on the whole store, unless the token is valid for all spaces.
    pub(crate) fn require_all_spaces(&self) -> Result<(), Failure> {
        match self.space() {
            None => Ok(()),
            Some(space) => Err(Failure::forbidden(format!(
                "the token is bound to the space {space}; this request needs a token for all spaces"
            ))
            .of(ProblemKind::SpaceBound)),
        }
    }

    /// Puts the token's space in place of none; another space is 403.
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

    /// Registers the call, so that it ends with its token.
    pub(crate) fn begin(self, sessions: &Sessions) -> Self {
        Self { session: sessions.begin(self.session.who().clone()), ..self }
    }

    /// What waits for the clients of the token.
    pub(crate) fn account(&self, app: &App) -> Account {
        Account::new(&app.waiting, &self.session)
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// 401 once the token has ended, for long calls.
    pub(crate) fn ensure_valid(&self) -> Result<(), Failure> {
        if self.session.has_ended() { Err(bad_token()) } else { Ok(()) }
    }
}

impl<S: Sync> axum::extract::FromRequestParts<S> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(
        parts: &mut http::request::Parts,
        _state: &S,
    ) -> Result<Self, Failure> {
        // Only public paths have no caller, and their handlers take none.
        parts.extensions.get::<Self>().cloned().ok_or_else(no_token)
    }
}

/// 401 for a request without a token.
pub(crate) fn no_token() -> Failure {
    Failure::unauthorized("send a token: Authorization: Bearer wp_…", "Bearer realm=\"waypost\"")
}

/// 401 for a token that is invalid, or no longer valid.
pub(crate) fn bad_token() -> Failure {
    Failure::unauthorized(
        "the token is unknown, expired or revoked",
        "Bearer realm=\"waypost\", error=\"invalid_token\"",
    )
}

/// Authenticates the request; 401 unless the token is valid. The response is the same for every
/// invalid token.
pub(crate) fn authenticate(app: &App, headers: &HeaderMap) -> Result<Caller, Failure> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let missing = || app.denied(Denied::Missing, None, no_token());
    let value = values.next().ok_or_else(missing)?;
    let malformed = || app.denied(Denied::Malformed, None, bad_token());
    if values.next().is_some() {
        let failure = Failure::unauthorized(
            "more than one Authorization header; send exactly one",
            "Bearer realm=\"waypost\", error=\"invalid_request\"",
        );
        return Err(app.denied(Denied::Malformed, None, failure));
    }
    let text = value.to_str().map_err(|_| malformed())?;
    let (scheme, token) = text.split_once(' ').ok_or_else(missing)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(missing());
    }
    if token.is_empty() || token.len() > TOKEN_BYTES_MAX || token.contains([' ', '\t']) {
        return Err(malformed());
    }
    if Grants::is_run(token) {
        let unknown = || app.denied(Denied::Unknown, None, bad_token());
        let session =
            Session::new(Identity::Run(app.flows.grants.find(token).ok_or_else(unknown)?));
        return Ok(Caller { session, scopes: Grant::scopes(), space: None });
    }
    let rejected = match app.tokens.verify(token, now()) {
        // The token of a dashboard ends with the start of the service that issued it: another
        // program may have had the port since.
        Ok(it) if it.parent.is_some() && !app.codes.has_issued(it.id) => Rejected::Unknown,
        Ok(it) => {
            let session = Session::new(Identity::Token(it.id));
            return Ok(Caller { session, scopes: it.scopes, space: it.space });
        }
        Err(rejected) => rejected,
    };
    let why = match rejected {
        Rejected::Unavailable { reason } => {
            tracing::error!(%reason, "failed to check tokens");
            let status = StatusCode::SERVICE_UNAVAILABLE;
            let failure = Failure::new(status, "failed to check the token; try again");
            return Err(app.denied(Denied::Unavailable, None, failure));
        }
        Rejected::OutOfContact => {
            let failure = match &app.cluster {
                Some(cluster) if cluster.has_lost_contact() => {
                    Failure::new(StatusCode::SERVICE_UNAVAILABLE, rejected.to_string())
                }
                Some(cluster) if cluster.has_failed() => Failure::busy(
                    "this machine has started, and fails to read in the journal of its cluster which tokens were revoked: use the machine's own admin token, or another machine",
                ),
                _ => Failure::busy(
                    "this machine has just started, and reads in the journal of its cluster which tokens were revoked",
                ),
            };
            return Err(app.denied(Denied::Unavailable, None, failure));
        }
        Rejected::Expired { .. } => Denied::Expired,
        Rejected::Revoked { .. } => Denied::Revoked,
        Rejected::Malformed(_) => Denied::Malformed,
        _ => Denied::Unknown,
    };
    Err(app.denied(why, Some(token), bad_token()))
}

impl App {
    /// Counts a rejected request, and logs it unless a recent line covers it. Only the public part
    /// of the token is logged.
    fn denied(&self, why: Denied, token: Option<&str>, failure: Failure) -> Failure {
        let unlogged = self.metrics.denied(why);
        if matches!(why, Denied::Missing | Denied::Unavailable) {
            return failure;
        }
        if let Some(count) = unlogged {
            let id = token
                .and_then(|token| Token::parse(token).ok())
                .map(|value| value.id().to_string());
            tracing::info!(reason = why.as_str(), id, count, "rejected a token");
        }
        failure
    }
}
