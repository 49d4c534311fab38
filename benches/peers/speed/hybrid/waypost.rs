//! Waypost's store.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, ensure};
use tempfile::TempDir;
use waypost_memory::{
    Draft, Embedder, ModelInfo, SearchMode, SearchOptions, Store, StoreOptions, Timestamp,
};

use super::generated::{Corpus, DIMENSIONS, Question};
use super::{HITS, System};

const MADE_AT: i64 = 1_800_000_000_000;
/// Upkeep is done in steps, one each few seconds; so many bring it to its end.
const UPKEEP_STEPS: usize = 32;
/// Memories between two steps of upkeep while memories are added.
const UPKEEP_EACH: usize = 5000;

/// The vectors of questions, by their text.
type Given = Arc<Mutex<HashMap<String, Vec<f32>>>>;

pub struct Waypost {
    store: Store,
    given: Given,
    added: usize,
    searches: Cell<u32>,
    _folder: TempDir,
}

impl Waypost {
    pub fn new(corpus: &Arc<Corpus>) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let (store, _) = Store::open(folder.path(), StoreOptions::default())?;
        let given = Given::default();
        store.set_embedder(Some(embedder(corpus, &given)))?;
        Ok(Self { store, given, added: 0, searches: Cell::new(0), _folder: folder })
    }
}

impl System for Waypost {
    fn name(&self) -> &'static str {
        "Waypost"
    }

    fn add(&mut self, texts: &[String], _vectors: &[Vec<f32>]) -> Result<()> {
        let drafts = texts.iter().map(|text| Draft::new(text.clone())).collect();
        for added in self.store.add_batch(drafts, Timestamp::from_millis(MADE_AT)) {
            added?;
        }
        while self.store.embed_pending(texts.len())?.pending > 0 {}
        // As a service does it every few seconds.
        self.added += texts.len();
        if self.added.is_multiple_of(UPKEEP_EACH) {
            self.store.maintain()?;
        }
        Ok(())
    }

    fn finish(&mut self, questions: &[Question]) -> Result<()> {
        for _ in 0..UPKEEP_STEPS {
            self.store.maintain()?;
        }
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        given.extend(questions.iter().map(|question| (question.text.clone(), question.vector.clone())));
        Ok(())
    }

    fn search(&self, question: &Question) -> Result<Vec<String>> {
        self.searches.set(self.searches.get() + 1);
        // Results are remembered for equal options; no score is as low as these.
        let least = f64::from(self.searches.get()) * 1e-12;
        let options = SearchOptions::default().with_limit(HITS).with_min_score(least);
        let found = self.store.search(&question.text, &options)?;
        ensure!(found.mode == SearchMode::Hybrid, "the search was not hybrid");
        Ok(found.hits.into_iter().map(|hit| hit.memory.content).collect())
    }
}

/// A model whose vectors are those of the corpus and the questions.
fn embedder(corpus: &Arc<Corpus>, given: &Given) -> Embedder {
    let (corpus, given) = (Arc::clone(corpus), Arc::clone(given));
    let embed = move |texts: &[&str]| Ok(texts.iter().map(|text| corpus.vector(text)).collect());
    let embed_queries = move |texts: &[&str]| {
        let given = given.lock().unwrap_or_else(PoisonError::into_inner);
        let vector = |text: &&str| given.get(*text).cloned();
        texts.iter().map(vector).collect::<Option<_>>().ok_or_else(|| "not asked".to_owned())
    };
    Embedder {
        model: ModelInfo {
            name: "generated".to_owned(),
            fingerprint: "generated".to_owned(),
            dimensions: DIMENSIONS,
        },
        embed: Arc::new(embed),
        embed_queries: Some(Arc::new(embed_queries)),
    }
}
