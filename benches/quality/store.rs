//! Asks a real store, filled with a collection, all of its questions.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use waypost_memory::{
    Draft, Embedder, Filter, MemoryId, SearchMode, SearchOptions, SearchParams, Store,
    StoreOptions, Timestamp,
};

use crate::data::{Collection, Document};
use crate::measure::DEPTH;

/// How a collection goes into a store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    /// Each conversation is a space of its own; otherwise all is one space.
    pub(crate) space_per_conversation: bool,
    /// Memories name their session, so that they are neighbours.
    pub(crate) sessions: bool,
}

/// A store that holds a collection, in a folder that goes away with it.
pub(crate) struct Filled<'a> {
    collection: &'a Collection,
    layout: Layout,
    store: Store,
    places: HashMap<MemoryId, Vec<usize>>,
    folder: tempfile::TempDir,
}

impl<'a> Filled<'a> {
    /// Adds the whole collection to a new store and embeds it.
    pub(crate) fn new(
        collection: &'a Collection,
        layout: Layout,
        embedder: Embedder,
    ) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let (store, _) = Store::open(folder.path(), StoreOptions::default())?;
        store.set_embedder(Some(embedder))?;
        let mut places: HashMap<MemoryId, Vec<usize>> = HashMap::new();
        let now = Timestamp::from_millis(1_767_225_600_000);
        for (first, chunk) in collection.documents.chunks(256).enumerate() {
            let drafts = chunk.iter().map(|chunk| draft(chunk, layout));
            for (at, added) in store.add_batch(drafts, now).into_iter().enumerate() {
                let memory = added?.into_memory();
                places.entry(memory.id).or_default().push(first * 256 + at);
            }
        }
        loop {
            let progress = store.embed_pending(256)?;
            ensure!(progress.failed == 0, "the model refused {} texts", progress.failed);
            if progress.pending == 0 {
                break;
            }
        }
        Ok(Self { collection, layout, store, places, folder })
    }

    /// The same store with other weights.
    pub(crate) fn with_params(self, search: SearchParams, embedder: Embedder) -> Result<Self> {
        let Self { collection, layout, store, places, folder } = self;
        drop(store);
        let (store, _) = Store::open(folder.path(), StoreOptions::default().with_search(search))?;
        store.set_embedder(Some(embedder))?;
        Ok(Self { collection, layout, store, places, folder })
    }

    /// The store.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// The folder of the store.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The memories that the documents with these ids became.
    pub(crate) fn ids(&self, documents: &[String]) -> HashSet<MemoryId> {
        let places = self.collection.places();
        let places: HashSet<usize> = documents
            .iter()
            .filter_map(|document| places.get(document.as_str()).copied())
            .collect();
        let those = self.places.iter().filter(|(_, it)| it.iter().any(|it| places.contains(it)));
        those.map(|(id, _)| *id).collect()
    }

    /// Every question's ranking, as places of documents. A document that is in the collection
    /// twice is one memory and stands for both.
    pub(crate) fn rankings(&self, mode: SearchMode) -> Result<Vec<Vec<usize>>> {
        self.collection
            .questions
            .iter()
            .map(|question| {
                let space = self.layout.space_per_conversation;
                let space = space.then(|| question.conversation.clone());
                let filter = Filter { space, ..Filter::default() };
                let options =
                    SearchOptions::default().with_limit(DEPTH).with_filter(filter).with_mode(mode);
                let options = match self.collection.ended(&question.conversation) {
                    Some(now) => options.with_now(now),
                    None => options,
                };
                let found = self
                    .store
                    .search(&question.text, &options)
                    .with_context(|| format!("the query {:?}", question.text))?;
                ensure!(found.mode == mode, "searched {:?} instead of {mode:?}", found.mode);
                Ok(found.hits.iter().flat_map(|hit| self.places[&hit.memory.id].clone()).collect())
            })
            .collect()
    }
}

fn draft(document: &Document, layout: Layout) -> Draft {
    let mut draft =
        Draft::new(document.content.clone()).with_title(document.title.clone()).with_kind("turn");
    draft.space = layout.space_per_conversation.then(|| document.conversation.clone());
    draft.session = if layout.sessions { document.session_name() } else { None };
    draft.created_at = document.time();
    draft
}
