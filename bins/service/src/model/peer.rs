//! The model of another machine of the cluster, for a machine without one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use waypost_memory::{Embedder, ModelInfo, Store};

use super::EmbeddingModel;
use crate::cluster::vectors::{PeerAnswer, SharedVectors};
use crate::error::chain;
use crate::wake::Wake;

/// How often the machines are asked which model they have, until one answers and after that.
const ASK_EVERY: Duration = Duration::from_secs(5);
const ASK_AGAIN_EVERY: Duration = Duration::from_secs(60);
/// How long a search waits for the vector of its query.
const ANSWER: Duration = Duration::from_secs(1);
/// Searches are lexical for this long after a query got no answer.
const SILENCE: Duration = Duration::from_secs(5);
/// A text to which any model has a vector.
const PROBE: &str = "waypost";

/// What the thread needs.
#[derive(Debug)]
pub(crate) struct PeerModel {
    pub(crate) shared: SharedVectors,
    pub(crate) model: Arc<EmbeddingModel>,
    pub(crate) store: Arc<Store>,
    pub(crate) wake: Arc<Wake>,
}

impl PeerModel {
    /// Uses the model that other machines have, until the service stops.
    pub(crate) fn run(&self) {
        let mut used: Option<String> = None;
        loop {
            match self.shared.ask(None, PROBE, ANSWER) {
                Ok(Some(answer)) if used.as_ref() != Some(&answer.fingerprint) => {
                    used = self.adopt(answer).or(used);
                }
                Ok(None) if used.is_none() => self.model.missing(
                    "search is lexical, because no machine of the cluster that has an embedding model answers",
                ),
                Ok(_) => {}
                Err(error) => tracing::debug!(error, "failed to ask for the cluster's model"),
            }
            let pause = if used.is_some() { ASK_AGAIN_EVERY } else { ASK_EVERY };
            if !self.wake.rest(pause) {
                return;
            }
        }
    }

    /// Searches by the vectors of that model, and returns its fingerprint.
    fn adopt(&self, answer: PeerAnswer) -> Option<String> {
        let PeerAnswer { name, fingerprint, vector } = answer;
        let dimensions = vector.len();
        let info = ModelInfo { name: name.clone(), fingerprint: fingerprint.clone(), dimensions };
        let (shared, model) = (self.shared.clone(), fingerprint.clone());
        let embed = Arc::new(move |texts: &[&str]| Ok(shared.get(&model, dimensions, texts)));
        let (shared, model) = (self.shared.clone(), fingerprint.clone());
        let silent_since: Mutex<Option<Instant>> = Mutex::default();
        let embed_queries = Arc::new(move |texts: &[&str]| {
            if silent_since.lock().is_some_and(|since| since.elapsed() < SILENCE) {
                return Err("no machine of the cluster embeds queries".to_owned());
            }
            let ask = |text: &&str| match shared.ask(Some(&model), text, ANSWER) {
                Ok(Some(answer)) => Ok(answer.vector),
                Ok(None) => Err("no machine of the cluster embedded the query in time".to_owned()),
                Err(error) => Err(error),
            };
            let vectors: Result<Vec<Vec<f32>>, String> = texts.iter().map(ask).collect();
            *silent_since.lock() = vectors.is_err().then(Instant::now);
            vectors
        });
        let embedder = Embedder { model: info, embed, embed_queries: Some(embed_queries) };
        if let Err(error) = self.store.set_embedder(Some(embedder)) {
            tracing::warn!(error = chain(&error), "the cluster's model cannot be used");
            return None;
        }
        self.model.ready_elsewhere(&name, dimensions);
        tracing::info!(
            model = name,
            dimensions,
            "other machines embed for this one: search is hybrid"
        );
        self.wake.embedding();
        Some(fingerprint)
    }
}
