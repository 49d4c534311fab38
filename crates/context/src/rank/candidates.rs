//! What may be answered, with what speaks for it.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use waypost_ranking::{Slot, TextSearch, TitleMatch};

use super::ask::{Ask, Named};
use super::commits::Commits;
use super::search::{Search, nearest, part, sorted};
use super::weights::Weights;
use crate::index::{ChunkFact, FileFact, Holds, Index, Words};
use crate::{Kind, Reason, Source};

/// So many of the best files by each signal are looked at more closely.
const FILES: usize = 200;
/// So many of the best chunks.
const CHUNKS: usize = 400;
/// So many chunks of one file that are among them.
const CHUNKS_OF_FILE: usize = 32;
/// Of so many of the best files every piece is looked at, unless it has more than so many.
const WHOLE_FILES: usize = 10;
const PIECES: usize = 128;
/// A query of so many terms leaves frecency its weight; of a longer one the words count more.
const PRIOR_TERMS: f32 = 7.0;
/// What the words of a piece that is nothing but its words count for what would be inside.
const ONCE: f32 = 0.75;
const SECONDS_PER_DAY: f32 = 86_400.0;

/// A chunk that may be answered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) what: What,
    pub(crate) kind: Kind,
    /// For the order of equals.
    pub(crate) path: Arc<str>,
    pub(crate) line: u32,
    pub(crate) score: f32,
    /// How much of the score is its own, and not its file's.
    pub(crate) own: f32,
    pub(crate) why: Vec<Reason>,
}

/// What a candidate is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum What {
    /// A chunk of a file, by their slots.
    Chunk(Slot, Slot),
    /// A commit, by its place in the history.
    Commit(u32),
}

impl Candidate {
    pub(super) fn of_chunk(
        index: &Index,
        slot: Slot,
        (score, own): (f32, f32),
        why: Vec<Reason>,
    ) -> Option<Self> {
        let chunk = index.chunk(slot)?;
        let path = index.file(chunk.file)?.path.clone();
        let what = What::Chunk(chunk.file, slot);
        Some(Self { what, kind: chunk.kind, path, line: chunk.line, score, own, why })
    }

    /// The order of answers: the best first, then by source, path and line.
    pub(super) fn by_rank(a: &Self, b: &Self) -> Ordering {
        let place = |it: &Self| (it.kind.source(), it.line);
        b.score
            .total_cmp(&a.score)
            .then_with(|| place(a).0.cmp(&place(b).0))
            .then_with(|| a.path.cmp(&b.path))
            .then_with(|| place(a).1.cmp(&place(b).1))
    }
}

/// What each signal gives a file, 0 to 1.
#[derive(Debug, Clone, Copy, Default)]
struct Signals {
    body: f32,
    path: f32,
    subjects: f32,
    commits: f32,
    frecency: f32,
    named: f32,
    mentioned: f32,
}

impl Signals {
    fn sum(&self, weights: &Weights) -> f32 {
        weights.body * self.body
            + weights.path * self.path
            + weights.subjects * self.subjects
            + weights.commits * self.commits
            + weights.frecency * self.frecency
            + weights.named * self.named
            + weights.mentioned * self.mentioned
    }
}

/// What each signal gives a chunk, 0 to 1.
#[derive(Debug, Clone, Copy, Default)]
struct Own {
    words: f32,
    within: f32,
    name: f32,
    near: f32,
    defined: f32,
}

impl Own {
    fn sum(&self, weights: &Weights) -> f32 {
        weights.chunk * self.words
            + weights.inside * self.within
            + weights.name * self.name
            + weights.meaning * self.near
            + weights.defined * self.defined
    }
}

/// What a query finds, in no order. `now` is in seconds since 1970.
pub(crate) fn candidates(
    index: &Index,
    ask: &Ask<'_>,
    commits: Option<&Commits>,
    weights: &Weights,
    now: i64,
) -> Vec<Candidate> {
    let all = ask.wants_all();
    let wants_file = |slot: Slot| index.file(slot).is_some_and(|it| ask.wants_file(it));
    let wants_chunk = |slot: Slot| {
        index.chunk(slot).is_some_and(|it| ask.wants_kind(it.kind) && wants_file(it.file))
    };
    let of_files =
        |which| part(&index.files, index.words(which), if all { None } else { Some(&wants_file) });
    let parts = [Words::Body, Words::Path, Words::Subjects].map(of_files);
    let (mut body, a) = Search::new(&parts[0], &ask.words, weights.bm25_body, FILES);
    let (mut path, b) = Search::new(&parts[1], &ask.words, weights.bm25, FILES);
    let (mut subjects, c) = Search::new(&parts[2], &ask.plain, weights.bm25, FILES);
    let near_commits = commits.map(|it| it.files(index, ask, weights)).unwrap_or_default();
    let filter: Option<waypost_ranking::Filter<'_>> = if all { None } else { Some(&wants_chunk) };
    let chunk_parts = part(&index.chunks, index.words(Words::Chunks), filter);
    let (mut chunks, chunk_hits) = Search::new(&chunk_parts, &ask.words, weights.bm25, CHUNKS);
    let inside_parts = part(&index.chunks, index.words(Words::Inside), filter);
    let (mut inside_of, inside_hits) = Search::new(&inside_parts, &ask.words, weights.bm25, CHUNKS);
    let nearest = nearest(index, ask, filter, CHUNKS);

    // Which files, and which of their chunks.
    let mut of_file: HashMap<Slot, Vec<Slot>> = HashMap::new();
    let near = near_commits.keys().copied().filter(|it| all || wants_file(*it));
    for slot in a.iter().chain(&b).chain(&c).map(|it| it.slot).chain(near) {
        of_file.entry(slot).or_default();
    }
    let by_words = chunk_hits.iter().chain(&inside_hits).map(|it| it.slot);
    put(index, &mut of_file, by_words.chain(nearest.iter().map(|it| it.0)));
    let meaning: HashMap<Slot, f32> = nearest.into_iter().collect();
    let files: Vec<(Slot, &FileFact)> =
        of_file.keys().filter_map(|&slot| Some((slot, index.file(slot)?))).collect();
    let slots = sorted(files.iter().map(|it| it.0));
    for search in [&mut body, &mut path, &mut subjects] {
        search.look_up(&slots);
    }
    let identifiers = TextSearch::new(&parts[0], &ask.identifiers, weights.bm25).scores(0, &slots);
    let with_identifiers = slots.into_iter().zip(identifiers).filter(|it| it.1 > 0.0);
    let with_identifiers: HashSet<Slot> = with_identifiers.map(|it| it.0).collect();
    // How often a file changes is known before anything is asked; each word says more than that.
    let before = (PRIOR_TERMS / ask.words.terms().len().max(1) as f32).min(1.0);
    let frecency_high = files.iter().map(|it| it.1.frecency.ln_1p()).fold(0.0, f32::max);

    let of_file_signals = |(slot, file): (Slot, &'_ FileFact)| Signals {
        body: body.share(slot),
        path: path.share(slot),
        subjects: subjects.share(slot),
        commits: near_commits.get(&slot).copied().unwrap_or(0.0),
        frecency: if frecency_high > 0.0 {
            before * file.frecency.ln_1p() / frecency_high
        } else {
            0.0
        },
        named: sureness(ask.names_file(&file.path), weights),
        // The file has an identifier of the query, whole.
        mentioned: if with_identifiers.contains(&slot) { 1.0 } else { 0.0 },
    };
    let mut files: Vec<(Slot, &FileFact, Signals)> =
        files.into_iter().map(|it| (it.0, it.1, of_file_signals(it))).collect();
    files.sort_unstable_by(|a, b| {
        b.2.sum(weights).total_cmp(&a.2.sum(weights)).then_with(|| a.1.path.cmp(&b.1.path))
    });
    look_closer(index, ask, &files, &mut of_file);
    let slots = sorted(of_file.values().flatten().copied());
    for search in [&mut chunks, &mut inside_of] {
        search.look_up(&slots);
    }
    let mut pieces = Vec::new();
    for (slot, file, signals) in &files {
        for slot in of_file.remove(slot).unwrap_or_default() {
            let Some(chunk) = index.chunk(slot) else { continue };
            let words = chunks.share(slot);
            // A section has nothing inside, nor has what is said of a file: its words are looked at
            // once, and a definition's twice.
            let is_whole = chunk.kind == Kind::Module || chunk.kind.source() != Source::Code;
            // What these do is in their names; a value's says what it is about.
            let does = matches!(chunk.kind, Kind::Function | Kind::Macro | Kind::Type);
            let own = Own {
                words,
                within: if is_whole { ONCE * words } else { inside_of.share(slot) },
                name: if does { called(chunks.by_words.title_match(0, slot)) } else { 0.0 },
                near: meaning.get(&slot).copied().unwrap_or(0.0),
                defined: sureness(ask.names_chunk(chunk), weights),
            };
            pieces.push((*file, chunk, slot, *signals, own));
        }
    }
    let name_high = pieces.iter().map(|it| it.4.name).fold(0.0, f32::max);
    let candidate = |(file, chunk, slot, signals, own): Piece<'_>| {
        let name = if name_high > 0.0 { own.name / name_high } else { 0.0 };
        let own = Own { name, ..own };
        let why = why(weights, &signals, &own);
        let lowering = lowering(index, ask, file, chunk, signals.named >= 1.0, now);
        let factor = ask.weight(chunk.kind, weights) * lowering;
        let own = own.sum(weights);
        let scores = ((signals.sum(weights) + own) * factor, own * factor);
        Candidate::of_chunk(index, slot, scores, why)
    };
    pieces.into_iter().filter_map(candidate).collect()
}

/// Adds to the pieces of files, the best file first: of the first files every piece, which may be
/// what is asked for without being among the best of all; of the others those that stand for them.
fn look_closer(
    index: &Index,
    ask: &Ask<'_>,
    files: &[(Slot, &FileFact, Signals)],
    of_file: &mut HashMap<Slot, Vec<Slot>>,
) {
    for (place, (slot, file, _)) in files.iter().enumerate() {
        let known = of_file.entry(*slot).or_default();
        if place < WHOLE_FILES && file.chunks.len() <= PIECES {
            let wanted = |it: &&Slot| index.chunk(**it).is_some_and(|it| ask.wants_kind(it.kind));
            *known = file.chunks.iter().filter(wanted).copied().collect();
        } else {
            let leading = leading(index, ask, file, known);
            known.extend(leading);
        }
    }
}

/// Puts chunks to their files, the best first.
fn put(index: &Index, of_file: &mut HashMap<Slot, Vec<Slot>>, chunks: impl Iterator<Item = Slot>) {
    for slot in chunks {
        if let Some(chunk) = index.chunk(slot) {
            let known = of_file.entry(chunk.file).or_default();
            if known.len() < CHUNKS_OF_FILE && !known.contains(&slot) {
                known.push(slot);
            }
        }
    }
}

/// A chunk that may be answered, with what its file's signals and its own are.
type Piece<'a> = (&'a FileFact, &'a ChunkFact, Slot, Signals, Own);

/// How much a definition's name is what the query says: the geometric mean of the share of the name
/// that is in the query and of the share of the query that is in the name.
fn called(title: TitleMatch) -> f32 {
    (title.of_title * title.of_query).sqrt()
}

/// How surely something is named, 0 to 1.
fn sureness(named: Named, weights: &Weights) -> f32 {
    match named {
        Named::Yes => 1.0,
        Named::Perhaps => weights.perhaps,
        Named::No => 0.0,
    }
}

/// The chunks that stand for a file whose words are found and none of whose chunks is: its first
/// one, and those that the query names.
fn leading(index: &Index, ask: &Ask<'_>, file: &FileFact, known: &[Slot]) -> Vec<Slot> {
    let wanted = |slot: &Slot| index.chunk(*slot).is_some_and(|it| ask.wants_kind(it.kind));
    let named =
        |slot: &Slot| index.chunk(*slot).is_some_and(|it| ask.names_chunk(it) == Named::Yes);
    let first = file.chunks.iter().copied().find(wanted).filter(|_| known.is_empty());
    let definitions = if ask.names_definitions() { &file.chunks[..] } else { &[] };
    let named = definitions.iter().copied().filter(|it| wanted(it) && named(it)).take(2);
    let mut leading: Vec<Slot> = named.chain(first).filter(|it| !known.contains(it)).collect();
    leading.dedup();
    leading
}

/// What spoke for a piece, the strongest first.
fn why(weights: &Weights, file: &Signals, own: &Own) -> Vec<Reason> {
    let named = weights.named * file.named
        + weights.defined * own.defined
        + weights.mentioned * file.mentioned;
    let commits = weights.subjects * file.subjects + weights.commits * file.commits;
    let mut shares = [
        (Reason::Named, named),
        (Reason::Words, weights.body * file.body + weights.inside * own.within),
        (Reason::Header, weights.chunk * own.words + weights.name * own.name),
        (Reason::Path, weights.path * file.path),
        (Reason::Commits, commits),
        (Reason::Active, weights.frecency * file.frecency),
        (Reason::Meaning, weights.meaning * own.near),
    ];
    let sum: f32 = shares.iter().map(|it| it.1).sum();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    shares.iter().take_while(|it| it.1 > sum * 0.1).map(|it| it.0).collect()
}

/// What a score is multiplied with for where the item is, how old, and whether it holds.
pub(super) fn lowering(
    index: &Index,
    ask: &Ask<'_>,
    file: &FileFact,
    chunk: &ChunkFact,
    named: bool,
    now: i64,
) -> f32 {
    let prior = file.flags.prior;
    let mut lowering = 1.0;
    if prior.test && !ask.is_about_tests() && !named {
        lowering *= 0.4;
    }
    if prior.generated {
        lowering *= 0.3;
    }
    if (prior.archived || prior.settings) && !named {
        lowering *= 0.5;
    }
    if !named {
        lowering *= match file.holds {
            _ if index.is_replaced(file) => 0.5,
            Holds::Yes | Holds::Accepted => 1.0,
            Holds::Draft => 0.9,
            Holds::No => 0.5,
        };
    }
    lowering * freshness(ask, file, chunk, now)
}

/// Journals age; of documents that are alike the newer comes first; code does not age.
fn freshness(ask: &Ask<'_>, file: &FileFact, chunk: &ChunkFact, now: i64) -> f32 {
    let (low, half_life) = match chunk.kind.source() {
        Source::Journal => (0.6, ask.task.half_life_days()),
        Source::Knowledge => (0.92, 365.0),
        Source::Code => return 1.0,
    };
    let age = (now - date(file, chunk)).max(0) as f32 / SECONDS_PER_DAY;
    low + (1.0 - low) * 0.5f32.powf(age / half_life)
}

/// The date of an item: its own, its document's, its last commit's, its file's.
pub(crate) fn date(file: &FileFact, chunk: &ChunkFact) -> i64 {
    let written = file.stat.modified_ns.div_euclid(1_000_000_000);
    chunk.date.or(file.date).or(file.changed_at).unwrap_or(written)
}
