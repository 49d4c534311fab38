//! Project context for a task.

mod items;
mod memories;

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::response::Response;
use http::{HeaderName, HeaderValue, StatusCode};
use waypost_api as api;
use waypost_auth::Scope;
use waypost_memory::{SearchMode, Vocabulary};

use self::items::{ContextQuery, find};
use crate::app::App;
use crate::clock::now;
use crate::http::call::Call;
use crate::http::failure::Failure;
use crate::http::guard::Caller;
use crate::http::reply::json;
use crate::http::wire;

/// How long a response waits for the query's vector. A busy model takes longer; then ranking is
/// lexical, and the next query finds the vector in the cache.
const VECTOR_TIME_MAX: Duration = Duration::from_millis(150);

/// A body of up to this size is parsed at once: moving it to another thread takes longer.
const SHORT: usize = 16 << 10;

pub(super) async fn query(mut call: Call) -> Result<Response, Failure> {
    let started = Instant::now();
    let body = call.body().await?;
    let Call { app, caller, .. } = call;
    let is_short = body.bytes.len() <= SHORT;
    let parse = move || Ok::<_, Failure>(api::parse_optional_body_with(&body.bytes, check)?);
    let asked = if is_short { parse()? } else { app.reads.run(parse).await?? };
    let (mode, mut response) = answer(&app, &caller, asked, move |mut answer| {
        answer.duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        json(StatusCode::OK, &answer)
    })
    .await?;
    if let Some(mode) = mode {
        let mode = HeaderValue::from_static(mode.as_str());
        response.headers_mut().insert(HeaderName::from_static("waypost-search-mode"), mode);
    }
    Ok(response)
}

/// Checks the globs of a request.
pub(super) fn check(asked: &api::ContextRequest, faults: &mut api::Faults) {
    for (idx, glob) in asked.paths.iter().enumerate() {
        if let Err(why) = waypost_context::check_glob(glob) {
            faults.add(&format!("paths/{idx}"), why);
        }
    }
}

/// Finds the items of a request, and how; `show` makes the response of them.
pub(super) async fn answer<R: Send + 'static>(
    app: &Arc<App>,
    caller: &Caller,
    asked: api::ContextRequest,
    show: impl FnOnce(api::ContextAnswer) -> R + Send + 'static,
) -> Result<(Option<SearchMode>, R), Failure> {
    if asked.sources.contains(&api::ContextSource::Memory) {
        caller.require(Scope::MemoryRead)?;
    }
    if wire::context::includes_project(&asked) {
        app.context.required()?;
    }
    let text = asked.query.as_deref().unwrap_or_default().trim();
    let vector = if text.is_empty() { None } else { vector(app, text.to_owned()).await };
    let mode = match (&vector, text.is_empty()) {
        (_, true) => None,
        (Some(_), _) => Some(SearchMode::Hybrid),
        (None, _) => Some(SearchMode::Lexical),
    };
    let (shared, scoped) = (Arc::clone(app), app.scoped(caller));
    let find = move || {
        let asked = ContextQuery { request: &asked, vector, now: now() };
        Ok::<_, Failure>(show(find(shared.context.index(), &scoped, asked)?))
    };
    Ok((mode, app.reads.run(find).await??))
}

/// The query's vector, if the model computes it in time.
async fn vector(app: &Arc<App>, text: String) -> Option<Vec<f32>> {
    if !app.model.is_ready() {
        return None;
    }
    let embedder = app.embedder();
    let embedding = app.reads.run(move || embedder(&text));
    let vector = tokio::time::timeout(VECTOR_TIME_MAX, embedding).await.ok()?.ok()?;
    match vector {
        Ok(vector) => vector.map(|vector| vector.to_vec()),
        Err(error) => {
            tracing::debug!(%error, "failed to embed the query");
            None
        }
    }
}

pub(super) async fn status(call: Call) -> Result<Response, Failure> {
    call.answer(|app| &app.reads, |call| Ok(wire::context::status(&call.app.context))).await
}

pub(super) async fn rescan(call: Call) -> Result<Response, Failure> {
    // It takes as long as it takes: the slot bounds how many wait, not how long.
    let slot = call.app.streams.slot().await?;
    let scanned = call.app.context.request_scan()?.await.map_err(|_| Failure::stopping())?;
    drop(slot);
    Ok(json(StatusCode::OK, &scanned?))
}
