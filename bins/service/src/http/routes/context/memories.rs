//! Memories as items of a response: the store's results for the same query.

use waypost_api as api;
use waypost_memory::{Filter, Hit, Memory, SearchOptions};

use crate::clock::now;
use crate::http::failure::Failure;
use crate::http::scoped::Scoped;

/// Bytes of a memory's content that an item shows; the item's path leads to the rest.
const CONTENT_BYTES_MAX: usize = 2000;

/// The pinned memories of a context, those with the lowest ids.
const PINNED_MAX: usize = 10;

/// Approximate bytes of a token, as in the index.
const TOKEN_BYTES: usize = 4;

/// The matching memories, best first, with scores on the scale of the project's items: the best
/// memory gets the score of the best item.
pub(super) fn find(
    scoped: &Scoped,
    query: &str,
    wanted: &Wanted<'_>,
    best: f32,
) -> Result<Vec<api::ContextItem>, Failure> {
    let options = SearchOptions::default()
        .with_limit(wanted.limit)
        .with_filter(wanted.filter().with_pinned(false))
        .with_now(now());
    let found = scoped.search(query, options)?;
    let top = found.hits.first().map_or(1.0, |hit| hit.score).max(f64::MIN_POSITIVE);
    let item = |hit: Hit| item(hit.memory, (hit.score * f64::from(best) / top) as f32, "memory");
    Ok(found.hits.into_iter().map(item).collect())
}

/// The pinned memories, in order of their ids, with the score of the best item.
pub(super) fn pinned(
    scoped: &Scoped,
    wanted: &Wanted<'_>,
    best: f32,
) -> Result<Vec<api::ContextItem>, Failure> {
    let filter = wanted.filter().with_pinned(true);
    let found = scoped.list(filter, None, wanted.limit.min(PINNED_MAX))?;
    Ok(found.into_iter().map(|found| item(found, best, "pinned")).collect())
}

/// The filter on memories.
pub(super) struct Wanted<'a> {
    pub(super) limit: usize,
    pub(super) types: &'a [String],
}

impl Wanted<'_> {
    fn filter(&self) -> Filter {
        Filter::default().with_kinds(self.types.to_vec())
    }
}

fn item(memory: Memory, score: f32, why: &str) -> api::ContextItem {
    let shown = cut(&memory.content, CONTENT_BYTES_MAX);
    let (content, truncated) = (shown.to_owned(), shown.len() < memory.content.len());
    api::ContextItem {
        source: api::ContextSource::Memory,
        tokens: tokens(&memory.title, &content),
        path: format!("/api/memory/{}", memory.id.get()),
        line: None,
        end_line: None,
        score,
        updated_at: Some(memory.updated_at),
        truncated,
        why: vec![why.to_owned()],
        kind: memory.kind,
        title: memory.title,
        content,
    }
}

/// The tokens of a text.
fn tokens(title: &str, content: &str) -> u64 {
    (title.len() + content.len()).div_ceil(TOKEN_BYTES) as u64
}

/// The beginning of a text: whole lines if at least one fits, else whole characters.
fn cut(text: &str, bytes_max: usize) -> &str {
    if text.len() <= bytes_max {
        return text;
    }
    let end = (0..=bytes_max).rev().find(|number| text.is_char_boundary(*number)).unwrap_or(0);
    let start = &text[..end];
    start.rfind('\n').filter(|at| *at > 0).map_or(start, |at| &start[..at])
}
