//! Tokens, for administrators.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::StatusCode;
use waypost_api as api;
use waypost_auth::TokenId;

use crate::app::App;
use crate::clock::now;
use crate::http::failure::Failure;
use crate::http::guard::Caller;
use crate::http::keys::OnRepeat;
use crate::http::reply::json;
use crate::http::request::{parse, whole};
use crate::http::wire;

pub(super) async fn create(
    State(app): State<Arc<App>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Failure> {
    let body = whole(&app, request).await?;
    let shared = Arc::clone(&app);
    app.writes
        .run(move || {
            let asked: api::NewTokenRequest = parse(&body.bytes)?;
            let (secret, info) = shared.tokens.create(wire::new_token(asked), now())?;
            let (id, scopes) = (info.id, info.scopes.to_string());
            tracing::info!(%id, scopes, by = caller.source(), "created a token");
            let created =
                api::TokenCreated { token: secret.expose().to_owned(), info: wire::token(info) };
            let repeated = OnRepeat::new(format!(
                "the first request with this Idempotency-Key created the token {id}, and only its \
                 response had the secret; without it, revoke the token and create another"
            ));
            let mut response = json(StatusCode::CREATED, &created);
            response.extensions_mut().insert(repeated);
            Ok(response)
        })
        .await?
}

pub(super) async fn list(State(app): State<Arc<App>>) -> Result<Response, Failure> {
    let tokens: Vec<_> = app.tokens.list()?.into_iter().map(wire::token).collect();
    Ok(json(StatusCode::OK, &tokens))
}

pub(super) async fn current(caller: Caller) -> Response {
    json(StatusCode::OK, &grants(&caller))
}

/// What the caller's token permits.
pub(super) fn grants(caller: &Caller) -> api::TokenGrants {
    api::TokenGrants {
        scopes: wire::scopes(caller.scopes()),
        space: caller.space().map(str::to_owned),
    }
}

pub(super) async fn revoke(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let id: TokenId = id.parse().map_err(|_| Failure::not_found("no token with this id"))?;
    let shared = Arc::clone(&app);
    app.writes
        .run(move || {
            caller.ensure_valid()?;
            let derived = shared.tokens.revoke(id, now())?.derived;
            shared.sessions.look();
            let derived: Vec<_> = derived.iter().map(ToString::to_string).collect();
            let also = derived.join(",");
            tracing::info!(%id, also, by = caller.source(), "revoked a token");
            Ok(json(StatusCode::OK, &api::TokenRevoked { derived }))
        })
        .await?
}
