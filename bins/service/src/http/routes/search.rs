//! Search.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::{HeaderName, HeaderValue, StatusCode};
use waypost_api::{self as api, limits::SEARCH_LIMIT_DEFAULT};

use crate::app::App;
use crate::http::failure::Failure;
use crate::http::guard::Caller;
use crate::http::reply::json;
use crate::http::request::{parse, whole};
use crate::http::scoped::Scoped;
use crate::http::wire;

pub(super) async fn search(
    State(app): State<Arc<App>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Failure> {
    let body = whole(&app, request).await?;
    let scoped = app.scoped(&caller);
    let read = move || {
        let mut asked: api::SearchRequest = parse(&body.bytes)?;
        caller.narrow(&mut asked.space)?;
        if asked.as_of.is_some() {
            return Ok::<_, Failure>(Err((scoped, asked)));
        }
        answer(&scoped, &asked).map(Ok)
    };
    match app.reads.run(read).await?? {
        Ok(response) => Ok(response),
        Err((scoped, asked)) => app.past.run(move || answer(&scoped, &asked)).await?,
    }
}

fn answer(scoped: &Scoped, asked: &api::SearchRequest) -> Result<Response, Failure> {
    let limit = usize::try_from(asked.limit.unwrap_or(SEARCH_LIMIT_DEFAULT)).unwrap_or(usize::MAX);
    let found = scoped.search(&asked.query, wire::search_options(asked, limit))?;
    let mode = HeaderValue::from_static(wire::search_mode(found.mode));
    let answerable = format!("{:.3}", found.answerable);
    let rerank = wire::rerank(found.rerank);
    let forgotten = asked.as_of.map(|_| found.forgotten.to_string());
    let hits: Vec<_> = found.hits.into_iter().map(wire::hit).collect();
    let mut response = json(StatusCode::OK, &hits);
    response.headers_mut().insert(HeaderName::from_static("waypost-search-mode"), mode);
    if let Ok(answerable) = HeaderValue::from_str(&answerable) {
        let name = HeaderName::from_static("waypost-answerable");
        response.headers_mut().insert(name, answerable);
    }
    if let Some(forgotten) = forgotten.and_then(|it| HeaderValue::from_str(&it).ok()) {
        let name = HeaderName::from_static("waypost-forgotten");
        response.headers_mut().insert(name, forgotten);
    }
    if found.only_stop_words {
        let name = HeaderName::from_static("waypost-stop-words");
        response.headers_mut().insert(name, HeaderValue::from_static("only"));
    }
    if let Some(rerank) = rerank {
        let name = HeaderName::from_static("waypost-rerank");
        response.headers_mut().insert(name, HeaderValue::from_static(rerank));
    }
    Ok(response)
}
