//! The candidates of a query, with the reasons for each.

use waypost_ranking::{NumberMap, Slot};
use waypost_time::Timestamp;

use super::ask::{Ask, Named};
use super::candidate::Candidate;
use super::commits::Commits;
use super::signals::{Own, Search, Signals, called, nearest, part, sums, sureness, why};
use super::weights::Weights;
use crate::index::{ChunkFact, FileFact, Index, Words};
use crate::{Kind, Source, Standing};

/// How many of the best files of each signal are examined more closely.
const FILES: usize = 200;
/// How many of the best chunks.
const CHUNKS: usize = 400;
/// The most chunks of one file among them.
const CHUNKS_OF_FILE: usize = 32;
/// The number of best files whose chunks are all examined, and the most chunks that such a file may
/// have.
const WHOLE_FILES: usize = 10;
const PIECES: usize = 128;
/// The factor for what serves the product without being part of it: tests, settings of tools,
/// generated code.
const ASIDE: f32 = 0.25;
/// The factor for what is no longer in force.
const PAST: f32 = 0.5;
const SECONDS_PER_DAY: f32 = 86_400.0;

/// The candidates of a query, unordered.
pub(crate) fn candidates(
    index: &Index,
    ask: &Ask<'_>,
    commits: Option<&Commits>,
    weights: &Weights,
    now: Timestamp,
) -> Vec<Candidate> {
    let all = ask.wants_all();
    let wants_file = |slot: Slot| index.file(slot).is_some_and(|file| ask.wants_file(file));
    let wants_chunk = |slot: Slot| {
        index.chunk(slot).is_some_and(|chunk| ask.wants_kind(chunk.kind) && wants_file(chunk.file))
    };
    let of_files =
        |which| part(&index.files, index.words(which), if all { None } else { Some(&wants_file) });
    let parts = [Words::Body, Words::Path].map(of_files);
    let (body, a) = Search::new(&parts[0], &ask.words, weights.bm25, FILES);
    let (path, b) = Search::new(&parts[1], &ask.words, weights.bm25, FILES);
    let near_commits = commits.map(|commit| commit.files(index, ask, weights)).unwrap_or_default();
    let filter: Option<waypost_ranking::Filter<'_>> = if all { None } else { Some(&wants_chunk) };
    let chunk_parts = part(&index.chunks, index.words(Words::Chunks), filter);
    let (chunks, chunk_hits) = Search::new(&chunk_parts, &ask.words, weights.bm25, CHUNKS);
    let inside_parts = part(&index.chunks, index.words(Words::Inside), filter);
    let (inside_of, inside_hits) = Search::new(&inside_parts, &ask.words, weights.bm25, CHUNKS);
    let nearest = nearest(index, ask, filter, CHUNKS);

    // Which files, and which of their chunks.
    let mut of_file: NumberMap<Slot, Vec<Slot>> = NumberMap::default();
    let near = near_commits.keys().copied().filter(|key| all || wants_file(*key));
    for slot in a.iter().chain(&b).map(|it| it.slot).chain(near) {
        of_file.entry(slot).or_default();
    }
    let by_words = chunk_hits.iter().chain(&inside_hits).map(|hit| hit.slot);
    put(index, &mut of_file, by_words.chain(nearest.iter().map(|nearest| nearest.0)));
    let meaning: NumberMap<Slot, f32> = nearest.into_iter().collect();
    let file = |(slot, chunks): (Slot, Vec<Slot>)| Some((slot, index.file(slot)?, chunks));
    let mut files: Vec<(Slot, &FileFact, Vec<Slot>)> =
        of_file.into_iter().filter_map(file).collect();
    files.sort_unstable_by_key(|file| file.0);
    let slots: Vec<Slot> = files.iter().map(|file| file.0).collect();
    let [body, path] = [body, path].map(|it| it.shares(&slots));
    let frecency: Vec<f32> = files.iter().map(|file| file.1.frecency.ln_1p()).collect();
    let frecency_high = frecency.iter().copied().fold(0.0, f32::max);
    let nominees = files.into_iter().enumerate().map(|(at, (slot, file, chunks))| {
        let signals = Signals {
            body: body[at],
            path: path[at],
            commits: near_commits.get(&slot).copied().unwrap_or(0.0),
            frecency: if frecency_high > 0.0 { frecency[at] / frecency_high } else { 0.0 },
            named: sureness(ask.names_file(&file.path), weights),
        };
        Nominee { file, chunks, signals, sum: signals.sum(weights) }
    });
    let mut files: Vec<Nominee<'_>> = nominees.collect();
    files.sort_unstable_by(|a, b| {
        b.sum.total_cmp(&a.sum).then_with(|| a.file.path.cmp(&b.file.path))
    });
    look_closer(index, ask, &mut files);

    let slots =
        files.iter().enumerate().flat_map(|(at, it)| it.chunks.iter().map(move |&slot| (slot, at)));
    let pieces: Vec<(Slot, usize)> = slots.collect();
    let words = shares(&chunks, &pieces);
    let within = shares(&inside_of, &pieces);
    let piece = |(at, &(slot, file)): (usize, &(Slot, usize))| {
        let chunk = index.chunk(slot)?;
        let words = words[at];
        // A section has nothing inside, nor has the chunk of a whole file: their words are all.
        let is_whole = chunk.kind == Kind::Module || chunk.kind.source() != Source::Code;
        // For these kinds, the name says what they do; a value's name says what it is about.
        let does = matches!(chunk.kind, Kind::Function | Kind::Macro | Kind::Type);
        let own = Own {
            words,
            within: if is_whole { words } else { within[at] },
            name: if does { called(chunks.by_words.title_match(0, slot)) } else { 0.0 },
            near: meaning.get(&slot).copied().unwrap_or(0.0),
            defined: sureness(ask.names_chunk(chunk), weights),
        };
        Some((&files[file], chunk, slot, own))
    };
    let pieces: Vec<Piece<'_>> = pieces.iter().enumerate().filter_map(piece).collect();
    let candidate = |((nominee, chunk, slot, own), sum): (&Piece<'_>, f32)| {
        let Nominee { file, signals, sum: of_file, .. } = nominee;
        let why = why(weights, signals, own);
        let lowering = lowering(index, ask, file, chunk, signals.named >= 1.0, now);
        let factor = ask.task.weight(chunk.kind) * lowering;
        Candidate::of_chunk(index, *slot, ((of_file + sum) * factor, sum * factor), why)
    };
    // The pieces of a file are next to each other.
    let of_files = pieces.chunk_by(|a, b| a.1.file == b.1.file);
    let summed = of_files.flat_map(|pieces| {
        let own: Vec<Own> = pieces.iter().map(|piece| piece.3).collect();
        pieces.iter().zip(sums(&own, weights))
    });
    summed.filter_map(candidate).collect()
}

/// A file that may be relevant.
struct Nominee<'a> {
    file: &'a FileFact,
    /// Those of its chunks that may be relevant.
    chunks: Vec<Slot>,
    signals: Signals,
    /// The weighted sum of its signals.
    sum: f32,
}

/// A candidate chunk, with its file and its own signals.
type Piece<'a> = (&'a Nominee<'a>, &'a ChunkFact, Slot, Own);

/// The score of each chunk in a search; keeps their order.
fn shares(search: &Search<'_>, pieces: &[(Slot, usize)]) -> Vec<f32> {
    let mut order: Vec<(Slot, usize)> =
        pieces.iter().enumerate().map(|(at, it)| (it.0, at)).collect();
    order.sort_unstable();
    let slots: Vec<Slot> = order.iter().map(|order| order.0).collect();
    let mut shares = vec![0.0; pieces.len()];
    for ((_, at), share) in order.into_iter().zip(search.shares(&slots)) {
        shares[at] = share;
    }
    shares
}

/// Adds chunks of files, best file first: every chunk of the first files, because the wanted one
/// may not be among the best of all; of the others those that represent the file.
fn look_closer(index: &Index, ask: &Ask<'_>, files: &mut [Nominee<'_>]) {
    for (place, Nominee { file, chunks, .. }) in files.iter_mut().enumerate() {
        if place < WHOLE_FILES && file.chunks.len() <= PIECES {
            let wanted =
                |slot: &&Slot| index.chunk(**slot).is_some_and(|chunk| ask.wants_kind(chunk.kind));
            *chunks = file.chunks.iter().filter(wanted).copied().collect();
        } else {
            let leading = leading(index, ask, file, chunks);
            chunks.extend(leading);
        }
    }
}

/// Adds chunks to their files, best first.
fn put(
    index: &Index,
    of_file: &mut NumberMap<Slot, Vec<Slot>>,
    chunks: impl Iterator<Item = Slot>,
) {
    for slot in chunks {
        if let Some(chunk) = index.chunk(slot) {
            let known = of_file.entry(chunk.file).or_default();
            if known.len() < CHUNKS_OF_FILE && !known.contains(&slot) {
                known.push(slot);
            }
        }
    }
}

/// The chunks that represent a file when its words match but none of its chunks does: the first
/// one, and those that the query names.
fn leading(index: &Index, ask: &Ask<'_>, file: &FileFact, known: &[Slot]) -> Vec<Slot> {
    let wanted = |slot: &Slot| index.chunk(*slot).is_some_and(|chunk| ask.wants_kind(chunk.kind));
    let named =
        |slot: &Slot| index.chunk(*slot).is_some_and(|chunk| ask.names_chunk(chunk) == Named::Yes);
    let first = file.chunks.iter().copied().filter(|_| known.is_empty()).find(wanted);
    let definitions = if ask.names_definitions() { &file.chunks[..] } else { &[] };
    let named = definitions
        .iter()
        .copied()
        .filter(|definition| wanted(definition) && named(definition))
        .take(2);
    let mut leading: Vec<Slot> =
        named.chain(first).filter(|named| !known.contains(named)).collect();
    leading.dedup();
    leading
}

/// The factor for a score, from the item's place, its age, and whether it is in force.
pub(super) fn lowering(
    index: &Index,
    ask: &Ask<'_>,
    file: &FileFact,
    chunk: &ChunkFact,
    named: bool,
    now: Timestamp,
) -> f32 {
    let prior = file.prior;
    let mut lowering = 1.0;
    let is_aside = prior.test && !ask.is_about(&file.path) || prior.settings;
    if is_aside && !named || prior.generated {
        lowering *= ASIDE;
    }
    if prior.archived && !named {
        lowering *= PAST;
    }
    if !named {
        lowering *= match file.standing {
            _ if index.is_replaced(file) => PAST,
            Standing::Current | Standing::Accepted => 1.0,
            Standing::Draft => 0.9,
            Standing::Past => PAST,
        };
    }
    lowering * freshness(ask, file, chunk, now)
}

/// Journals age; of similar documents the newer comes first; code does not age.
fn freshness(ask: &Ask<'_>, file: &FileFact, chunk: &ChunkFact, now: Timestamp) -> f32 {
    let (low, half_life) = match chunk.kind.source() {
        Source::Journal => (0.6, ask.task.half_life_days()),
        Source::Knowledge => (0.92, 365.0),
        Source::Code => return 1.0,
    };
    let age = now.saturating_duration_since(date(file, chunk)).as_secs() as f32 / SECONDS_PER_DAY;
    low + (1.0 - low) * 0.5f32.powf(age / half_life)
}

/// The date of an item: its own, else its document's, its last commit's, its file's.
pub(crate) fn date(file: &FileFact, chunk: &ChunkFact) -> Timestamp {
    let written = Timestamp::from_secs(file.stat.modified_ns.div_euclid(1_000_000_000));
    chunk.date.or(file.date).or(file.changed_at).unwrap_or(written)
}
