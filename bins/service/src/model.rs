//! The embedding model: the state that its loader writes, and status and metrics read.

pub(crate) mod embedding;
pub(crate) mod loader;
pub(crate) mod peer;
pub(crate) mod priority;
pub(crate) mod reranker;

use std::sync::Arc;

use parking_lot::Mutex;
use waypost_api::{ModelState, ModelStatus};

use crate::wake::Wake;

/// The current state of the model.
#[derive(Debug)]
pub(crate) struct EmbeddingModel {
    wake: Arc<Wake>,
    present: Mutex<ModelStatus>,
    remedy: Mutex<Option<String>>,
    /// Why embedding the last failed text failed.
    failure: Mutex<Option<String>>,
}

impl EmbeddingModel {
    pub(crate) fn new(name: &str, state: ModelState, wake: Arc<Wake>) -> Self {
        let model = Self {
            wake,
            present: Mutex::new(ModelStatus {
                name: name.to_owned(),
                dimensions: None,
                state,
                fetched_bytes: None,
                total_bytes: None,
            }),
            remedy: Mutex::new(None),
            failure: Mutex::new(None),
        };
        if state == ModelState::Off {
            *model.remedy.lock() = Some(
                "the model is disabled: search is lexical; set model.name for hybrid search"
                    .to_owned(),
            );
        }
        model
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.present.lock().state == ModelState::Ready
    }

    /// Wakes the embedding thread, if there is a model: there may be texts without a vector.
    pub(crate) fn embed_soon(&self) {
        if self.is_ready() {
            self.wake.embedding();
        }
    }

    pub(crate) fn status(&self) -> ModelStatus {
        self.present.lock().clone()
    }

    /// What to do about lexical-only search, of all memories or of `without_vector` memories; `None` when
    /// search is hybrid.
    pub(crate) fn remedy(&self, without_vector: u64) -> Option<String> {
        let state = self.present.lock().state;
        match state {
            ModelState::Ready if without_vector == 0 => None,
            ModelState::Ready => self.failure.lock().as_ref().map(|error| {
                format!(
                    "some memories may be found by lexical search only, because the embedding model \
                     failed: {error}; `ctl reindex --backfill` gives them to it again"
                )
            }),
            ModelState::Fetching | ModelState::Loading => Some(
                "the embedding model is loading: search is lexical until then".to_owned(),
            ),
            ModelState::Missing | ModelState::Off => self.remedy.lock().clone(),
        }
    }

    pub(crate) fn fetching(&self, done: u64, total: Option<u64>) {
        let mut present = self.present.lock();
        present.state = ModelState::Fetching;
        present.fetched_bytes = Some(done);
        present.total_bytes = total;
    }

    pub(crate) fn loading(&self) {
        self.set(ModelState::Loading, None);
    }

    pub(crate) fn ready(&self, dimensions: usize) {
        self.set(ModelState::Ready, Some(dimensions as u64));
    }

    /// The model of another machine, which embeds queries for this one.
    pub(crate) fn ready_elsewhere(&self, name: &str, dimensions: usize) {
        self.present.lock().name = format!("{name} (of another machine)");
        self.ready(dimensions);
    }

    /// Records that embedding a text failed.
    pub(crate) fn failed(&self, why: &str) {
        *self.failure.lock() = Some(why.to_owned());
    }

    pub(crate) fn missing(&self, remedy: &str) {
        *self.remedy.lock() = Some(remedy.to_owned());
        self.set(ModelState::Missing, None);
    }

    fn set(&self, state: ModelState, dimensions: Option<u64>) {
        let mut present = self.present.lock();
        present.state = state;
        present.dimensions = dimensions;
        present.fetched_bytes = None;
        present.total_bytes = None;
    }
}
