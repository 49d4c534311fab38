//! Memories as items of an answer: what the store finds for the same query.

use waypost_api as api;
use waypost_memory::{Filter, Hit, SearchOptions};

use crate::http::failure::Failure;
use crate::http::scoped::Scoped;
use crate::http::wire;

/// Bytes of a memory's content that an item shows; the rest is at its path.
const CONTENT_BYTES_MAX: usize = 2000;

/// The memories that fit, best first, their scores on the scale of the project's items: the best
/// memory counts as much as the best of these.
pub(super) fn find(
    scoped: &Scoped,
    query: &str,
    wanted: &Wanted<'_>,
    best: f32,
) -> Result<Vec<api::ContextItem>, Failure> {
    let options = SearchOptions {
        limit: wanted.limit,
        filter: Filter { kinds: wanted.types.to_vec(), ..Filter::default() },
        ..SearchOptions::default()
    };
    let found = scoped.search(query, options)?;
    let top = found.hits.first().map_or(1.0, |it| it.score).max(f64::MIN_POSITIVE);
    Ok(found.hits.into_iter().map(|it| item(it, f64::from(best) / top)).collect())
}

/// Which memories.
pub(super) struct Wanted<'a> {
    pub(super) limit: usize,
    pub(super) types: &'a [String],
}

fn item(hit: Hit, scale: f64) -> api::ContextItem {
    let Hit { memory, score, .. } = hit;
    let shown = super::items::cut(&memory.content, CONTENT_BYTES_MAX);
    let (content, truncated) = (shown.to_owned(), shown.len() < memory.content.len());
    api::ContextItem {
        source: api::ContextSource::Memory,
        tokens: super::items::tokens(&memory.title, &content),
        path: format!("/api/memory/{}", memory.id.get()),
        line: None,
        end_line: None,
        score: (score * scale) as f32,
        updated_at: Some(wire::time(memory.updated_at)),
        truncated,
        why: vec!["memory".to_owned()],
        kind: memory.kind,
        title: memory.title,
        content,
    }
}
