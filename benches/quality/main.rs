//! Prints how well search finds, as Markdown.
//!
//! `quality --data DIR [--model DIR] [--peers FILE]`: `DIR` holds one folder per collection, each
//! with `corpus.jsonl` and `queries.jsonl`; missing ones are left out. Without `--model`, the
//! default model is downloaded into the user's cache folder. `FILE` is what `quality-peers` printed.

mod ablation;
mod bootstrap;
mod data;
mod measure;
mod peers;
mod store;
mod table;
mod unanswerable;
mod vectors;

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use waypost_embedding::fetch;
use waypost_memory::{SearchMode, Vocabulary};
use waypost_project::models_dir;

use self::ablation::Ablation;
use self::data::Collection;
use self::measure::Measures;
use self::peers::Peer;
use self::store::{Filled, Layout};
use self::table::{Row, Table};
use self::vectors::CachedModel;

/// A collection in one of its settings.
struct Setting {
    name: &'static str,
    folder: &'static str,
    space_per_conversation: bool,
    sessions: bool,
    /// Whether to measure it without each signal, too.
    signals: bool,
}

const SETTINGS: [Setting; 6] = [
    Setting {
        name: "LoCoMo, per conversation",
        folder: "locomo-dev",
        space_per_conversation: true,
        sessions: false,
        signals: true,
    },
    Setting {
        name: "LoCoMo, per conversation, sessions",
        folder: "locomo-dev",
        space_per_conversation: true,
        sessions: true,
        signals: true,
    },
    Setting {
        name: "LoCoMo, pooled",
        folder: "locomo-dev",
        space_per_conversation: false,
        sessions: false,
        signals: false,
    },
    Setting {
        name: "LoCoMo, pooled, sessions",
        folder: "locomo-dev",
        space_per_conversation: false,
        sessions: true,
        signals: false,
    },
    Setting {
        name: "CISI",
        folder: "cisi",
        space_per_conversation: false,
        sessions: false,
        signals: true,
    },
    Setting {
        name: "CACM",
        folder: "cacm",
        space_per_conversation: false,
        sessions: false,
        signals: true,
    },
];

struct Arguments {
    data: PathBuf,
    model: Option<PathBuf>,
    peers: Option<PathBuf>,
}

fn main() -> Result<()> {
    let arguments = arguments()?;
    let models = models_dir(&|name| std::env::var_os(name)).context("no cache folder")?;
    let folder = match arguments.model {
        Some(folder) => folder,
        None => {
            fetch::ensure(fetch::DEFAULT_MODEL, &models, &fetch::Options::default(), &mut |_| {})?
        }
    };
    let model = Arc::new(CachedModel::load(&folder, &models.with_file_name("quality"))?);
    let mut out = io::stdout().lock();
    let mut whole = Table::new("All questions");
    let mut by_category = Table::new("LoCoMo by category (hybrid)");
    let mut ablation = Ablation::default();
    let peers = arguments.peers.as_deref().map(peers::read).transpose()?.unwrap_or_default();
    for setting in &SETTINGS {
        let path = arguments.data.join(setting.folder);
        if path.is_dir() {
            let collection = Collection::read(&path)?;
            let mut tables = Tables { whole: &mut whole, by_category: &mut by_category };
            let filled = measure(setting, &collection, &model, &peers, &mut tables)?;
            if setting.signals {
                ablation.measure(setting.name, filled, &relevant(&collection), &model)?;
            }
        } else {
            writeln!(out, "{}: no folder {}, left out", setting.name, path.display())?;
        }
    }
    whole.write(&mut out)?;
    by_category.write(&mut out)?;
    ablation.write(&mut out)?;
    let path = arguments.data.join("locomo-dev");
    if path.is_dir() {
        let collection = Collection::read(&path)?;
        unanswerable::write_head(&mut out)?;
        for sessions in [false, true] {
            unanswerable::measure(&collection, sessions, &model, &mut out)?;
        }
    }
    Ok(())
}

/// The tables that a setting adds rows to.
struct Tables<'a> {
    whole: &'a mut Table,
    by_category: &'a mut Table,
}

fn measure<'a>(
    setting: &Setting,
    collection: &'a Collection,
    model: &Arc<CachedModel>,
    peers: &[Peer],
    tables: &mut Tables<'_>,
) -> Result<Filled<'a>> {
    let layout = Layout {
        space_per_conversation: setting.space_per_conversation,
        sessions: setting.sessions,
    };
    let filled = Filled::new(collection, layout, model.embedder())?;
    let relevant = relevant(collection);
    for mode in [SearchMode::Hybrid, SearchMode::Lexical, SearchMode::Semantic] {
        let measures = judge(&filled.rankings(mode)?, &relevant);
        if mode == SearchMode::Hybrid && collection.has_categories() {
            for (number, name) in
                [(1, "multi-hop"), (2, "temporal"), (3, "open"), (4, "single-hop")]
            {
                let questions = collection.questions.iter().zip(&measures);
                let those: Vec<Measures> = questions
                    .filter(|(it, _)| it.category == number)
                    .map(|question| *question.1)
                    .collect();
                tables.by_category.push(Row::new(setting.name, name, those));
            }
        }
        let system = format!("Waypost {}", mode.as_str());
        tables.whole.push(Row::new(setting.name, &system, measures));
    }
    if !setting.sessions {
        let rankings = peers::model_alone(collection, setting.space_per_conversation, model)?;
        tables.whole.push(Row::new(setting.name, "MiniLM alone", judge(&rankings, &relevant)));
    }
    for peer in peers.iter().filter(|peer| peer.collection == setting.name) {
        ensure!(
            peer.rankings.len() == relevant.len(),
            "{} has {} rankings for {} questions of {}",
            peer.system,
            peer.rankings.len(),
            relevant.len(),
            setting.name
        );
        tables.whole.push(Row::new(setting.name, &peer.system, judge(&peer.rankings, &relevant)));
    }
    Ok(filled)
}

/// The places of the documents that answer, for each question.
fn relevant(collection: &Collection) -> Vec<HashSet<usize>> {
    let places = collection.places();
    let found = collection.questions.iter().map(|question| {
        question.relevant.iter().filter_map(|id| places.get(id.as_str()).copied()).collect()
    });
    found.collect()
}

fn judge(rankings: &[Vec<usize>], relevant: &[HashSet<usize>]) -> Vec<Measures> {
    rankings.iter().zip(relevant).map(|(ranking, those)| Measures::of(ranking, those)).collect()
}

fn arguments() -> Result<Arguments> {
    let mut arguments = Arguments {
        data: std::env::var_os("WAYPOST_EVAL").map_or_else(|| "../shared/eval".into(), Into::into),
        model: None,
        peers: None,
    };
    let mut given = std::env::args().skip(1);
    while let Some(flag) = given.next() {
        let value = given.next().with_context(|| format!("{flag} needs a value"))?;
        match flag.as_str() {
            "--data" => arguments.data = value.into(),
            "--model" => arguments.model = Some(value.into()),
            "--peers" => arguments.peers = Some(value.into()),
            _ => bail!("unknown argument {flag}; there are --data, --model and --peers"),
        }
    }
    Ok(arguments)
}
