//! Questions that nothing answers: how well the best hit's score tells them from the others.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use waypost_memory::{MemoryId, SearchMode, SearchOptions, Store, StoreOptions, Timestamp};

use crate::bootstrap::interval;
use crate::data::Collection;
use crate::store::{Filled, Layout};
use crate::vectors::CachedModel;

/// The threshold that is judged keeps this share of the answerable questions.
const KEPT: f64 = 0.9;
const BINS: usize = 10;

/// The best hit's score of one question, by what the question was asked of.
#[derive(Debug, Clone, Copy)]
struct Best {
    answerable: f64,
    /// Nothing if every other conversation has a speaker in common.
    elsewhere: Option<f64>,
    removed: f64,
}

/// What a best score is taken from.
const SYSTEMS: [(&str, SearchMode, Option<&str>); 5] = [
    ("raw BM25", SearchMode::Lexical, Some("bm25")),
    ("raw cosine", SearchMode::Semantic, Some("semantic")),
    ("Waypost hybrid", SearchMode::Hybrid, None),
    ("Waypost lexical", SearchMode::Lexical, None),
    ("Waypost semantic", SearchMode::Semantic, None),
];

/// Asks every question in its own conversation, in the next one without a speaker in common, and
/// in its own one without the documents that answer it; writes a row for each system.
pub(crate) fn measure(
    collection: &Collection,
    sessions: bool,
    model: &Arc<CachedModel>,
    out: &mut impl Write,
) -> Result<()> {
    let conversations = collection.by_conversation();
    let layout = Layout { space_per_conversation: false, sessions };
    let mut all: [Vec<Best>; SYSTEMS.len()] = Default::default();
    let filled = conversations
        .iter()
        .map(|conversation| Filled::new(conversation, layout, model.embedder()));
    let filled = filled.collect::<Result<Vec<_>>>()?;
    for (at, own) in conversations.iter().enumerate() {
        let mut others = (at + 1..conversations.len()).chain(0..at);
        let stranger =
            others.find(|other| conversations[*other].speakers().is_disjoint(&own.speakers()));
        for question in &own.questions {
            let text = &question.text;
            let answerable = ask(filled[at].store(), text)?;
            let elsewhere =
                stranger.map(|stranger| ask(filled[stranger].store(), text)).transpose()?;
            let folder = tempfile::tempdir()?;
            copy(filled[at].folder(), folder.path())?;
            let evidence = filled[at].ids(&question.relevant);
            let removed = ask(&without(folder.path(), &evidence, model)?, text)?;
            for (system, best) in all.iter_mut().enumerate() {
                best.push(Best {
                    answerable: answerable[system],
                    elsewhere: elsewhere.map(|elsewhere| elsewhere[system]),
                    removed: removed[system],
                });
            }
        }
    }
    let setting = if sessions { "LoCoMo, sessions" } else { "LoCoMo" };
    for ((system, _, raw), best) in SYSTEMS.iter().zip(&all) {
        let shown = |statistic: fn(&Scores) -> f64| {
            let all = Scores::of(best.iter());
            let (low, high) = interval(best.len(), |drawn| {
                statistic(&Scores::of(drawn.iter().map(|at| &best[*at])))
            });
            format!("{:.3} ({low:.3} to {high:.3})", statistic(&all))
        };
        let error = if raw.is_none() { shown(Scores::calibration_error) } else { String::new() };
        writeln!(
            out,
            "| {setting} | {system} | {} | {} | {error} | {} | {} |",
            shown(|it| area(&it.answerable, &it.elsewhere)),
            shown(|it| area(&it.answerable, &it.removed)),
            shown(|it| it.above_threshold(&it.elsewhere)),
            shown(|it| it.above_threshold(&it.removed)),
        )?;
    }
    Ok(())
}

/// Writes the head of the table.
pub(crate) fn write_head(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\n### Questions that nothing answers\n")?;
    writeln!(
        out,
        "| collection | best score | AUROC, asked elsewhere | AUROC, evidence removed | calibration error | elsewhere above the threshold | removed above it |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|")
}

/// The scores of several questions, each kind in ascending order.
struct Scores {
    answerable: Vec<f64>,
    elsewhere: Vec<f64>,
    removed: Vec<f64>,
}

impl Scores {
    fn of<'a>(best: impl Iterator<Item = &'a Best> + Clone) -> Self {
        let sorted = |mut scores: Vec<f64>| {
            scores.sort_unstable_by(f64::total_cmp);
            scores
        };
        Self {
            answerable: sorted(best.clone().map(|best| best.answerable).collect()),
            elsewhere: sorted(best.clone().filter_map(|best| best.elsewhere).collect()),
            removed: sorted(best.map(|best| best.removed).collect()),
        }
    }

    /// The share of `scores` from the threshold on.
    fn above_threshold(&self, scores: &[f64]) -> f64 {
        let threshold = self.answerable[((1.0 - KEPT) * self.answerable.len() as f64) as usize];
        let below = scores.partition_point(|score| *score < threshold);
        (scores.len() - below) as f64 / scores.len().max(1) as f64
    }

    /// The mean distance of a score from the share of answerable questions with scores like it;
    /// half of all weight is on the answerable questions, a quarter on either other kind.
    fn calibration_error(&self) -> f64 {
        let mut bins = [0.0; BINS];
        for (scores, weight, truth) in
            [(&self.answerable, 0.5, 1.0), (&self.elsewhere, 0.25, 0.0), (&self.removed, 0.25, 0.0)]
        {
            for score in scores {
                let bin = ((score * BINS as f64) as usize).min(BINS - 1);
                bins[bin] += weight * (score - truth) / scores.len() as f64;
            }
        }
        bins.iter().map(|bin| bin.abs()).sum()
    }
}

/// The probability that a score of `these` is above one of `those`, both in ascending order; a tie
/// counts half (the statistic of Mann and Whitney, "On a Test of Whether One of Two Random Variables
/// Is Stochastically Larger than the Other", 1947).
fn area(these: &[f64], those: &[f64]) -> f64 {
    let wins = these.iter().map(|this| {
        let below = those.partition_point(|item| item < this);
        let equal = those[below..].partition_point(|item| item <= this);
        below as f64 + equal as f64 / 2.0
    });
    wins.sum::<f64>() / (these.len() * those.len()).max(1) as f64
}

/// The best hit's score, by each system.
fn ask(store: &Store, question: &str) -> Result<[f64; SYSTEMS.len()]> {
    let mut scores = [0.0; SYSTEMS.len()];
    for ((_, mode, raw), score) in SYSTEMS.iter().zip(&mut scores) {
        let options = SearchOptions::default().with_mode(*mode).with_explain(raw.is_some());
        let found = store.search(question, &options)?;
        *score = match raw {
            None => found.answerable,
            Some(name) => found
                .hits
                .iter()
                .filter_map(|hit| hit.explanation.as_ref())
                .flat_map(|explanation| &explanation.signals)
                .filter(|signal| signal.name == *name)
                .map(|signal| signal.value)
                .fold(0.0, f64::max),
        };
    }
    Ok(scores)
}

/// Opens the store in a folder and deletes some of its memories.
fn without(folder: &Path, ids: &HashSet<MemoryId>, model: &Arc<CachedModel>) -> Result<Store> {
    let (store, _) = Store::open(folder, StoreOptions::default())?;
    while store.build_index()?.is_some() {}
    store.set_embedder(Some(model.embedder()))?;
    for id in ids {
        store.delete(*id, Timestamp::from_millis(1_767_225_600_000))?;
    }
    Ok(store)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else if entry.file_type()?.is_file() {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_counts_ties_as_half() {
        assert_eq!(area(&[0.5, 0.9], &[0.1, 0.5]), 0.875);
        assert_eq!(area(&[0.1], &[0.9]), 0.0);
    }

    #[test]
    fn certainty_about_the_wrong_ones_is_the_whole_error() {
        let certain = |answerable: f64, other: f64| {
            Scores::of([Best { answerable, elsewhere: Some(other), removed: other }].iter())
        };
        assert_eq!(certain(1.0, 0.0).calibration_error(), 0.0);
        assert_eq!(certain(0.5, 0.5).calibration_error(), 0.0);
        assert_eq!(certain(0.0, 1.0).calibration_error(), 1.0);
    }
}
