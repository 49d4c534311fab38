//! Tokens, for administrators.

use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use waypost_api as api;
use waypost_auth::TokenId;

use crate::clock::now;
use crate::http::call::Call;
use crate::http::failure::Failure;
use crate::http::guard::Caller;
use crate::http::keys::OnRepeat;
use crate::http::reply::json;
use crate::http::request::parse;
use crate::http::wire;

pub(super) async fn create(mut call: Call) -> Result<Response, Failure> {
    let body = call.body().await?;
    let Call { app, caller, .. } = call;
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

pub(super) async fn list(call: Call) -> Result<Response, Failure> {
    let tokens: Vec<_> = call.app.tokens.list()?.into_iter().map(wire::token).collect();
    Ok(json(StatusCode::OK, &tokens))
}

pub(super) async fn current(call: Call) -> Response {
    json(StatusCode::OK, &grants(&call.caller))
}

/// What the caller's token permits.
pub(super) fn grants(caller: &Caller) -> api::TokenGrants {
    api::TokenGrants {
        scopes: wire::scopes(caller.scopes()),
        space: caller.space().map(str::to_owned),
    }
}

pub(super) async fn revoke(call: Call) -> Result<Response, Failure> {
    let id: TokenId = call.name.parse().map_err(|_| Failure::not_found("no token with this id"))?;
    let work = move |call: &Call| {
        let Call { app, caller, .. } = call;
        caller.ensure_valid()?;
        let derived = app.tokens.revoke(id, now())?.derived;
        app.sessions.look();
        let derived: Vec<_> = derived.iter().map(ToString::to_string).collect();
        let also = derived.join(",");
        tracing::info!(%id, also, by = caller.source(), "revoked a token");
        Ok(api::TokenRevoked { derived })
    };
    call.answer(|app| &app.writes, work).await
}
