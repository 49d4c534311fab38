//! Statistics of the store.

use std::collections::BTreeMap;

use waypost_projection::files::dir_bytes;

use crate::codec::Reader;
use crate::state::{damaged, keys};
use crate::store::Store;
use crate::{Result, Status};

impl Store {
    /// Health and statistics of the whole store.
    pub fn status(&self) -> Result<Status> {
        self.status_of(None, true)
    }

    /// The same without [`Status::storage_bytes`], which needs a walk over folders.
    pub fn counts(&self) -> Result<Status> {
        self.status_of(None, false)
    }

    /// Health and statistics for a reader of one space: memories, links and the index are those of
    /// that space; `storage_bytes` and `last_reindex_at` are those of the whole store.
    pub fn status_in(&self, space: &str) -> Result<Status> {
        self.status_of(Some(space), true)
    }

    /// The same without [`Status::storage_bytes`].
    pub fn counts_in(&self, space: &str) -> Result<Status> {
        self.status_of(Some(space), false)
    }

    fn status_of(&self, only: Option<&str>, measures: bool) -> Result<Status> {
        let last_reindex_at = match self.records.state.get(keys::LAST_REINDEX)? {
            Some(bytes) => Some(Reader::new(&bytes).time().map_err(damaged)?),
            None => None,
        };
        let model = self.embedding.model().map(|model| model.embedder.model.clone());
        let is_whole = self.index.backlog.is_complete();
        let lacking =
            if is_whole { None } else { Some(self.records.state.live_ids()?.len() as u64) };
        let view = self.index.view.read();
        let mut status = Status {
            links: only.map_or_else(|| view.graph.len(), |only| view.links_within(only)),
            storage_bytes: if measures { dir_bytes(&self.folders.memory) } else { 0 },
            last_reindex_at,
            write_fault: self.write_fault(),
            ..Status::default()
        };
        let mut kinds: BTreeMap<u32, u64> = BTreeMap::new();
        let spaces = view.spaces.iter().filter(|(name, space)| {
            !space.slots.is_empty() && only.is_none_or(|only| only == name.as_str())
        });
        for (name, space) in spaces {
            status.memories += space.slots.len() as u64;
            status.by_space.insert(name.clone(), space.slots.len() as u64);
            for (kind, count) in &space.kinds {
                *kinds.entry(*kind).or_insert(0) += count;
            }
            status.embedded += space.embedded;
            let stats = space.text.stats();
            status.index.terms += stats.terms;
            status.index.bytes += stats.bytes + space.similar.bytes();
            status.index.bytes += space.vectors.as_ref().map_or(0, |vector| vector.bytes());
        }
        let named =
            kinds.into_iter().map(|(kind, count)| (view.names.name(kind).to_owned(), count));
        status.by_kind = named.collect();
        status.index.documents = status.memories;
        if only.is_none() {
            status.memories = lacking.unwrap_or(status.memories).max(status.memories);
            status.index.lacking = status.memories - status.index.documents;
        }
        status.pending_embeddings = match only {
            None => view.pending.len() as u64,
            Some(_) => view.pending.iter().filter(|id| view.is_in(*id, only)).count() as u64,
        };
        if model.is_none() {
            status.embedded = 0;
        }
        status.model = model;
        Ok(status)
    }
}
