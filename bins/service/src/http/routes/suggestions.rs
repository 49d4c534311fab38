//! Suggestions about similar memories.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use waypost_api::{self as api, limits::SUGGESTIONS_LIMIT_DEFAULT};
use waypost_memory::{MemoryId, SuggestionOptions};

use crate::app::App;
use crate::http::failure::Failure;
use crate::http::guard::Caller;
use crate::http::reply::json;
use crate::http::scoped::Scoped;
use crate::http::wire;

/// Maximum number of suggestions in the response to an add.
const ADD_LIMIT: usize = 5;

pub(super) async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Failure> {
    let query = request.uri().query().unwrap_or_default();
    let mut asked: api::SuggestionsRequest = api::parse_query(query)?;
    caller.narrow(&mut asked.space)?;
    let id = asked.id.map(wire::id).transpose()?;
    let limit = usize::try_from(asked.limit.unwrap_or(SUGGESTIONS_LIMIT_DEFAULT));
    let before = asked.before.map(wire::id).transpose()?;
    let mut options = SuggestionOptions::default().with_id(id).with_before(before);
    options.limit = limit.unwrap_or(usize::MAX);
    options.space = asked.space;
    let scoped = app.scoped(&caller);
    let read = move || Ok(json(StatusCode::OK, &scoped.suggestions(options)?));
    // All memories are compared as slowly as the past is searched.
    if id.is_some() { app.reads.run(read).await? } else { app.past.run(read).await? }
}

/// Suggestions about a memory that was just added. The add has succeeded, also if the memory cannot
/// be compared with others; it does not wait for other reads.
pub(super) async fn of_new(app: &App, scoped: &Scoped, id: MemoryId) -> Vec<api::Suggestion> {
    if !scoped.may_have_similar(id) {
        return Vec::new();
    }
    let scoped = scoped.clone();
    let options = SuggestionOptions::default().with_id(id).with_limit(ADD_LIMIT);
    let found = app.reads.run_if_free(move || scoped.suggestions(options)).await;
    found.and_then(Result::ok).map_or_else(Vec::new, |found| found.suggestions)
}
