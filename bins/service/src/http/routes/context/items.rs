//! The items of a response: from the index, and from memories.

use waypost_api as api;
use waypost_context::Context;
use waypost_time::Timestamp;

use super::memories;
use crate::http::failure::Failure;
use crate::http::scoped::Scoped;
use crate::http::wire;

/// A validated request with its caller and time.
pub(crate) struct ContextQuery<'a> {
    pub(crate) request: &'a api::ContextRequest,
    /// The query's vector, if there is a model.
    pub(crate) vector: Option<Vec<f32>>,
    /// In seconds since 1970.
    pub(crate) now: Timestamp,
}

/// Finds the requested items.
pub(crate) fn find(
    context: Option<&Context>,
    scoped: &Scoped,
    asked: ContextQuery<'_>,
) -> Result<api::ContextAnswer, Failure> {
    let ContextQuery { request, vector, now } = asked;
    let query = wire::context::query(request, vector);
    let mut answer = match context {
        Some(context) if wire::context::includes_project(request) => {
            wire::context::answered(context.query(&query, now)?)
        }
        _ => api::ContextAnswer::default(),
    };
    let with_memories = request.sources.contains(&api::ContextSource::Memory);
    if with_memories {
        let best = answer.items.first().map_or(1.0, |item| item.score);
        let wanted = memories::Wanted { limit: query.max_items, types: &request.types };
        answer.items.splice(..0, memories::pinned(scoped, &wanted, best)?);
        if !query.text.trim().is_empty() {
            answer.items.extend(memories::find(scoped, &query.text, &wanted, best)?);
        }
        // A stable sort: pinned memories precede items of the project with the same score, and these
        // precede other memories.
        answer.items.sort_by(|a, b| b.score.total_cmp(&a.score));
        answer.items.truncate(query.max_items);
        answer.truncated |= fit(&mut answer.items, query.max_tokens);
    }
    Ok(answer)
}

/// Removes items beyond the token budget; returns whether there were any.
fn fit(items: &mut Vec<api::ContextItem>, max_tokens: Option<usize>) -> bool {
    let Some(mut left) = max_tokens.map(|token| token as u64) else { return false };
    let before = items.len();
    items.retain(|item| {
        let rest = left.checked_sub(item.tokens);
        left = rest.unwrap_or(left);
        rest.is_some()
    });
    items.len() < before
}
