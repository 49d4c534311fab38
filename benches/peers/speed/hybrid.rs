//! Hybrid search through a store: words, meaning, what stands beside, and the contents of ten hits;
//! compared with two systems that run in the same process.

mod generated;
mod qdrant;
mod sqlite;
mod waypost;

use std::collections::HashSet;
use std::hint::black_box;
use std::sync::Arc;

use anyhow::{Result, ensure};

use self::generated::{Corpus, Question};
use self::qdrant::Qdrant;
use self::sqlite::Sqlite;
use self::waypost::Waypost;
use crate::Options;
use crate::corpus::KINDS;
use crate::rig::{
    Report, Samples, Verdict, count, duration, process_seconds, progress, wall_seconds,
};

const HITS: usize = 10;
/// How many candidates each of the two searches of a peer passes to the fusion.
const CANDIDATES: usize = 100;
const BATCH: usize = 1000;

/// A system that is searched. All get the same texts, vectors and questions.
trait System {
    fn name(&self) -> &'static str;

    /// Adds memories and their vectors.
    fn add(&mut self, texts: &[String], vectors: &[Vec<f32>]) -> Result<()>;

    /// Completes the indexes after the last addition, and learns what it will be asked.
    fn finish(&mut self, questions: &[Question]) -> Result<()>;

    /// The contents of the ten hits, best first; computed, not remembered from an earlier search.
    fn search(&self, question: &Question) -> Result<Vec<String>>;

    /// The same by comparing all vectors; `None` if `search` does that.
    fn search_exactly(&self, _question: &Question) -> Option<Result<Vec<String>>> {
        None
    }
}

pub fn run(options: &Options, report: &mut Report) -> Result<()> {
    report.table(
        "Hybrid search with a given vector",
        &format!(
            "Generated memories of 30 to 60 words (about 300 bytes) with vectors of 384 dimensions: \
             one of 4,096 random directions, chosen by the text's first word, plus noise.\n\
             A query has words of a memory and a vector of that memory's direction, which no system \
             computes.\n\
             The systems run in this process, on the same texts and vectors, and take turns with \
             each query; the result is the processor time of the process, in which nothing else \
             runs, from the query's words and vector to ten texts.\n\
             Waypost compares all vectors and fuses the first 200 of both searches.\n\
             {}.\n\
             {}.",
            qdrant::method(),
            sqlite::method()?,
        ),
    );
    let mut remarks = Vec::new();
    for memories in [600, 100_000] {
        remarks.extend(measure(memories, true, report)?);
    }
    if !options.small {
        remarks.extend(measure(1_000_000, false, report)?);
    }
    report.close(&remarks.join("\n"));
    Ok(())
}

/// Fills the rows of one size; returns what a reader should know about them.
fn measure(memories: usize, has_peers: bool, report: &mut Report) -> Result<Vec<String>> {
    let corpus = Arc::new(Corpus::new());
    let mut systems: Vec<Box<dyn System>> = vec![Box::new(Waypost::new(&corpus)?)];
    if has_peers {
        systems.push(Box::new(Qdrant::new()?));
        systems.push(Box::new(Sqlite::new()?));
    }
    let (questions, seconds) = fill(&corpus, memories, &mut systems)?;
    let size = count(memories as f64);
    let named = |values: Vec<String>| {
        let named =
            systems.iter().zip(values).map(|(system, it)| format!("{} {it}", system.name()));
        named.collect::<Vec<_>>().join(", ")
    };
    let filling = seconds.iter().map(|second| duration(*second)).collect();
    let mut remarks = vec![format!("Filling {size} (wall time): {}.", named(filling))];
    let mut checks: Vec<Check> = systems.iter().map(|_| Check::default()).collect();
    for (kind, what) in KINDS.iter().enumerate() {
        let questions: Vec<&Question> = questions.iter().filter(|question| question.kind == kind).collect();
        for question in &questions {
            check(&systems, question, &mut checks)?;
        }
        let mut taken: Vec<Taken> = systems.iter().map(|_| Taken::default()).collect();
        for (turn, question) in questions.iter().enumerate() {
            for at in 0..systems.len() {
                let at = (at + turn) % systems.len();
                taken[at].time(systems[at].as_ref(), question)?;
            }
        }
        row(&format!("{size} memories, {what}"), &systems, &taken, report);
    }
    let share = |value: fn(&Check) -> usize, of: fn(&Check) -> usize| {
        named(checks.iter().map(|check| percent(value(check), of(check))).collect())
    };
    remarks.push(format!(
        "{size}: share of queries whose memory is among the ten hits: {}; share of the ten hits of \
         an exact computation: {}; share of the ten hits that Waypost returns, too: {}.",
        share(|it| it.own, |it| it.questions),
        share(|it| it.exact, |it| it.hits),
        share(|it| it.shared, |it| it.hits),
    ));
    Ok(remarks)
}

/// Adds all memories to all systems; returns the questions and the wall time of each system.
fn fill(
    corpus: &Corpus,
    memories: usize,
    systems: &mut [Box<dyn System>],
) -> Result<(Vec<Question>, Vec<f64>)> {
    let mut seconds = vec![0.0; systems.len()];
    let mut questions = Vec::new();
    let mut texts = corpus.texts(memories);
    let mut done = 0;
    while let Some(batch) = texts.next_batch(BATCH, &mut questions) {
        let vectors: Vec<Vec<f32>> = batch.iter().map(|batch| corpus.vector(batch)).collect();
        for (system, seconds) in systems.iter_mut().zip(&mut seconds) {
            let from = wall_seconds();
            system.add(&batch, &vectors)?;
            *seconds += wall_seconds() - from;
        }
        done += batch.len();
        if done % 100_000 == 0 {
            progress(format_args!("{} memories", count(done as f64)));
        }
    }
    for (system, seconds) in systems.iter_mut().zip(&mut seconds) {
        let from = wall_seconds();
        system.finish(&questions)?;
        *seconds += wall_seconds() - from;
        progress(format_args!("{}: filled in {}", system.name(), duration(*seconds)));
    }
    Ok((questions, seconds))
}

/// The processor time of the searches of one system, of all threads of the process.
#[derive(Default)]
struct Taken {
    searches: Samples,
    exact: Samples,
}

impl Taken {
    fn time(&mut self, system: &dyn System, question: &Question) -> Result<()> {
        let from = process_seconds();
        black_box(system.search(question)?);
        let done = process_seconds();
        self.searches.add(done - from);
        if let Some(exact) = system.search_exactly(question) {
            black_box(exact?);
            self.exact.add(process_seconds() - done);
        }
        Ok(())
    }
}

/// How good the hits of one system are.
#[derive(Default)]
struct Check {
    questions: usize,
    hits: usize,
    /// Questions whose own memory is among the hits.
    own: usize,
    /// Hits that an exact computation has, too.
    exact: usize,
    /// Hits that Waypost has, too.
    shared: usize,
}

/// Searches once in every system, which also loads what it caches.
fn check(systems: &[Box<dyn System>], question: &Question, checks: &mut [Check]) -> Result<()> {
    let mut ours = HashSet::new();
    for (system, check) in systems.iter().zip(checks) {
        let hits = system.search(question)?;
        ensure!(
            hits.len() == HITS && hits.iter().all(|it| !it.is_empty()),
            "{} returned {} hits for {:?}",
            system.name(),
            hits.len(),
            question.text
        );
        let exact = system.search_exactly(question).transpose()?;
        let exact: HashSet<String> = exact.unwrap_or_else(|| hits.clone()).into_iter().collect();
        if ours.is_empty() {
            ours.extend(hits.iter().cloned());
        }
        check.questions += 1;
        check.hits += hits.len();
        check.own += usize::from(hits.contains(&question.memory));
        check.exact += hits.iter().filter(|hit| exact.contains(*hit)).count();
        check.shared += hits.iter().filter(|hit| ours.contains(*hit)).count();
    }
    Ok(())
}

fn row(what: &str, systems: &[Box<dyn System>], taken: &[Taken], report: &mut Report) {
    let Some((ours, peers)) = taken.split_first() else { return };
    let compared = systems.iter().skip(1).zip(peers).map(|(system, taken)| {
        let exact = &taken.exact;
        let exact = if exact.is_empty() { String::new() } else { format!(", exact {exact}") };
        format!("{} {}{exact}", system.name(), taken.searches)
    });
    let ratio = peers.first().map(|qdrant| ours.searches.p50() / qdrant.searches.p50());
    report.row(
        what,
        if ratio.is_some() { "≤ 1.0 × Qdrant Edge" } else { "" },
        &ours.searches.to_string(),
        &compared.collect::<Vec<_>>().join("; "),
        ratio,
        ratio.map_or(Verdict::Open, |ratio| Verdict::from(ratio <= 1.0)),
    );
}

fn percent(part: usize, whole: usize) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole as f64)
}
