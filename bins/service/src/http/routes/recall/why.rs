//! Why a session knew something, or did not.

use std::collections::BTreeSet;

use waypost_api as api;
use waypost_api::limits::RECALL_WHY_LIMIT_DEFAULT;
use waypost_memory::{Filter, Hit, Memory, SearchOptions};
use waypost_recall::{Entry, Fate, Moment, Query, fate};
use waypost_time::Timestamp;

use super::THRESHOLD;
use crate::clock::now;
use crate::http::failure::Failure;
use crate::http::scoped::Scoped;
use crate::http::wire::recall::reason;
use crate::recall::Recall;

/// Searches now and at the time of the session's last entry, and says of each hit what became of it
/// in the session.
pub(super) fn explain(
    scoped: &Scoped,
    recall: &Recall,
    asked: &api::RecallWhyRequest,
) -> Result<api::RecallWhy, Failure> {
    let limit = asked.limit.unwrap_or(RECALL_WHY_LIMIT_DEFAULT);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let of_session = Query {
        session: Some(asked.session.clone()),
        space: asked.space.clone(),
        ..Query::new(usize::MAX)
    };
    let mut entries = recall.log.list(&of_session);
    // At these moments, the session was to get nothing.
    entries.retain(|entry| !matches!(entry.moment, Moment::Refused { .. }));
    let search = |as_of: Option<Timestamp>| {
        let mut filter = Filter::default();
        filter.space.clone_from(&asked.space);
        let options = SearchOptions::default()
            .with_limit(limit)
            .with_filter(filter)
            .with_min_score(0.0)
            .with_as_of(as_of)
            .with_now(now());
        scoped.search(&asked.query, options)
    };
    let present = search(None)?;
    let seen: BTreeSet<_> = present.hits.iter().map(|hit| hit.memory.id).collect();
    let mut hits: Vec<_> = present.hits.into_iter().map(|hit| found(hit, &entries, None)).collect();
    if let Some(last) = entries.first() {
        let past = search(Some(last.at))?.hits.into_iter();
        let gone = past
            .filter(|past| !seen.contains(&past.memory.id) && scoped.get(past.memory.id).is_err());
        hits.extend(gone.map(|gone| {
            let end = end_of(&gone.memory);
            found(gone, &entries, Some(end))
        }));
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score));
    hits.truncate(limit);
    Ok(api::RecallWhy {
        answerable: present.answerable,
        threshold: THRESHOLD,
        entries: entries.len() as u64,
        hits,
    })
}

/// How a memory that is gone ended: it expired at a time, or it was deleted.
fn end_of(memory: &Memory) -> (api::RecallFate, Option<Timestamp>) {
    match memory.lifespan().expiry().filter(|expiry| *expiry <= now()) {
        Some(at) => (api::RecallFate::Expired, Some(at)),
        None => (api::RecallFate::Deleted, None),
    }
}

fn found(
    hit: Hit,
    entries: &[Entry],
    end: Option<(api::RecallFate, Option<Timestamp>)>,
) -> api::RecallFound {
    let memory = hit.memory;
    // The first version was stored when it was last changed.
    let stored_at = if memory.version == 1 { memory.updated_at } else { memory.created_at };
    let mut found = api::RecallFound {
        id: memory.id.get(),
        title: memory.title,
        score: hit.score,
        fate: api::RecallFate::NotConsidered,
        entry: None,
        reason: None,
        at: None,
    };
    match (fate(found.id, stored_at, entries), end) {
        (Fate::Injected(entry, at), _) => {
            (found.fate, found.entry, found.at) =
                (api::RecallFate::Injected, Some(entry), Some(at));
        }
        (Fate::Withheld(entry, at, why), _) => {
            (found.fate, found.entry, found.at) =
                (api::RecallFate::Withheld, Some(entry), Some(at));
            found.reason = Some(reason(why));
        }
        (_, Some((fate, at))) => (found.fate, found.at) = (fate, at),
        (Fate::Later(at), None) => (found.fate, found.at) = (api::RecallFate::Later, Some(at)),
        (Fate::NotConsidered, None) => {}
    }
    found
}
