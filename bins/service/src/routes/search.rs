//! Search.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::{HeaderName, HeaderValue, StatusCode};
use waypost_api::{self as api, limits::SEARCH_LIMIT_DEFAULT};
use waypost_auth::Scope;
use waypost_memory::Store;

use super::memory::exists;
use super::{parse, whole};
use crate::answer::json;
use crate::failure::Failure;
use crate::guard::Caller;
use crate::state::App;
use crate::wire;

pub(super) async fn search(
    State(app): State<Arc<App>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Failure> {
    caller.require(Scope::MemoryRead)?;
    let body = whole(&app, request).await?;
    let store = Arc::clone(&app.store);
    app.reads
        .run(move || {
            let mut asked: api::SearchRequest = parse(&body.bytes)?;
            caller.narrow(&mut asked.space)?;
            answer(&store, &caller, &asked)
        })
        .await?
}

fn answer(store: &Store, caller: &Caller, asked: &api::SearchRequest) -> Result<Response, Failure> {
    let limit = usize::try_from(asked.limit.unwrap_or(SEARCH_LIMIT_DEFAULT)).unwrap_or(usize::MAX);
    let mut found = store.search(&asked.query, &wire::search_options(asked, limit))?;
    if caller.space().is_some() {
        for hit in &mut found.hits {
            hit.contradicts.retain(|id| exists(store, caller, *id));
            if let Some(explanation) = &mut hit.explanation {
                explanation
                    .links
                    .retain(|it| exists(store, caller, it.from) && exists(store, caller, it.to));
            }
            hit.memory.superseded_by =
                hit.memory.superseded_by.filter(|id| exists(store, caller, *id));
        }
    }
    let mode = HeaderValue::from_static(wire::search_mode(found.mode));
    let hits: Vec<_> = found.hits.into_iter().map(wire::hit).collect();
    let mut response = json(StatusCode::OK, &hits);
    response.headers_mut().insert(HeaderName::from_static("waypost-search-mode"), mode);
    Ok(response)
}
