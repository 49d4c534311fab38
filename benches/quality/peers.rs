//! What Waypost is compared with: the model alone, and what `benches/peers` measured.

use std::path::Path;

use anyhow::Result;
use serde::Deserialize;

use crate::data::{Collection, Document, lines};
use crate::measure::DEPTH;
use crate::vectors::CachedModel;

/// Every question's ranking by nothing but the cosine of the model's vectors. Ties go to the
/// document that comes first.
pub(crate) fn model_alone(
    collection: &Collection,
    own_conversation: bool,
    model: &CachedModel,
) -> Result<Vec<Vec<usize>>> {
    let texts: Vec<String> = collection.documents.iter().map(text).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let documents = model.embed(&texts)?;
    let questions: Vec<&str> =
        collection.questions.iter().map(|question| question.text.as_str()).collect();
    let vectors = model.embed(&questions)?;
    let rankings = collection.questions.iter().zip(&vectors).map(|(question, vector)| {
        let mut found: Vec<(f32, usize)> = collection
            .documents
            .iter()
            .enumerate()
            .filter(|(_, it)| !own_conversation || it.conversation == question.conversation)
            .map(|(place, _)| (dot(vector, &documents[place]), place))
            .collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        found.into_iter().take(DEPTH).map(|(_, place)| place).collect()
    });
    Ok(rankings.collect())
}

/// The text that is embedded: title and content, the title once.
fn text(document: &Document) -> String {
    if document.content.starts_with(&document.title) {
        document.content.clone()
    } else {
        format!("{}\n{}", document.title, document.content)
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The rankings of another system, as `quality-peers` prints them: one JSON object a line.
#[derive(Debug, Deserialize)]
pub(crate) struct Peer {
    /// The setting.
    pub(crate) collection: String,
    pub(crate) system: String,
    /// The places of documents for each question, best first.
    pub(crate) rankings: Vec<Vec<usize>>,
}

/// Reads what `quality-peers` printed.
pub(crate) fn read(path: &Path) -> Result<Vec<Peer>> {
    lines(path)
}
