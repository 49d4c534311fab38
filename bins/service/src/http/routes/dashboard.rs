//! Opening the dashboard: `ctl` creates a code, and the page exchanges it for a token. Before it
//! sends either, this process proves that it created it.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use http::header::HeaderMap;
use waypost_api as api;
use waypost_auth::NewToken;
use waypost_project::LimitSettings;

use crate::app::App;
use crate::clock::now;
use crate::http::body::Held;
use crate::http::call::Call;
use crate::http::dashboard::{Key, Opened, PAGE, Refused, TOKEN_VALID};
use crate::http::failure::Failure;
use crate::http::reply::json;
use crate::http::request::parse;
use crate::http::wire;

/// Maximum size of a body without a token.
const OPEN_BYTES_MAX: usize = 64 * 1024;
/// The note of the dashboard's token.
const NOTE: &str = "the dashboard";

pub(super) async fn open(mut call: Call) -> Result<Response, Failure> {
    let asked: api::DashboardCodeRequest = api::parse_optional_body(&call.body().await?.bytes)?;
    let Call { app, caller, .. } = call;
    let scopes = if asked.scopes.is_empty() {
        caller.scopes()
    } else {
        asked.scopes.into_iter().map(wire::scope).collect()
    };
    let opened = Opened { scopes, space: asked.space, parent: caller.token()? };
    let (code, expires_at) = app.codes.create(opened, now())?;
    let url = format!("{}{PAGE}", app.url);
    Ok(json(StatusCode::CREATED, &api::DashboardCode { code, expires_at, url }))
}

pub(super) async fn exchange(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Failure> {
    if app.is_stopping() {
        return Err(Failure::stopping());
    }
    if !app.gate.is_own_page(&headers) {
        let why = "only the dashboard's own page may exchange a code: run `ctl open`";
        return Err(Failure::forbidden(why).of(api::ProblemKind::WebPage));
    }
    let body = without_token(&app, request).await?;
    let shared = Arc::clone(&app);
    app.writes
        .run(move || {
            let asked: api::DashboardTokenRequest = parse(&body.bytes)?;
            let exchanged = shared.codes.exchange(&asked.code, now(), |opened| {
                let (secret, info) = shared.tokens.create(token(opened), now())?;
                let id = info.id;
                tracing::info!(%id, scopes = info.scopes.to_string(), "opened the dashboard");
                let info = wire::token(info);
                let token = secret.expose().to_owned();
                let key = Key::of(&token);
                Ok::<_, Problem>((id, key, api::TokenCreated { token, info }))
            });
            match exchanged {
                Ok(created) => Ok(json(StatusCode::CREATED, &created)),
                Err(Problem::Refused(refused)) => Err(refuse(&shared, refused)?),
                Err(Problem::Auth(error)) => Err(error.into()),
            }
        })
        .await?
}

/// Proves to the page that this process issued what it is about to send.
pub(super) async fn prove(
    State(app): State<Arc<App>>,
    request: Request,
) -> Result<Response, Failure> {
    let body = without_token(&app, request).await?;
    let asked: api::DashboardProofRequest = parse(&body.bytes)?;
    // Another program may have the port by now, and pass on what it is asked.
    if app.is_stopping() {
        return Err(Failure::stopping());
    }
    let proof = app.codes.prove(&asked.id, &asked.nonce).ok_or_else(|| {
        Failure::not_found("this start of the service did not open that dashboard: run `ctl open`")
    })?;
    let digits: Vec<String> = proof.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(json(StatusCode::OK, &api::DashboardProof { proof: digits.concat() }))
}

/// The body of a sender without a token, which must not use up the memory for bodies.
async fn without_token(app: &App, request: Request) -> Result<Held, Failure> {
    let limits = LimitSettings { body_bytes_max: OPEN_BYTES_MAX, ..app.limits.clone() };
    app.bodies.read(request.into_body(), &limits).await
}

enum Problem {
    Refused(Refused),
    Auth(waypost_auth::Error),
}

impl From<Refused> for Problem {
    fn from(it: Refused) -> Self {
        Self::Refused(it)
    }
}

impl From<waypost_auth::Error> for Problem {
    fn from(it: waypost_auth::Error) -> Self {
        match it {
            // About the parent: a new token has no other id.
            waypost_auth::Error::Ended { .. } | waypost_auth::Error::NotFound { .. } => {
                Self::Refused(Refused::Ended)
            }
            it => Self::Auth(it),
        }
    }
}

/// The token for a code. It ends with the token that created the code.
fn token(opened: &Opened) -> NewToken {
    let end = now().saturating_add(TOKEN_VALID);
    let mut token = NewToken::new(opened.scopes.iter())
        .with_note(NOTE)
        .with_expires(end)
        .with_parent(opened.parent);
    token.space.clone_from(&opened.space);
    token
}

/// Somebody else may have read a code that is used twice, so its token is revoked, too.
fn refuse(app: &App, refused: Refused) -> Result<Failure, Failure> {
    let (status, why) = match refused {
        Refused::Unknown => (StatusCode::UNAUTHORIZED, "the code is unknown: run `ctl open`"),
        Refused::Late => (
            StatusCode::GONE,
            "the code has expired, it is valid for 60 seconds: run `ctl open` again",
        ),
        Refused::Ended => (
            StatusCode::GONE,
            "the token that created the code was revoked or has expired: run `ctl open` again, with a valid token",
        ),
        Refused::Used(id) => {
            app.tokens.revoke(id, now())?;
            app.sessions.look();
            tracing::warn!(%id, "a dashboard code was used twice; revoked its token");
            (
                StatusCode::GONE,
                "the code was used before; the token from its first use is revoked, too: run `ctl open` again",
            )
        }
    };
    Ok(Failure::new(status, why))
}
