//! What Waypost is compared with: the model alone, and what `benches/peers` measured.

use std::path::Path;

use anyhow::{Context, Result};

use crate::data::{Collection, Document};
use crate::measure::{DEPTH, Measures};
use crate::table::Row;
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
    let questions: Vec<&str> = collection.questions.iter().map(|it| it.text.as_str()).collect();
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

/// Reads tab-separated rows: collection, system, questions, R@5, R@10, R@20, nDCG@10, MRR.
pub(crate) fn read(path: &Path) -> Result<Vec<Row>> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    text.lines()
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            let number = |at: usize| -> Result<f64> {
                let cell = cells.get(at).with_context(|| format!("a short line: {line}"))?;
                cell.parse().with_context(|| format!("{cell:?} is no number"))
            };
            Ok(Row {
                setting: cells.first().copied().unwrap_or_default().to_owned(),
                system: cells.get(1).copied().unwrap_or_default().to_owned(),
                questions: number(2)? as usize,
                measures: Measures {
                    recall_5: number(3)?,
                    recall_10: number(4)?,
                    recall_20: number(5)?,
                    ndcg_10: number(6)?,
                    reciprocal_rank: number(7)?,
                },
            })
        })
        .collect()
}
