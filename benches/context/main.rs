//! Prints how well a project's context is found, as Markdown.
//!
//! `quality-context --data DIR --repos DIR [--only NAME] [--work DIR] [--index DIR]
//! [--set KEY=NUMBER]… [--each] [--docs] [--loo] [--model] [--verbose]`, or `quality-context --speed FOLDER`
//!
//! `DIR/context-dev/pairs.NAME.jsonl` hold subjects of commits with the files that they changed;
//! below the second `DIR` lie bare repositories, `OWNER+NAME/repo`. Each repository's base commit is
//! checked out, with its history and nothing after it, indexed, and asked. `--each` asks of the project
//! as it was right before each question's commit instead. `--set` changes a weight. `--work` and
//! `--index` keep the projects and their indexes for the next run. `--loo` measures each weight's half
//! and one and a half, and whether the best of them on all other repositories is better on the one left
//! out.
//! `--docs` asks for functions by their doc comments instead. `--model` (a feature of this package)
//! adds vectors of the default model, which is brought into the user's cache folder. `--speed` says what
//! indexing and asking a project's folder costs.

mod ask;
mod checkout;
mod docs;
mod loo;
mod measure;
mod model;
mod plain;
mod speed;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use waypost_context::{Context, Options, Timestamp, Weights};

use self::measure::Table;

/// As the service has it: what indexing costs depends on it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A subject of a commit, and what it changed.
#[derive(Debug, Deserialize)]
pub(crate) struct Pair {
    pub(crate) query: String,
    pub(crate) files: Vec<String>,
    base: String,
    /// The commit.
    pub(crate) sha: String,
    pub(crate) kind: String,
    /// When it was committed, in seconds since 1970.
    ts: i64,
}

impl Pair {
    pub(crate) fn time(&self) -> Timestamp {
        Timestamp::from_secs(self.ts)
    }
}

/// What is asked, and of what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// Subjects of commits, of the project as it was before all of them.
    Base,
    /// The same, of the project as it was right before each.
    Each,
    /// Doc comments.
    Docs,
    /// The first, with each weight changed.
    Loo,
}

/// How a repository is asked.
pub(crate) struct Asking<'a> {
    pub(crate) name: &'a str,
    /// What a text means, where there is a model.
    pub(crate) vector: &'a dyn Fn(&str) -> Option<Vec<f32>>,
    /// Whether to tell what was not found.
    pub(crate) verbose: bool,
}

/// What was asked for.
#[derive(Debug)]
struct Arguments {
    data: PathBuf,
    repos: PathBuf,
    only: Option<String>,
    weights: Weights,
    what: What,
    model: bool,
    verbose: bool,
    /// Where the checked-out projects are kept for the next run, and their indexes.
    work: Option<PathBuf>,
    index: Option<PathBuf>,
    /// The folder whose indexing and asking is measured instead.
    speed: Option<PathBuf>,
}

fn main() -> Result<()> {
    let arguments = arguments()?;
    if let Some(folder) = &arguments.speed {
        return speed::measure(folder, &mut io::stdout().lock());
    }
    let mut table = Table::default();
    let mut folds = Vec::new();
    let mut names = repositories(&arguments.data.join("context-dev"))?;
    names.retain(|name| arguments.only.as_ref().is_none_or(|only| only == name));
    for name in &names {
        let mut pairs = pairs(&arguments.data.join(format!("context-dev/pairs.{name}.jsonl")))?;
        // The project changes from one question to the next, and as little as possible.
        pairs.sort_by_key(|pair| pair.ts);
        let Some(first) = pairs.first() else { continue };
        let bare = bare(&arguments.repos, name)?;
        let temporary = tempfile::tempdir()?;
        let is_docs = arguments.what == What::Docs;
        // Without their docs, the projects are others.
        let name_kept = if is_docs { format!("{name}.docs") } else { name.clone() };
        let kept = |folder: &Option<PathBuf>, own: &str| match folder {
            Some(it) => it.join(&name_kept),
            None => temporary.path().join(own),
        };
        let root = kept(&arguments.work, "project");
        if !root.exists() {
            checkout::checkout(&bare, &first.base, &root)?;
        }
        let questions = if is_docs { docs::prepare(&root, first.time())? } else { Vec::new() };
        let index = kept(&arguments.index, "index");
        let embedder = if arguments.model { model::embedder()? } else { None };
        let vector = |text: &str| {
            let made = (embedder.as_ref()?.embed)(&[text]).ok()?;
            made.into_iter().next()
        };
        let open = |weights: Weights| -> Result<Context> {
            let mut options = Options::default();
            (options.weights, options.embedder) = (weights, embedder.clone());
            Ok(Context::open(&root, &index, options)?)
        };
        let context = open(arguments.weights.clone())?;
        let report = context.scan(first.time(), &|| false)?;
        writeln!(io::stderr(), "{name}: {report:?}")?;
        context.save()?;
        while embedder.is_some() && context.embed_pending(256)?.pending > 0 {}
        let asking = Asking { name, vector: &vector, verbose: arguments.verbose };
        match arguments.what {
            What::Docs => docs::measure(&context, &asking, &questions, first.time(), &mut table)?,
            What::Loo => {
                context.close()?;
                folds.push(loo::measure(name, &pairs, &arguments.weights, &open)?);
            }
            What::Each => ask::measure(&context, &asking, &pairs, true, &mut table)?,
            What::Base => {
                ask::measure(&context, &asking, &pairs, false, &mut table)?;
                plain::measure(&root, name, &pairs, &mut table)?;
            }
        }
    }
    if arguments.what == What::Loo {
        return loo::print(&folds, &mut io::stdout().lock());
    }
    Ok(table.print(&mut io::stdout().lock())?)
}

fn arguments() -> Result<Arguments> {
    let mut arguments = Arguments {
        data: PathBuf::from("../shared/eval"),
        repos: PathBuf::from("../.mirror"),
        only: None,
        weights: Weights::default(),
        what: What::Base,
        model: false,
        verbose: false,
        work: None,
        index: None,
        speed: None,
    };
    let mut given = std::env::args().skip(1);
    while let Some(name) = given.next() {
        match name.as_str() {
            "--docs" => arguments.what = What::Docs,
            "--loo" => arguments.what = What::Loo,
            "--each" => arguments.what = What::Each,
            "--model" => arguments.model = true,
            "--verbose" => arguments.verbose = true,
            _ => {
                let value = given.next().with_context(|| format!("{name} needs a value"))?;
                match name.as_str() {
                    "--data" => arguments.data = value.into(),
                    "--repos" => arguments.repos = value.into(),
                    "--work" => arguments.work = Some(value.into()),
                    "--index" => arguments.index = Some(value.into()),
                    "--speed" => arguments.speed = Some(value.into()),
                    "--only" => arguments.only = Some(value),
                    "--set" => set(&mut arguments.weights, &value)?,
                    _ => {
                        bail!(
                            "{name} is unknown; there are --data, --repos, --only, --work, --index, --set, --each, --docs, --loo, --model, --verbose, --speed"
                        )
                    }
                }
            }
        }
    }
    if arguments.work.is_some() && arguments.what == What::Each {
        bail!("--each changes the projects, which --work would keep");
    }
    Ok(arguments)
}

/// Changes one weight.
fn set(weights: &mut Weights, setting: &str) -> Result<()> {
    let (key, value) = setting.split_once('=').context("--set KEY=NUMBER")?;
    let number: f32 = value.parse()?;
    *weight(weights, key)? = number;
    Ok(())
}

pub(crate) fn weight<'w>(weights: &'w mut Weights, key: &str) -> Result<&'w mut f32> {
    Ok(match key {
        "body" => &mut weights.body,
        "chunk" => &mut weights.chunk,
        "inside" => &mut weights.inside,
        "name" => &mut weights.name,
        "path" => &mut weights.path,
        "frecency" => &mut weights.frecency,
        "commits" => &mut weights.commits,
        "meaning" => &mut weights.meaning,
        "named" => &mut weights.named,
        "defined" => &mut weights.defined,
        "perhaps" => &mut weights.perhaps,
        "same_file" => &mut weights.same_file,
        "k1" => &mut weights.bm25.k1,
        "b" => &mut weights.bm25.b,
        _ => bail!("no weight is called {key}"),
    })
}

/// The names of the repositories that there are pairs of.
fn repositories(folder: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let name = name.strip_prefix("pairs.").and_then(|rest| rest.strip_suffix(".jsonl"));
        names.extend(name.map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

fn pairs(path: &Path) -> Result<Vec<Pair>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// The bare repository of a name, whoever its owner.
fn bare(repos: &Path, name: &str) -> Result<PathBuf> {
    for entry in std::fs::read_dir(repos).with_context(|| repos.display().to_string())? {
        let path = entry?.path();
        let folder = path.file_name().unwrap_or_default().to_string_lossy();
        if folder.ends_with(&format!("+{name}")) {
            return Ok(path.join("repo"));
        }
    }
    bail!("{} has no repository of {name}", repos.display())
}
