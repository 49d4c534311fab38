//! Fills a store through the crates.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{Context as _, Result};
use waypost_embedding::fetch::DEFAULT_MODEL;
use waypost_events::{BATCH_DRAFTS_MAX, Bus, Data, Draft, EventType};
use waypost_memory::{Embedder, ModelInfo, Store, StoreOptions, Timestamp};

/// Memories that are added, or get their vectors, at once.
const AT_ONCE: usize = 1_000;
/// Words that memories consist of.
const WORDS: [&str; 48] = [
    "service", "port", "release", "branch", "database", "backup", "token", "login", "cache",
    "index", "memory", "deploy", "review", "worker", "queue", "schema", "staging", "metric",
    "alert", "budget", "invoice", "search", "vector", "thread", "socket", "window", "driver",
    "kernel", "mirror", "packet", "parser", "policy", "region", "report", "router", "script",
    "server", "signal", "stream", "syntax", "system", "target", "ticket", "update", "upload",
    "volume", "widget", "writer",
];

/// The embedding model in the user's cache, if it is there. Its vectors would take a quarter of an
/// hour for 100,000 texts, so that the store gets directions at random for them: the time of a
/// search does not depend on their meaning.
fn embedder() -> Option<Embedder> {
    let cache = waypost_project::models_dir(&|name| std::env::var_os(name))?;
    let model = waypost_embedding::Model::load(&cache.join(DEFAULT_MODEL)).ok()?;
    let dimensions = model.dimensions();
    let info = ModelInfo {
        name: model.name().to_owned(),
        fingerprint: model.fingerprint().to_owned(),
        dimensions,
    };
    let embed = move |texts: &[&str]| {
        let vector = |text: &&str| {
            let mut random = Random(
                text.bytes()
                    .fold(1, |sum, it| u64::wrapping_add(sum.wrapping_mul(31), u64::from(it))),
            );
            (0..dimensions).map(|_| random.below(2_001) as f32 / 1_000.0 - 1.0).collect()
        };
        Ok(texts.iter().map(vector).collect())
    };
    Some(Embedder { model: info, embed: Arc::new(embed), embed_queries: None })
}

/// A generator by Marsaglia (Xorshift RNGs, 2003).
#[derive(Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below this one.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }

    /// Words that memories have, frequent ones more often.
    pub(crate) fn words(&mut self, count: usize) -> String {
        let word = |_| {
            let rank = self.below(WORDS.len()).min(self.below(WORDS.len()));
            // Most words of real texts are rare.
            let rare = self.below(3) > 0;
            if rare {
                format!("{}{}", WORDS[rank], self.below(2_000))
            } else {
                WORDS[rank].to_owned()
            }
        };
        (0..count).map(word).collect::<Vec<_>>().join(" ")
    }
}

/// Fills the store of a project; returns the model that searches need, or `none`.
pub(crate) fn fill(project: &Path, memories: usize, events: usize) -> Result<&'static str> {
    // Retention would drop what is much older.
    let now = Timestamp::from(SystemTime::now());
    let data = project.join(".waypost/data");
    std::fs::create_dir_all(&data)?;
    let embedder = embedder();
    let model = if embedder.is_some() { DEFAULT_MODEL } else { "none" };
    let (store, _) = Store::open(&data, StoreOptions::default())?;
    store.set_embedder(embedder)?;
    let mut random = Random(88_172_645_463_325_252);
    let stored = store.status()?.memories as usize;
    for from in (stored..memories).step_by(AT_ONCE) {
        let drafts = (from..(from + AT_ONCE).min(memories))
            .map(|_| waypost_memory::Draft::new(random.words(60)));
        for added in store.add_batch(drafts, now) {
            added?;
        }
        store.maintain()?;
    }
    while model != "none" && store.embed_pending(AT_ONCE)?.pending > 0 {}
    store.maintain()?;
    store.close()?;

    let (bus, _) = Bus::open(&data.join("events"), &waypost_events::Options::default())?;
    let kind: EventType = "build:done".parse().context("a type")?;
    for from in (bus.last() as usize..events).step_by(BATCH_DRAFTS_MAX) {
        let drafts = (from..(from + BATCH_DRAFTS_MAX).min(events)).map(|number| {
            let text = format!(r#"{{"number":{number},"branch":"main","result":"passed"}}"#);
            let data: Data = serde_json::from_str(&text)?;
            Ok(Draft::new(kind.clone(), data, "bench"))
        });
        for published in bus.publish_batch(drafts.collect::<Result<_>>()?, now)? {
            published.map_err(|refused| anyhow::anyhow!("{refused:?}"))?;
        }
    }
    Ok(model)
}
