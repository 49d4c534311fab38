//! Fills a store through the crate, with vectors that a model's fingerprint stands on.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use waypost_memory::{Draft, Embedder, ModelInfo, Patch, Store, StoreOptions, Timestamp};

use crate::corpus::{self, Zipf};
use crate::rig::Random;

/// Bytes of a memory's content.
pub const CONTENT_BYTES: usize = 500;
/// Memories added at once.
const BATCH: usize = 1_000;
/// Memories that are given vectors at once.
const VECTORS_AT_ONCE: usize = 1_024;

/// When everything was added.
const NOW: i64 = 1_760_000_000_000;

/// The content of a memory: version 0 is the one that it is added with.
pub fn content(zipf: &Zipf, id: usize, version: usize) -> String {
    let mut random = Random((id * 64 + version) as u64);
    let mut text = String::with_capacity(CONTENT_BYTES + 64);
    while text.len() < CONTENT_BYTES {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&corpus::text(&zipf.document(&mut random)));
    }
    text.truncate(CONTENT_BYTES);
    text
}

/// Memories as a batch over HTTP takes them.
pub fn lines(zipf: &Zipf, ids: Range<usize>) -> String {
    ids.map(|id| format!("{{\"content\":\"{}\"}}\n", content(zipf, id, 0))).collect()
}

/// The folder where the service of a project keeps its data.
pub fn data(project: &Path) -> PathBuf {
    project.join(".waypost/data")
}

/// Opens the store of a project for this program alone.
pub fn open(project: &Path) -> Result<Store> {
    let data = data(project);
    std::fs::create_dir_all(&data)?;
    let (store, _) = Store::open(&data, StoreOptions::default()).context("the store")?;
    Ok(store)
}

/// Adds memories on all cores, then gives each a vector.
pub fn fill(store: &Store, count: usize, model: &ModelInfo) -> Result<()> {
    let zipf = Zipf::new();
    let now = Timestamp::from_millis(NOW);
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let adders: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| -> Result<()> {
                    loop {
                        let from = next.fetch_add(BATCH, Ordering::Relaxed);
                        if from >= count {
                            return Ok(());
                        }
                        let ids = from..(from + BATCH).min(count);
                        let drafts = ids.map(|id| Draft::new(content(&zipf, id, 0))).collect();
                        for added in store.add_batch(drafts, now) {
                            added?;
                        }
                        store.maintain()?;
                    }
                })
            })
            .collect();
        adders.into_iter().try_for_each(|adder| adder.join().expect("no panic"))
    })?;
    embed(store, model)
}

/// Gives every memory that lacks one a vector.
pub fn embed(store: &Store, model: &ModelInfo) -> Result<()> {
    let dimensions = model.dimensions;
    let embed = move |texts: &[&str]| {
        Ok(texts.iter().map(|text| vector(text, dimensions)).collect::<Vec<_>>())
    };
    let (model, embed) = (model.clone(), Arc::new(embed));
    store.set_embedder(Some(Embedder { model, embed, embed_queries: None }))?;
    while store.embed_pending(VECTORS_AT_ONCE)?.pending > 0 {}
    store.maintain()?;
    Ok(())
}

/// Changes every memory so many times.
pub fn overwrite(store: &Store, count: usize, times: usize) -> Result<()> {
    let zipf = Zipf::new();
    let now = Timestamp::from_millis(NOW);
    // So many waiting writers share one sync.
    let threads = 128;
    for version in 1..=times {
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..threads)
                .map(|_| {
                    scope.spawn(|| -> Result<()> {
                        loop {
                            let id = next.fetch_add(1, Ordering::Relaxed);
                            if id >= count {
                                return Ok(());
                            }
                            let patch = Patch::default().with_content(content(&zipf, id, version));
                            let id =
                                waypost_memory::MemoryId::new(id as u64 + 1).context("an id")?;
                            store.update(id, patch, now)?;
                        }
                    })
                })
                .collect();
            writers.into_iter().try_for_each(|writer| writer.join().expect("no panic"))
        })?;
        store.maintain()?;
    }
    Ok(())
}

/// A direction for a text, the same each time: what matters here is its size, not its meaning.
fn vector(text: &str, dimensions: usize) -> Vec<f32> {
    let seed = text.bytes().fold(0, |sum: u64, byte| sum.wrapping_mul(31) + u64::from(byte));
    let mut random = Random(seed);
    (0..dimensions).map(|_| random.unit() as f32 - 0.5).collect()
}
