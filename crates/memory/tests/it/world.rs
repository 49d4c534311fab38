//! A store in a folder of its own, a small deterministic embedder, and shorthand.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use waypost_memory::{
    Added, Addition, Compaction, Draft, Embedder, Memory, MemoryId, ModelInfo, OpenReport, Scalar,
    Store, StoreOptions, Timestamp,
};

/// Removes the texts of deleted memories.
pub(crate) fn purge() -> Compaction {
    Compaction::default().with_purge(true)
}

pub(crate) const DIMENSIONS: usize = 32;

pub(crate) struct World {
    pub(crate) dir: TempDir,
    store: Option<Store>,
    clock: i64,
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = TempDir::new().expect("a temporary folder");
        let (store, _) = open(dir.path());
        Self { dir, store: Some(store), clock: 1_700_000_000_000 }
    }

    pub(crate) fn with_model() -> Self {
        let world = Self::new();
        world.store().set_embedder(Some(embedder("test-model"))).expect("a valid model");
        world
    }

    pub(crate) fn store(&self) -> &Store {
        self.store.as_ref().expect("the store is open")
    }

    pub(crate) fn now(&mut self) -> Timestamp {
        self.clock += 1_000;
        Timestamp::from_millis(self.clock)
    }

    pub(crate) fn add(&mut self, content: &str) -> MemoryId {
        self.add_draft(Draft::new(content)).id
    }

    pub(crate) fn add_draft(&mut self, draft: impl Into<Addition>) -> Memory {
        let now = self.now();
        match self.store().add(draft, now).expect("a valid draft") {
            Added::New(memory) => memory,
            known => panic!("memory {} already exists", known.memory().id),
        }
    }

    pub(crate) fn close(&mut self) {
        if let Some(store) = self.store.take() {
            store.close().expect("a clean close");
        }
    }

    pub(crate) fn reopen(&mut self) -> OpenReport {
        self.reopen_with(options())
    }

    pub(crate) fn reopen_with(&mut self, options: StoreOptions) -> OpenReport {
        self.close();
        let (store, report) = Store::open(self.dir.path(), options).expect("the store opens");
        self.store = Some(store);
        report
    }

    /// The folder `memory/NAME` of the store.
    pub(crate) fn folder(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join("memory").join(name)
    }

    pub(crate) fn export(&self) -> String {
        let mut out = Vec::new();
        self.store().export(&mut out).expect("an export");
        String::from_utf8(out).expect("an export is UTF-8")
    }

    /// The ids that a search with default options finds, best first.
    pub(crate) fn found(&self, query: &str) -> Vec<MemoryId> {
        let result = self.store().search(query, &waypost_memory::SearchOptions::default());
        result.expect("a valid search").hits.iter().map(|hit| hit.memory.id).collect()
    }

    pub(crate) fn embed_all(&self) -> u64 {
        let mut embedded = 0;
        loop {
            let step = self.store().embed_pending(16).expect("a model that works");
            embedded += step.embedded;
            if step.pending == 0 || step.embedded + step.failed + step.skipped == 0 {
                return embedded;
            }
        }
    }
}

pub(crate) fn options() -> StoreOptions {
    StoreOptions::default().with_free_bytes_min(0)
}

pub(crate) fn open(dir: &Path) -> (Store, OpenReport) {
    Store::open(dir, options()).expect("the store opens")
}

pub(crate) fn id(number: u64) -> MemoryId {
    MemoryId::new(number).expect("a valid id")
}

/// A metadata value that is a float.
pub(crate) fn float(number: f64) -> Scalar {
    Scalar::Number(serde_json::Number::from_f64(number).expect("a finite number"))
}

pub(crate) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// Words that mean the same to the test model.
const SYNONYMS: &[(&str, &str)] =
    &[("kitten", "cat"), ("automobile", "car"), ("doctor", "physician")];

/// Sums one fixed direction for each word.
pub(crate) fn embed(text: &str) -> Vec<f32> {
    let synonyms: BTreeMap<&str, &str> = SYNONYMS.iter().copied().collect();
    let mut vector = vec![0.01; DIMENSIONS];
    for word in
        text.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty())
    {
        let word = synonyms.get(word).copied().unwrap_or(word);
        let mut state = word.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        for value in &mut vector {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *value += ((state >> 33) as f32 / (1_u64 << 31) as f32) - 0.5;
        }
    }
    vector
}

pub(crate) fn embedder(fingerprint: &str) -> Embedder {
    Embedder {
        model: ModelInfo {
            name: "test".to_owned(),
            fingerprint: fingerprint.to_owned(),
            dimensions: DIMENSIONS,
        },
        embed: Arc::new(|texts: &[&str]| Ok(texts.iter().map(|text| embed(text)).collect())),
        embed_queries: None,
    }
}
