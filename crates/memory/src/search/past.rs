//! What was known at a time: an index of the versions that memories had then, built for one search.
//!
//! The index of the present finds memories by the words that they have now, and has no deleted ones.
//! So a search of the past reads every version that was in force, from the log, and analyses it. That
//! takes time and memory in proportion to the texts of the searched spaces; both have a limit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Searcher;
use super::rerank::Reranking;
use crate::body::Body;
use crate::index::Index;
use crate::index::graph::Graph;
use crate::index::view::{Prepared, View};
use crate::records::Records;
use crate::state::keys::{Head, StoredVersion};
use crate::{
    Error, Filter, Link, MemoryId, Result, SearchMode, SearchOptions, SearchParams, SearchResult,
    Timestamp,
};

impl Searcher {
    /// Searches what was known at a time. The result may have texts of deleted memories and is not
    /// cached: a purge must leave nothing of them.
    pub(super) fn search_past(
        &self,
        query: &str,
        options: &SearchOptions,
        time: Timestamp,
    ) -> Result<SearchResult> {
        if options.mode == SearchMode::Semantic {
            let reason =
                "is semantic, and earlier versions have no vectors; use `lexical` or `hybrid`";
            return Err(Error::invalid("mode", reason));
        }
        // What had expired then was hidden then. Of a time to come, only what is known now is known:
        // until then, the memory may be pinned, or expire later.
        let now = options.filter.now.map(|now| now.min(time));
        let filter = Filter { now, ..options.filter.clone() };
        let options = SearchOptions { filter, ..options.clone() };
        let past = Past::at(time, (&self.records, &self.index), &options.filter, &self.params)?;
        // The past has only the memories of the searched space, and the links between these.
        let filter = Filter { space: None, ..options.filter.clone() };
        let options = SearchOptions { filter, ..options };
        let reranking = Reranking::new(self.reranker.read().clone(), &options);
        let mode = SearchMode::Lexical;
        let found = self.rank(&past.view, query, None, mode, reranking.options());
        let texts = (options.text_bytes_max, reranking.candidates());
        let hits = self.read_hits(found.hits, now, texts, &|id| Ok(past.version(id)))?;
        let (hits, rerank) = reranking.order(query, hits, &found.updates, &self.params);
        let (answerable, forgotten) = (found.answerable, past.forgotten);
        let only_stop_words = self.index.analyzer.has_only_stop_words(query);
        Ok(SearchResult { hits, answerable, mode, rerank, forgotten, only_stop_words })
    }
}

/// The memories of some spaces as they were at a time.
#[derive(Debug, Default)]
struct Past {
    view: View,
    /// The version that each memory had, and when it became the current one.
    versions: BTreeMap<MemoryId, (u32, Timestamp)>,
    /// The number of memories whose text of that time was removed or lost since.
    forgotten: u64,
}

impl Past {
    /// Reads what the memories of the filter's space were at a time. The links are those that still
    /// exist and existed then: links have no history.
    fn at(
        time: Timestamp,
        (records, index): (&Records, &Index),
        filter: &Filter,
        params: &SearchParams,
    ) -> Result<Self> {
        let mut past = Self::default();
        // Which texts are needed is known without reading one: too many are rejected first.
        let mut needed = Vec::new();
        let mut texts = 0;
        records.state.heads(&mut |id, head| {
            let Some((version, stored)) = version_at(records, id, &head, time)? else {
                return Ok(());
            };
            if filter.space.as_ref().is_some_and(|space| *space != stored.space) {
                return Ok(());
            }
            texts += usize::from(stored.sequence.is_some());
            if texts > params.past_memories_max {
                return Err(too_large(params));
            }
            needed.push((id, version, stored));
            Ok(())
        })?;
        let known: BTreeSet<MemoryId> = needed.iter().map(|needed| needed.0).collect();
        let mut bytes = 0;
        for (id, version, stored) in needed {
            let since = stored.valid_from;
            let body = records.whole_body(stored)?;
            bytes += bytes_of(&body);
            if bytes > params.past_bytes_max {
                return Err(too_large(params));
            }
            let document = Arc::new(index.document(&body));
            match Prepared::new(&body, version, 0, document) {
                Some(prepared) => {
                    past.view.refresh(id, Some(prepared));
                    past.versions.insert(id, (version, since));
                }
                None => past.forgotten += 1,
            }
        }
        let existed = |link: &Link| {
            link.created_at <= time && known.contains(&link.from) && known.contains(&link.to)
        };
        let links = index.view.read().graph.all().filter(existed).collect();
        past.view.graph = Graph::of(links);
        Ok(past)
    }

    /// The version that a memory had, and when it became the current one.
    fn version(&self, id: MemoryId) -> Option<(u32, Timestamp)> {
        self.versions.get(&id).copied()
    }
}

fn too_large(params: &SearchParams) -> Error {
    let (memories_max, bytes_max) = (params.past_memories_max, params.past_bytes_max);
    let reason = format!(
        "needs more than {memories_max} memories or {bytes_max} bytes of text of that time; name a \
         `space` with fewer"
    );
    Error::invalid("asOf", reason)
}

/// The version of a memory that was the current one at a time. Where the clock had gone back, several
/// versions or a deletion claim the time: the last of them counts. If the log has lost that version, or
/// may have, the result has no text: nothing says when a lost version began, so it claims all the time
/// between its neighbours.
fn version_at(
    records: &Records,
    id: MemoryId,
    head: &Head,
    time: Timestamp,
) -> Result<Option<(u32, StoredVersion)>> {
    if head.deleted_at.is_some_and(|at| at <= time) {
        return Ok(None);
    }
    // Most memories have not changed since, or have one version.
    if head.updated_at <= time {
        return Ok(records
            .stored_version(id, head.version)?
            .map(|version| (head.version, version)));
    }
    if head.version <= 1 {
        return Ok(None);
    }
    let mut versions = records.stored_versions(id)?;
    let later = versions.iter().rposition(|(_, it)| it.valid_from <= time).map_or(0, |at| at + 1);
    let next = versions.split_off(later).into_iter().next();
    let held = versions.pop();
    let number = held.as_ref().map_or(0, |held| held.0);
    // Numbers are in sequence, so a gap is a lost version.
    let lost =
        next.filter(|(next, it)| *next > number + 1 && (number > 0 || it.created_at <= time));
    Ok(match lost {
        Some((next, it)) => Some((next - 1, StoredVersion { sequence: None, ..it })),
        // The memory was deleted, and restored later.
        None => held.filter(|(_, it)| it.deleted_at.is_none_or(|deleted| time < deleted)),
    })
}

fn bytes_of(body: &Body) -> usize {
    body.text.as_ref().map_or(0, |text| text.title.len() + text.content.len())
}
