//! Exact search of vectors beside a scan of 32-bit floats. It needs nothing; real vectors take the
//! evaluation's texts (`WAYPOST_EVAL`, or `shared/eval` beside the repository) and the model.

#[expect(dead_code, reason = "shared with the quality table, which uses more of it")]
#[path = "../../quality/vectors.rs"]
mod cached;
#[expect(dead_code, reason = "shared with the quality table, which uses more of it")]
#[path = "../../quality/data.rs"]
mod data;
mod floats;
mod set;

use std::collections::HashSet;

use anyhow::Result;
use waypost_ranking::{Filter, Slots, VectorIndex, VectorPart, VectorSearch, Work};

pub use self::set::turns;
use self::set::{DIMENSIONS, Source};
use crate::Options;
use crate::rig::{Random, Report, Samples, Verdict, count, progress, time};

const K: usize = 10;

/// Queries that one kind of search gets before the next kind is due: what it reads is near, as it is
/// when searches follow each other.
const IN_A_ROW: usize = 10;

const METHOD: &str = "CPU time of one search for the nearest 10 of 384 dimensions on one thread: median (middle 80 \
     %, slowest hundredth).\n\
     The comparison is a scan of 32-bit floats, with AVX-512 if available, four sums and the same \
     prefetching; for filters, it is Waypost without one.\n\
     The kinds alternate, 10 queries each.\n\
     Every result is also compared with the full scan.";

pub fn run(options: &Options, report: &mut Report) -> Result<()> {
    let mut remarks = Vec::new();
    let mut sources = Vec::new();
    match Source::mixtures() {
        Ok(it) => sources.push(it),
        Err(error) => remarks.push(format!("No real vectors in this run: {error:#}.")),
    }
    sources.push(Source::Directions);
    report.table("Vectors", METHOD);
    for rows in [100_000, 1_000_000] {
        if rows > 100_000 && options.small {
            continue;
        }
        for source in &sources {
            remarks.push(measure(source, rows, report)?);
        }
    }
    report.close(&remarks.join("\n"));
    Ok(())
}

/// What is searched.
struct Set {
    /// The vectors one after another.
    floats: Vec<f32>,
    slots: Slots,
    index: VectorIndex,
    /// Whether the filter that keeps 1 % and the one that keeps half keep a slot.
    kept: Vec<[bool; 2]>,
}

impl Set {
    fn new(source: &Source, rows: usize, random: &mut Random) -> Result<(Self, Samples)> {
        let floats = source.vectors(rows, random);
        let (mut slots, mut index) = (Slots::default(), VectorIndex::new(DIMENSIONS)?);
        let mut adding = Samples::default();
        for (id, vector) in (0..).zip(floats.chunks_exact(DIMENSIONS)) {
            let slot = slots.assign(id);
            let mut added = Ok(());
            adding.add(time(|| added = index.insert(slot, vector)));
            added?;
        }
        let kept = (0..rows).map(|_| [random.unit() < 0.01, random.unit() < 0.5]).collect();
        Ok((Self { floats, slots, index, kept }, adding))
    }
}

/// Searches of one kind.
#[derive(Default)]
struct Searches {
    seconds: Samples,
    /// Hits that the scan of floats has, too.
    shared: usize,
    wanted: usize,
    work: Work,
}

impl Searches {
    fn recall(&self) -> f64 {
        self.shared as f64 / self.wanted as f64
    }
}

/// Fills the rows of one set; returns what took part in the steps.
fn measure(source: &Source, rows: usize, report: &mut Report) -> Result<String> {
    progress(format_args!("{rows} {}", source.name()));
    let mut random = Random(7);
    let (set, adding) = Set::new(source, rows, &mut random)?;
    let queries = source.queries(if rows > 100_000 { 40 } else { 200 }, &mut random);
    let few = |slot: u32| set.kept[slot as usize][0];
    let half = |slot: u32| set.kept[slot as usize][1];
    let filters: [Option<Filter<'_>>; 3] = [None, Some(&few), Some(&half)];
    let mut floats = Samples::default();
    let mut searches: [Searches; 3] = Default::default();
    for queries in queries.chunks(IN_A_ROW) {
        // By 32-bit floats, and enough that ten of them pass every filter.
        let near = |query: &Vec<f32>| floats::top(&set.floats, query, 256 * K);
        let near: Vec<Vec<(usize, f32)>> = queries.iter().map(near).collect();
        for (filter, searches) in filters.iter().zip(&mut searches) {
            search(&set, *filter, queries, &near, searches)?;
        }
        for query in queries {
            floats.add(time(|| floats::top(&set.floats, query, K)));
        }
    }
    let what = format!("{}, {}", count(rows as f64), source.name());
    let [all, few, half] = searches;
    let (ours, peer) = (all.seconds.p50(), floats.p50());
    let most = if rows > 100_000 { 20e-3 } else { 2e-3 };
    let is_met = ours <= peer / 3.0 && ours <= most && all.recall() >= 0.999;
    report.row(
        &what,
        &format!("≤ 1/3 ×, ≤ {} ms, recall ≥ .999", most * 1e3),
        &format!("{}, recall {:.4}", all.seconds, all.recall()),
        &format!("{floats}"),
        Some(ours / peer),
        is_met,
    );
    for (keeps, it) in [("1 %", &few), ("50 %", &half)] {
        let ratio = it.seconds.p50() / ours;
        report.row(
            &format!("the same, a filter keeps {keeps}"),
            "≤ 1 ×, the same recall",
            &format!("{}, recall {:.4}", it.seconds, it.recall()),
            &format!("{}", all.seconds),
            Some(ratio),
            ratio <= 1.0 && it.recall() >= 0.999,
        );
    }
    report.row("adding a vector to it", "", &adding.to_string(), "", None, Verdict::Open);
    Ok(remark(&what, &set, &[all, few, half], &floats))
}

/// Searches for each query, and compares with the full scan and with the scan of floats.
fn search(
    set: &Set,
    filter: Option<Filter<'_>>,
    queries: &[Vec<f32>],
    near: &[Vec<(usize, f32)>],
    searches: &mut Searches,
) -> Result<()> {
    let parts = [VectorPart { slots: &set.slots, index: &set.index, filter }];
    let mut found = Vec::new();
    for query in queries {
        searches.seconds.add(time(|| {
            found.push(VectorSearch::new(&parts, query).map(|search| search.top(K)));
        }));
    }
    for ((found, query), near) in found.into_iter().zip(queries).zip(near) {
        let found = found?;
        let exact = VectorSearch::new(&parts, query)?.exact(K);
        anyhow::ensure!(
            found.hits == exact.hits && found.low == exact.low,
            "the scan of codes found {:?}, the full scan {:?}",
            found.hits,
            exact.hits
        );
        searches.work.scanned += found.work.scanned;
        searches.work.doubtful += found.work.doubtful;
        searches.work.scored += found.work.scored;
        let hits: HashSet<usize> = found.hits.iter().map(|hit| hit.slot as usize).collect();
        let passing = near.iter().map(|(row, _)| *row);
        let passing = passing.filter(|row| filter.is_none_or(|filter| filter(*row as u32)));
        for row in passing.take(K) {
            searches.wanted += 1;
            searches.shared += usize::from(hits.contains(&row));
        }
    }
    Ok(())
}

fn remark(what: &str, set: &Set, searches: &[Searches; 3], floats: &Samples) -> String {
    let rows = set.kept.len();
    let [all, few, half] = searches.each_ref().map(|reference| {
        let of = (reference.wanted / K * rows) as f64 / 100.0;
        let work = reference.work;
        format!(
            "{:.0} / {:.2} / {:.2} %",
            work.scanned as f64 / of,
            work.doubtful as f64 / of,
            work.scored as f64 / of
        )
    });
    let codes = rows as f64 * (DIMENSIONS / 2 + 8) as f64;
    let scored = searches[0].work.scored as f64 / (searches[0].wanted / K) as f64;
    let bytes = codes + scored * (2 * DIMENSIONS) as f64;
    // As many bytes as are read of the codes, and of the floats.
    let mut limits =
        [(codes as usize / 4, Samples::default()), (set.floats.len(), Samples::default())];
    for (length, samples) in &mut limits {
        for _ in 0..9 {
            samples.add(time(|| floats::read(&set.floats[..*length])));
        }
    }
    let rate = |bytes: f64, seconds: f64| bytes / seconds / 1e9;
    let [(_, of_codes), (_, of_floats)] = limits;
    let float_bytes = (4 * set.floats.len()) as f64;
    format!(
        "- {what}: share of vectors whose codes are read / that the codes leave in doubt / that are \
         scored in full: {all}; with a filter that keeps 1 %: {few}; 50 %: {half}. A search reads \
         {:.1} MB at {:.0} GB/s, the scan of floats {:.1} MB at {:.0} GB/s; reading alone reaches \
         {:.0} GB/s for the size of the codes and {:.0} GB/s for the size of the floats. {} bytes of \
         memory per vector.",
        bytes / 1e6,
        rate(bytes, searches[0].seconds.p50()),
        float_bytes / 1e6,
        rate(float_bytes, floats.p50()),
        rate(codes, of_codes.p50()),
        rate(float_bytes, of_floats.p50()),
        set.index.bytes() / rows as u64,
    )
}
