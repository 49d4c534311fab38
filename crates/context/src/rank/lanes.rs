//! What matters for an empty query: what was last worked on, what is written about it, and where
//! the project is explained.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::time::Duration;

use waypost_ranking::Slot;
use waypost_time::Timestamp;

use super::ask::Ask;
use super::candidate::{Candidate, Reasons, What};
use super::candidates::{date, lowering};
use super::commits::Commits;
use crate::index::{ChunkFact, FileFact, Index};
use crate::{Kind, Reason, Source, Standing, TaskType};

const SECONDS_PER_DAY: i64 = 86_400;
/// Journal entries shown: those of five days, or the newest five.
const ENTRIES: usize = 5;
const ENTRY_SPAN: Duration = Duration::from_secs(5 * 86_400);
/// If all files were written within two minutes, their times are meaningless.
const SPREAD_SECONDS: i64 = 120;

/// The current situation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now<'a> {
    pub(crate) time: Timestamp,
    /// Uncommitted paths.
    pub(crate) changed: &'a [String],
    pub(crate) commits: Option<&'a Commits>,
}

/// A lane: its candidates, best first, and how many of them it contributes to each round.
struct Lane {
    items: Vec<Candidate>,
    each_round: usize,
    /// Whether its items represent files, so that a file already in the answer is skipped.
    of_files: bool,
}

/// The answer to an empty query, in order: a few of each lane in turn.
pub(crate) fn lanes(index: &Index, ask: &Ask<'_>, now: Now<'_>) -> Vec<Candidate> {
    let wanted: Vec<(Slot, &FileFact)> =
        index.files().filter(|(_, file)| ask.wants_file(file)).collect();
    let items = ask.query.max_items;
    let each = |code, spec, content, strategy, general| match ask.task {
        TaskType::Code => code,
        TaskType::Spec => spec,
        TaskType::Content => content,
        TaskType::Strategy => strategy,
        TaskType::General => general,
    };
    let pieces = |items, each_round| Lane { items, each_round, of_files: false };
    let files = |items, each_round| Lane { items, each_round, of_files: true };
    let changed = uncommitted(index, ask, now.changed);
    let first_of_each =
        changed.iter().filter_map(|changed| first(index, ask, changed, Reason::Uncommitted));
    let first_of_each = first_of_each.collect();
    // If a task is named, it determines how much of the current work is code.
    let (code, documents): (Vec<_>, Vec<_>) = active(index, ask, &wanted, now.time)
        .into_iter()
        .partition(|active| ask.task == TaskType::General || active.kind.source() == Source::Code);
    let mut lanes = [
        pieces(instructions(index, ask, &wanted, &changed, (items / 10).max(1)), 1),
        files(first_of_each, each(4, 2, 3, 2, 4)),
        pieces(entries(index, ask, &wanted, now), each(1, 1, 2, 4, 1)),
        files(code, each(10, 2, 1, 1, 12)),
        files(documents, each(1, 6, 6, 3, 0)),
        files(central(index, ask, &wanted), each(1, 2, 3, 3, 1)),
    ];
    let mut taken = HashSet::new();
    let mut taken_files = HashSet::new();
    let mut order: Vec<Candidate> = Vec::new();
    while order.len() < 2 * items {
        let before = order.len();
        for lane in &mut lanes {
            let mut left = lane.each_round;
            while left > 0 && !lane.items.is_empty() {
                let candidate = lane.items.remove(0);
                let is_new = match candidate.what {
                    What::Chunk(file, _) => taken_files.insert(file) || !lane.of_files,
                    What::Commit(_) => true,
                };
                if is_new && taken.insert(candidate.what) {
                    order.push(candidate);
                    left -= 1;
                }
            }
        }
        if order.len() == before {
            break;
        }
    }
    // The order is final; the scores only have to express it.
    for (place, candidate) in order.iter_mut().enumerate() {
        candidate.score = 1.0 / (1.0 + 0.02 * place as f32);
    }
    order
}

/// The first chunk of a file that may be in the answer: one with a text, if there is any. A change
/// log without an entry has none.
fn first(index: &Index, ask: &Ask<'_>, file: &FileFact, why: Reason) -> Option<Candidate> {
    let chunks = file.chunks.iter().filter_map(|&slot| Some((slot, index.chunk(slot)?)));
    let mut chunks = chunks.filter(|(_, it)| ask.wants_kind(it.kind)).peekable();
    let (any, is_log) = chunks.peek().map(|chunk| (chunk.0, chunk.1.kind == Kind::Changelog))?;
    let says = chunks.find(|(_, it)| !it.is_bare).map(|chunk| chunk.0);
    let slot = says.or((!is_log).then_some(any))?;
    Candidate::of_chunk(index, slot, (0.0, 0.0), Reasons::One(why))
}

/// The instructions for the uncommitted file that changed last: those of its folders, nearest
/// first; without uncommitted files, those nearest to the project's root.
fn instructions(
    index: &Index,
    ask: &Ask<'_>,
    files: &[(Slot, &FileFact)],
    changed: &[&FileFact],
    items_max: usize,
) -> Vec<Candidate> {
    let is_for = |file: &FileFact| {
        let folder = file.path.rfind('/').map_or("", |at| &file.path[..=at]);
        changed.first().is_some_and(|changed| changed.path.starts_with(folder))
    };
    let depth = |fact: &FileFact| fact.path.matches('/').count();
    let all = files.iter().map(|file| file.1).filter(|it| it.kind == Kind::Instructions);
    let mut nearest: Vec<&FileFact> = all.clone().filter(|item| is_for(item)).collect();
    nearest.sort_by_key(|nearest| (Reverse(depth(nearest)), &nearest.path));
    if nearest.is_empty() {
        nearest.extend(all.min_by_key(|item| (depth(item), &item.path)));
    }
    let wanted = |slot: &&Slot| index.chunk(**slot).is_some_and(|chunk| ask.wants_kind(chunk.kind));
    let chunks = nearest.into_iter().flat_map(|nearest| nearest.chunks.iter().filter(wanted));
    let why = Reasons::One(Reason::Instructions);
    chunks
        .take(items_max)
        .filter_map(|chunk| Candidate::of_chunk(index, *chunk, (0.0, 0.0), why))
        .collect()
}

/// Uncommitted files, newest first.
fn uncommitted<'a>(index: &'a Index, ask: &Ask<'_>, changed: &[String]) -> Vec<&'a FileFact> {
    let files = changed.iter().filter_map(|path| index.file(index.slot(path)?));
    let mut files: Vec<&FileFact> = files.filter(|file| ask.wants_file(file)).collect();
    files.sort_by_key(|file| (Reverse(file.stat.modified_ns), file.path.clone()));
    files
}

/// The newest journal entries, and the newest commits.
fn entries(
    index: &Index,
    ask: &Ask<'_>,
    files: &[(Slot, &FileFact)],
    now: Now<'_>,
) -> Vec<Candidate> {
    let mut entries: Vec<(Timestamp, Candidate)> = Vec::new();
    for (_, file) in files.iter().filter(|file| file.1.kind.source() == Source::Journal) {
        for slot in &file.chunks {
            let wanted = |fact: &&ChunkFact| ask.wants_kind(fact.kind) && !fact.is_bare;
            let Some(chunk) = index.chunk(*slot).filter(wanted) else { continue };
            let why = Reasons::One(Reason::Recent);
            let candidate = Candidate::of_chunk(index, *slot, (0.0, 0.0), why);
            entries.extend(candidate.map(|candidate| (date(file, chunk), candidate)));
        }
    }
    // Newest first; within a day, by position in the file.
    entries.sort_by(|a, b| {
        let in_day = || (&a.1.path, a.1.line).cmp(&(&b.1.path, b.1.line));
        b.0.cmp(&a.0).then_with(in_day)
    });
    let since = now.time.saturating_sub(ENTRY_SPAN);
    let recent = entries.iter().filter(|entry| entry.0 >= since).count();
    entries.truncate(recent.clamp(ENTRIES, 2 * ENTRIES));
    let mut entries: Vec<Candidate> = entries.into_iter().map(|entry| entry.1).collect();
    if let Some(commits) = now.commits.filter(|_| ask.wants_kind(Kind::Commit)) {
        // Alternating: a change log must not crowd out the commits, nor the reverse.
        let newest = 0..commits.len().min(ENTRIES as u32);
        let mut newest =
            newest.map(|newest| Commits::candidate(newest, 0.0, Reasons::One(Reason::Recent)));
        let mut mixed = Vec::new();
        for entry in entries {
            mixed.push(entry);
            mixed.extend(newest.next());
        }
        mixed.extend(newest);
        entries = mixed;
    }
    entries
}

/// Files that change often and recently; without a history, the most recently written.
fn active(
    index: &Index,
    ask: &Ask<'_>,
    files: &[(Slot, &FileFact)],
    now: Timestamp,
) -> Vec<Candidate> {
    let has_history = files.iter().any(|file| file.1.frecency > 0.0);
    let times = || files.iter().map(|file| file.1.stat.modified_ns / 1_000_000_000);
    let (newest, oldest) = (times().max().unwrap_or(0), times().min().unwrap_or(0));
    if !has_history && newest - oldest <= SPREAD_SECONDS {
        return Vec::new();
    }
    let active = files
        .iter()
        .filter(|file| !has_history || file.1.frecency > 0.0)
        .filter_map(|(_, file)| {
            let mut candidate = first(index, ask, file, Reason::Active)?;
            let chunk = file.chunks.iter().find_map(|chunk| index.chunk(*chunk))?;
            let lowering = lowering(index, ask, file, chunk, false, now);
            candidate.score = ask.task.weight(chunk.kind)
                * lowering
                * if has_history {
                    file.frecency
                } else {
                    let age = (newest - file.stat.modified_ns / 1_000_000_000) as f32;
                    0.5f32.powf(age / (7 * SECONDS_PER_DAY) as f32)
                };
            Some(candidate)
        })
        .collect();
    best(active, 2 * ask.query.max_items)
}

/// This many of the best, in their order.
fn best(mut candidates: Vec<Candidate>, count: usize) -> Vec<Candidate> {
    if candidates.len() > count {
        candidates.select_nth_unstable_by(count, Candidate::by_rank);
        candidates.truncate(count);
    }
    candidates.sort_unstable_by(Candidate::by_rank);
    candidates
}

/// Where the project is explained: what other files refer to, decisions in force, the first pages;
/// then the code with the most definitions.
fn central(index: &Index, ask: &Ask<'_>, files: &[(Slot, &FileFact)]) -> Vec<Candidate> {
    let central = files
        .iter()
        .filter_map(|(_, file)| {
            let depth = file.path.bytes().filter(|byte| *byte == b'/').count() as f32;
            let linked = (index.linked(file) as f32).ln_1p();
            let worth = match file.kind {
                Kind::Readme => 2.0,
                Kind::Spec | Kind::Strategy => 1.5,
                Kind::Decision if file.standing == Standing::Accepted => 1.0,
                Kind::Decision if file.standing == Standing::Current => 0.8,
                Kind::Guide => 0.6,
                Kind::Module => 0.1 * (file.chunks.len() as f32).ln_1p(),
                _ => 0.3,
            };
            let fits = ask.task.weight(file.kind);
            let lowered = file.prior.test || file.prior.archived;
            if lowered || file.standing == Standing::Past || index.is_replaced(file) {
                return None;
            }
            let mut candidate = first(index, ask, file, Reason::Central)?;
            candidate.score = (worth + 0.5 * linked) * fits / (1.0 + 0.5 * depth);
            Some(candidate)
        })
        .collect();
    best(central, 2 * ask.query.max_items)
}
