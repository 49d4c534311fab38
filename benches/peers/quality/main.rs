//! Runs tantivy and SQLite's FTS5 over the collections that `quality` measures and prints one
//! tab-separated row for each: collection, system, questions, R@5, R@10, R@20, nDCG@10, MRR.
//!
//! `quality-peers DIR`. Every engine gets the same text: the title once, then the content.

#[path = "../../quality/data.rs"]
mod data;
mod engines;
#[path = "../../quality/measure.rs"]
mod measure;

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};

use self::data::{Collection, Document};
use self::engines::{Engine, Fts5, Tantivy};
use self::measure::Measures;

const SETTINGS: [(&str, &str, bool); 4] = [
    ("LoCoMo, per conversation", "locomo-dev", true),
    ("LoCoMo, pooled", "locomo-dev", false),
    ("CISI", "cisi", false),
    ("CACM", "cacm", false),
];

fn main() -> Result<()> {
    let data =
        PathBuf::from(std::env::args_os().nth(1).context("name the folder of the collections")?);
    let mut out = io::stdout().lock();
    for (name, folder, per_conversation) in SETTINGS {
        let path = data.join(folder);
        if !path.is_dir() {
            continue;
        }
        let collection = Collection::read(&path)?;
        let systems: [(&str, fn(&[(usize, String)]) -> Result<Box<dyn Engine>>); 4] = [
            ("tantivy, defaults", |it| Ok(Box::new(Tantivy::new(it, "default")?))),
            ("tantivy, English stemming", |it| Ok(Box::new(Tantivy::new(it, "en_stem")?))),
            ("SQLite FTS5, defaults", |it| Ok(Box::new(Fts5::new(it, "unicode61")?))),
            ("SQLite FTS5, porter", |it| Ok(Box::new(Fts5::new(it, "porter unicode61")?))),
        ];
        for (system, make) in systems {
            let all = measure(&collection, per_conversation, make)?;
            let it = Measures::mean(&all);
            writeln!(
                out,
                "{name}\t{system}\t{}\t{}\t{}\t{}\t{}\t{}",
                all.len(),
                it.recall_5,
                it.recall_10,
                it.recall_20,
                it.ndcg_10,
                it.reciprocal_rank
            )?;
        }
    }
    Ok(())
}

fn measure(
    collection: &Collection,
    per_conversation: bool,
    make: fn(&[(usize, String)]) -> Result<Box<dyn Engine>>,
) -> Result<Vec<Measures>> {
    let group =
        |conversation: &str| if per_conversation { conversation.to_owned() } else { String::new() };
    let mut groups: BTreeMap<String, Vec<(usize, String)>> = BTreeMap::new();
    for (place, document) in collection.documents.iter().enumerate() {
        groups.entry(group(&document.conversation)).or_default().push((place, text(document)));
    }
    let engines: BTreeMap<String, Box<dyn Engine>> = groups
        .iter()
        .map(|(name, documents)| Ok((name.clone(), make(documents)?)))
        .collect::<Result<_>>()?;
    let places = collection.places();
    collection
        .questions
        .iter()
        .map(|question| {
            let engine = &engines[&group(&question.conversation)];
            let ranking = engine.search(&question.text, measure::DEPTH)?;
            let relevant: HashSet<usize> = question
                .relevant
                .iter()
                .filter_map(|id| places.get(id.as_str()).copied())
                .collect();
            Ok(Measures::of(&ranking, &relevant))
        })
        .collect()
}

fn text(document: &Document) -> String {
    if document.content.starts_with(&document.title) {
        document.content.clone()
    } else {
        format!("{}\n{}", document.title, document.content)
    }
}
