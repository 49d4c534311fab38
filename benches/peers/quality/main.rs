//! Runs tantivy and SQLite's FTS5 over the collections that `quality` measures and prints one JSON
//! object a line for each: `collection`, `system`, and `rankings`, the places of the best documents
//! for each question.
//!
//! `quality-peers DIR`. Every engine gets the same text: the title once, then the content.

#[path = "../../quality/data.rs"]
mod data;
mod engines;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::json;

use self::data::{Collection, Document};
use self::engines::{Engine, Fts5, Tantivy};

/// How many documents a ranking has.
const DEPTH: usize = 20;

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
            let rankings = rankings(&collection, per_conversation, make)?;
            let found = json!({"collection": name, "system": system, "rankings": rankings});
            writeln!(out, "{found}")?;
        }
    }
    Ok(())
}

fn rankings(
    collection: &Collection,
    per_conversation: bool,
    make: fn(&[(usize, String)]) -> Result<Box<dyn Engine>>,
) -> Result<Vec<Vec<usize>>> {
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
    collection
        .questions
        .iter()
        .map(|question| engines[&group(&question.conversation)].search(&question.text, DEPTH))
        .collect()
}

fn text(document: &Document) -> String {
    if document.content.starts_with(&document.title) {
        document.content.clone()
    } else {
        format!("{}\n{}", document.title, document.content)
    }
}
