//! A memory store inside a program: no HTTP, no service, the real model.

use std::io::Write;
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{Context, Result, ensure};
use waypost_embedding::{Model, fetch};
use waypost_memory::{
    Draft, Embedder, LinkKind, ModelInfo, SearchOptions, Store, StoreOptions, Timestamp,
};
use waypost_project::models_dir;

fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (store, _) = Store::open(folder.path(), StoreOptions::default())?;
    store.set_embedder(Some(embedder()?))?;

    // An acknowledged add is on disk. The program decides when to compute vectors.
    let texts = [
        "We moved the staging database to Postgres 17 on Monday.",
        "The lighthouse keeper retires in spring.",
        "Deployments need two approvals since the outage.",
    ];
    let mut ids = Vec::new();
    for text in texts {
        ids.push(store.add(Draft::new(text), now())?.memory().id);
    }
    while store.embed_pending(32)?.pending > 0 {}

    let found = store.search("who looks after the beacon?", &SearchOptions::default())?;
    for hit in &found.hits {
        writeln!(std::io::stdout(), "{:.3}  {}", hit.score, hit.memory.content)?;
    }
    ensure!(found.hits.first().is_some_and(|it| it.memory.id == ids[1]), "found by meaning");

    // A newer memory that updates an older one outranks it.
    let newer = store.add(Draft::new("Deployments need one approval again."), now())?;
    let newer = newer.memory().id;
    store.link(newer, ids[2], LinkKind::Updates, now())?;
    let found = store.search("approvals for deployments", &SearchOptions::default())?;
    ensure!(found.hits.first().is_some_and(|it| it.memory.id == newer), "the newer ranks first");
    Ok(())
}

/// The default model; downloads it to the user's cache folder if necessary.
fn embedder() -> Result<Embedder> {
    let cache = models_dir(&|name| std::env::var_os(name)).context("no cache folder")?;
    let options = fetch::Options::default();
    let folder = fetch::ensure(fetch::DEFAULT_MODEL, &cache, &options, &mut |_| {})?;
    let model = Model::load(&folder)?;
    let info = ModelInfo {
        name: model.name().to_owned(),
        fingerprint: model.fingerprint().to_owned(),
        dimensions: model.dimensions(),
    };
    let embed =
        Arc::new(move |texts: &[&str]| model.embed(texts).map_err(|error| error.to_string()));
    // This model reads queries as it reads other texts.
    Ok(Embedder { model: info, embed, embed_queries: None })
}

/// The clock is the program's business; the store only takes the time.
fn now() -> Timestamp {
    SystemTime::now().into()
}

#[test]
fn what_it_shows_holds() -> Result<()> {
    main()
}
