//! Hybrid search through a store: words, meaning, what stands beside, and the contents of ten hits.

use std::sync::Arc;

use anyhow::{Result, ensure};
use waypost_memory::{
    Draft, Embedder, ModelInfo, SearchMode, SearchOptions, Store, StoreOptions, Timestamp,
};

use crate::Options;
use crate::corpus::{self, KINDS, Zipf};
use crate::rig::{Random, Report, Samples, count, duration, progress, time, wall_seconds};

const QUESTIONS: usize = 200;
const DIMENSIONS: usize = 384;
/// Directions that texts have in common, so that a vector has neighbours.
const TOPICS: usize = 4096;
/// How far a text is from its topic, which has a length of about 1.
const NOISE: f32 = 0.8;
const BATCH: usize = 1000;
const MADE_AT: i64 = 1_800_000_000_000;
/// Upkeep is done in steps, one each few seconds; so many bring it to its end.
const UPKEEP_STEPS: usize = 32;

pub fn run(options: &Options, report: &mut Report) -> Result<()> {
    report.table(
        "Hybrid search with the vector given",
        "Made-up memories of 30 to 60 words (about 300 bytes) with vectors of 384 dimensions: one of \
         4,096 random directions, by the text's first word, plus noise. A question has words of a \
         memory; its vector is one of that memory's topic and is not computed within the time. \
         Processor time of one thread, from the call to the contents of the ten hits.",
    );
    let sizes: &[(usize, f64)] = if options.small {
        &[(600, 0.17e-3), (100_000, 3e-3)]
    } else {
        &[(600, 0.17e-3), (100_000, 3e-3), (1_000_000, 25e-3)]
    };
    let mut remarks = Vec::new();
    for (memories, reach) in sizes {
        remarks.push(measure(*memories, *reach, report)?);
    }
    report.close(&format!(
        "Beside it at 600, in another run: Qdrant Edge 0.17 to 0.33 ms, Chroma 1.34 ms, LanceDB 12.8 ms. {}",
        remarks.join(" ")
    ));
    Ok(())
}

fn measure(memories: usize, reach: f64, report: &mut Report) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let (store, _) = Store::open(folder.path(), StoreOptions::default())?;
    store.set_embedder(Some(embedder()))?;
    let zipf = Zipf::new();
    let mut random = Random(42);
    let mut asked = Vec::new();
    let from = wall_seconds();
    let mut done = 0;
    while done < memories {
        let mut drafts = Vec::with_capacity(BATCH);
        for at in done..memories.min(done + BATCH) {
            let ranks = zipf.document(&mut random);
            drafts.push(Draft::new(corpus::text(&ranks)));
            if at % (memories / QUESTIONS) == 0 && asked.len() < QUESTIONS {
                asked.push(ranks);
            }
        }
        done += drafts.len();
        for added in store.add_batch(drafts, Timestamp::from_millis(MADE_AT)) {
            added?;
        }
        while store.embed_pending(BATCH)?.pending > 0 {}
        // As a service does it every few seconds.
        if done % 5_000 == 0 {
            store.maintain()?;
        }
        if done % 100_000 == 0 {
            progress(format_args!("{} memories", count(done as f64)));
        }
    }
    for _ in 0..UPKEEP_STEPS {
        store.maintain()?;
    }
    let took = wall_seconds() - from;

    // The vectors of the last questions are remembered, and so are their answers, which are not to be
    // measured here: the one that is measured asks for the same in other words.
    let (before, options) =
        (SearchOptions::default(), SearchOptions::default().with_min_score(0.0));
    for (kind, name) in KINDS.iter().enumerate() {
        let mut samples = Samples::default();
        for document in &asked {
            let question = corpus::question(kind, document);
            if question.is_empty() {
                continue;
            }
            let found = store.search(&question, &before)?;
            ensure!(found.mode == SearchMode::Hybrid, "the search was not hybrid");
            samples.add(time(|| store.search(&question, &options)));
        }
        let (p50, p99) = (samples.p50(), samples.p99());
        report.row(
            &format!("{} memories, {name}", count(memories as f64)),
            &format!("p50 ≤ {}, p99 ≤ 4 × p50", duration(reach)),
            &samples.to_string(),
            "",
            None,
            p50 <= reach && p99 <= 4.0 * p50,
        );
    }
    Ok(format!(
        "Adding and embedding {} memories took {} of wall time.",
        count(memories as f64),
        duration(took)
    ))
}

/// A model that costs next to nothing.
fn embedder() -> Embedder {
    let mut random = Random(7);
    // Cosines of random directions are about 0 ± 0.05.
    let scale = (3.0 / DIMENSIONS as f32).sqrt();
    let mut component = move || (random.unit() as f32 * 2.0 - 1.0) * scale;
    let topics: Vec<f32> = (0..TOPICS * DIMENSIONS).map(|_| component()).collect();
    let embed = move |text: &&str| {
        let first = text.split(' ').next().unwrap_or_default();
        let topic = (hash(first) % TOPICS as u64) as usize;
        let mut noise = Random(hash(text));
        topics[topic * DIMENSIONS..][..DIMENSIONS]
            .iter()
            .map(|it| it + NOISE * (noise.unit() as f32 * 2.0 - 1.0) * scale)
            .collect::<Vec<f32>>()
    };
    Embedder {
        model: ModelInfo {
            name: "made-up".to_owned(),
            fingerprint: "made-up".to_owned(),
            dimensions: DIMENSIONS,
        },
        embed: Arc::new(move |texts| Ok(texts.iter().map(&embed).collect())),
        embed_queries: None,
    }
}

/// FNV-1a (Fowler, Noll, Vo), 64 bits.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}
