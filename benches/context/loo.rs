//! Whether each weight holds for a repository that it was not chosen on: each is chosen anew with one
//! repository left out, and measured on that one.

use std::io::{self, Write};
use std::thread;

use anyhow::{Context as _, Result, anyhow};
use waypost_context::{Context, Query, TaskType, Weights};

use crate::measure::Measures;
use crate::{Pair, ask, weight};

const KEYS: [&str; 11] = [
    "path",
    "frecency",
    "commits",
    "chunk",
    "inside",
    "name",
    "named",
    "defined",
    "perhaps",
    "same_file",
    "k1",
];
/// What a weight is multiplied by.
const FACTORS: [f32; 3] = [1.0, 0.5, 1.5];

/// MRR and R@10 with the right task, and with `general`.
type Sums = [f64; 4];

/// A repository's sums over its questions, by weight and factor.
pub(crate) struct Fold {
    name: String,
    questions: usize,
    sums: Vec<[Sums; FACTORS.len()]>,
}

/// Asks a repository's questions with each weight changed; `open` opens its index.
pub(crate) fn measure(
    name: &str,
    pairs: &[Pair],
    weights: &Weights,
    open: &dyn Fn(Weights) -> Result<Context>,
) -> Result<Fold> {
    let plain = ask_all(&open(weights.clone())?, pairs)?;
    let mut sums = Vec::new();
    for key in KEYS {
        let mut of_key = [plain; FACTORS.len()];
        for (sum, factor) in of_key.iter_mut().zip(FACTORS).skip(1) {
            let mut changed = weights.clone();
            *weight(&mut changed, key)? *= factor;
            *sum = ask_all(&open(changed)?, pairs)?;
        }
        writeln!(io::stderr(), "{name}: {key}")?;
        sums.push(of_key);
    }
    Ok(Fold { name: name.to_owned(), questions: pairs.len(), sums })
}

fn ask_all(context: &Context, pairs: &[Pair]) -> Result<Sums> {
    let threads = thread::available_parallelism()?.get();
    let part = |pairs: &[Pair]| -> Result<Sums> {
        let mut sums = Sums::default();
        for pair in pairs {
            let tasks = [ask::tasks(pair).0, TaskType::General];
            for (task, sums) in tasks.into_iter().zip(sums.chunks_mut(2)) {
                let query = Query::new(&pair.query).with_task(task);
                let items = context.query(&query, pair.time())?.items;
                let paths: Vec<String> = items.into_iter().map(|item| item.path).collect();
                let measures = Measures::of(&paths, &pair.files);
                sums[0] += measures.reciprocal_rank;
                sums[1] += measures.recall_at_10;
            }
        }
        Ok(sums)
    };
    thread::scope(|scope| {
        let parts = pairs.chunks(pairs.len().div_ceil(threads).max(1));
        let running: Vec<_> = parts.map(|other| scope.spawn(move || part(other))).collect();
        let mut sums = Sums::default();
        for it in running {
            add(&mut sums, &it.join().map_err(|_| anyhow!("a thread failed"))??);
        }
        Ok(sums)
    })
}

fn add(sums: &mut Sums, more: &Sums) {
    for (sum, it) in sums.iter_mut().zip(more) {
        *sum += it;
    }
}

/// Prints the means by weight and factor, and what choosing it on the others gives the one left out.
pub(crate) fn print(folds: &[Fold], out: &mut impl Write) -> Result<()> {
    let questions: usize = folds.iter().map(|fold| fold.questions).sum();
    let total = |key: usize, factor: usize, without: Option<usize>| {
        let mut sums = Sums::default();
        for (_, fold) in folds.iter().enumerate().filter(|pair| Some(pair.0) != without) {
            add(&mut sums, &fold.sums[key][factor]);
        }
        sums
    };
    let worth = |sums: &Sums| sums.iter().sum::<f64>();
    writeln!(
        out,
        "| weight | × 0.5 | × 1 | × 1.5 | chosen without each | change where left out |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|")?;
    for (key, name) in KEYS.iter().enumerate() {
        write!(out, "| `{name}` |")?;
        for factor in [1, 0, 2] {
            let [mrr, recall, ..] = total(key, factor, None).map(|total| total / questions as f64);
            write!(out, " {mrr:.3} · {recall:.3} |")?;
        }
        let (mut others, mut change) = (Vec::new(), 0.0);
        for (at, fold) in folds.iter().enumerate() {
            let worth_of = |number: &usize| worth(&total(key, *number, Some(at)));
            let best = (0..FACTORS.len()).max_by(|a, b| worth_of(a).total_cmp(&worth_of(b)));
            let best = best.context("there are factors")?;
            change += worth(&fold.sums[key][best]) - worth(&fold.sums[key][0]);
            if best != 0 {
                others.push(format!("{} × {}", fold.name, FACTORS[best]));
            }
        }
        let chosen = if others.is_empty() { "as it is".to_owned() } else { others.join(", ") };
        let mean = change / (4 * questions) as f64;
        writeln!(out, " {chosen} | {mean:+.4} |")?;
    }
    Ok(())
}
