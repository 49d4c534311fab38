//! Reads a test collection: `corpus.jsonl` and `queries.jsonl` in one folder.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use waypost_memory::Timestamp;

/// A document of a collection.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Document {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) content: String,
    pub(crate) conversation: String,
    #[serde(default)]
    pub(crate) session: Option<u32>,
    #[serde(default)]
    pub(crate) timestamp: Option<String>,
}

impl Document {
    /// When it was written.
    pub(crate) fn time(&self) -> Option<Timestamp> {
        let time = self.timestamp.as_deref()?;
        time.parse().or_else(|_| format!("{time}Z").parse()).ok()
    }

    /// The conversation and the number of the session in it.
    pub(crate) fn session_name(&self) -> Option<String> {
        self.session.map(|number| format!("{}/{number}", self.conversation))
    }
}

/// A question and the documents that answer it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Question {
    #[serde(rename = "question")]
    pub(crate) text: String,
    pub(crate) category: u32,
    pub(crate) conversation: String,
    pub(crate) relevant: Vec<String>,
}

/// A test collection.
#[derive(Debug)]
pub(crate) struct Collection {
    pub(crate) documents: Vec<Document>,
    pub(crate) questions: Vec<Question>,
}

impl Collection {
    /// Reads the collection in `folder`.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        Ok(Self {
            documents: lines(&folder.join("corpus.jsonl"))?,
            questions: lines(&folder.join("queries.jsonl"))?,
        })
    }

    /// The same, one collection for each conversation.
    pub(crate) fn by_conversation(&self) -> Vec<Self> {
        let mut names: Vec<&str> =
            self.questions.iter().map(|question| question.conversation.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let part = |name: &&str| Self {
            documents: self
                .documents
                .iter()
                .filter(|document| document.conversation == *name)
                .cloned()
                .collect(),
            questions: self
                .questions
                .iter()
                .filter(|question| question.conversation == *name)
                .cloned()
                .collect(),
        };
        names.iter().map(part).collect()
    }

    /// The first words of the documents' titles, which name who speaks.
    pub(crate) fn speakers(&self) -> HashSet<&str> {
        self.documents
            .iter()
            .filter_map(|document| document.title.split_whitespace().next())
            .collect()
    }

    /// When a conversation ended: its questions are asked then.
    pub(crate) fn ended(&self, conversation: &str) -> Option<Timestamp> {
        let those = self.documents.iter().filter(|document| document.conversation == conversation);
        those.filter_map(Document::time).max()
    }

    /// Whether its questions are of several categories.
    pub(crate) fn has_categories(&self) -> bool {
        self.questions.iter().any(|question| question.category != self.questions[0].category)
    }

    /// The documents' places by their ids.
    pub(crate) fn places(&self) -> HashMap<&str, usize> {
        self.documents.iter().enumerate().map(|(place, it)| (it.id.as_str(), place)).collect()
    }
}

/// Reads one JSON value a line.
pub(crate) fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
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
