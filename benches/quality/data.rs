//! Reads a test collection: `corpus.jsonl` and `queries.jsonl` in one folder.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A document of a collection.
#[derive(Debug, Clone, Deserialize)]
pub struct Document {
    pub id: String,
    pub title: String,
    pub content: String,
    pub conversation: String,
    #[serde(default)]
    pub session: Option<u32>,
    #[serde(default)]
    pub timestamp: Option<String>,
}

impl Document {
    /// The conversation and the number of the session in it.
    pub fn session_name(&self) -> Option<String> {
        self.session.map(|number| format!("{}/{number}", self.conversation))
    }
}

/// A question and the documents that answer it.
#[derive(Debug, Clone, Deserialize)]
pub struct Question {
    pub question: String,
    pub category: u32,
    pub conversation: String,
    pub relevant: Vec<String>,
}

/// A test collection.
#[derive(Debug)]
pub struct Collection {
    pub documents: Vec<Document>,
    pub questions: Vec<Question>,
}

impl Collection {
    /// Reads the collection in `folder`.
    pub fn read(folder: &Path) -> Result<Self> {
        Ok(Self {
            documents: lines(&folder.join("corpus.jsonl"))?,
            questions: lines(&folder.join("queries.jsonl"))?,
        })
    }

    /// The documents' places by their ids.
    pub fn places(&self) -> HashMap<&str, usize> {
        self.documents.iter().enumerate().map(|(place, it)| (it.id.as_str(), place)).collect()
    }
}

fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut found = Vec::new();
    for (number, line) in BufReader::new(file).lines().enumerate() {
        let line = line?;
        if !line.trim().is_empty() {
            let parsed = serde_json::from_str(&line)
                .with_context(|| format!("{}, line {}", path.display(), number + 1))?;
            found.push(parsed);
        }
    }
    Ok(found)
}
