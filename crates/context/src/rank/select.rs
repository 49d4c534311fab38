//! Which candidates become items, in which order: best first, but without near-duplicates.

use std::collections::{HashMap, HashSet};

use waypost_ranking::{NumberMap, Slot};

use super::candidate::{Candidate, What};
use super::weights::Weights;
use crate::text::{fnv, short_hash};
use crate::{Item, Kind, Source, TaskType};

/// Consecutive words that are compared.
const SHINGLE: usize = 5;
/// Shorter texts, such as `fn new() -> Self`, are the same by accident.
const SHINGLES_MIN: usize = 12;
/// From this similarity on, two texts count as the same.
const SAME: f32 = 0.8;
/// The most items of one file.
const PER_FILE_MAX: usize = 6;
/// Candidates with at least this share of the best score count for the share of their source.
const NEAR: f32 = 0.3;

/// Chooses items among candidates.
#[derive(Debug)]
pub(crate) struct Selection<'a> {
    weights: &'a Weights,
    task: TaskType,
    pool: Vec<Entry>,
    top: f32,
    items_max: usize,
    chosen: Vec<Text>,
    of_file: NumberMap<Slot, usize>,
    of_source: HashMap<Source, usize>,
    /// Names and contents of the chosen ones: the same file can have two names.
    given: HashSet<u64>,
}

#[derive(Debug)]
struct Entry {
    candidate: Candidate,
    /// Whether it may still be chosen.
    open: bool,
    /// Its item and the relevant parts of its text, once it has been read.
    read: Option<(Item, Text)>,
    /// Its greatest similarity to the chosen ones, and with how many it was compared.
    alike: f32,
    compared: usize,
}

/// What texts are compared by.
#[derive(Debug)]
struct Text {
    /// Sorted, each once.
    shingles: Vec<u64>,
    mirror: String,
}

impl<'a> Selection<'a> {
    pub(crate) fn new(
        mut candidates: Vec<Candidate>,
        weights: &'a Weights,
        task: TaskType,
        items_max: usize,
    ) -> Self {
        candidates.sort_unstable_by(Candidate::by_rank);
        let top = candidates.first().map_or(0.0, |candidate| candidate.score);
        let entry =
            |candidate| Entry { candidate, open: true, read: None, alike: 0.0, compared: 0 };
        Self {
            weights,
            task,
            pool: candidates.into_iter().map(entry).collect(),
            top,
            items_max,
            chosen: Vec::new(),
            of_file: NumberMap::default(),
            of_source: HashMap::new(),
            given: HashSet::new(),
        }
    }

    /// The best by score: this many for each requested item.
    pub(crate) fn first(&self, each: usize) -> impl Iterator<Item = &Candidate> {
        self.pool.iter().take(self.items_max.saturating_mul(each)).map(|pool| &pool.candidate)
    }

    /// The items, each with its worth, 0 to 1. `read` returns the item of a candidate that comes into
    /// question, if it still has one.
    pub(crate) fn items(mut self, mut read: impl FnMut(&Candidate) -> Option<Item>) -> Vec<Item> {
        let mut items = Vec::new();
        while items.len() < self.items_max
            && let Some((at, worth)) = self.best()
        {
            let entry = &mut self.pool[at];
            let Some((_, text)) = &entry.read else {
                let mirror = mirror(&entry.candidate.path);
                entry.read = read(&entry.candidate).map(|item| {
                    let shingles = shingles(&item.content);
                    (item, Text { shingles, mirror })
                });
                entry.open = entry.read.is_some();
                continue;
            };
            let new = &self.chosen[entry.compared..];
            if !new.is_empty() {
                let alike = new.iter().map(|new| alike(new, text)).fold(entry.alike, f32::max);
                (entry.alike, entry.compared) = (alike, self.chosen.len());
                continue;
            }
            entry.open = false;
            let Some((mut item, text)) = entry.read.take() else { continue };
            if self.given.insert(identity(&item)) {
                item.score = if self.top > 0.0 { worth / self.top } else { 0.0 };
                items.push(item);
                self.choose(at, text);
            }
        }
        items
    }

    fn worth_of(&self, entry: &Entry) -> f32 {
        let before = match entry.candidate.what {
            What::Chunk(file, _) => self.of_file.get(&file).copied().unwrap_or(0),
            What::Commit(_) => 0,
        };
        let unlike = if entry.alike >= SAME { 0.5 } else { 1.0 };
        // The file's part of the score counts once, with its first item; the chunk's own part still
        // counts.
        let Candidate { score, own, .. } = entry.candidate;
        let of_file = (score - own) * self.weights.same_file.powi(before as i32);
        (of_file + own) * unlike
    }

    /// The best one that may still be chosen, and its worth.
    fn best(&self) -> Option<(usize, f32)> {
        let lacking = self.lacking();
        let mut best: Option<(usize, f32)> = None;
        for (at, entry) in self.pool.iter().enumerate() {
            let is_near = entry.candidate.score >= NEAR * self.top;
            if !lacking.is_empty() && !is_near {
                break;
            }
            let source = entry.candidate.kind.source();
            if !entry.open || !(lacking.is_empty() || lacking.contains(&source)) {
                continue;
            }
            // It is never worth more than its score, and the pool is sorted by score.
            if best.is_some_and(|(_, worth)| entry.candidate.score < worth) {
                break;
            }
            let worth = self.worth_of(entry);
            if best.is_none_or(|(_, best)| worth > best) {
                best = Some((at, worth));
            }
        }
        best
    }

    /// The sources that must get all remaining places to reach their share.
    fn lacking(&self) -> Vec<Source> {
        let left = self.items_max - self.chosen.len();
        let mut lacking = Vec::new();
        let mut places = 0;
        for &(source, share) in self.task.floors() {
            let floor = (share * self.items_max as f32) as usize;
            let missing = floor.saturating_sub(self.of_source.get(&source).copied().unwrap_or(0));
            if missing == 0 {
                continue;
            }
            // The pool is sorted by score.
            let near = self.pool.iter().take_while(|pool| pool.candidate.score >= NEAR * self.top);
            let of_it = near.filter(|near| near.open && near.candidate.kind.source() == source);
            let there = of_it.take(missing).count();
            if there > 0 {
                lacking.push(source);
                places += there;
            }
        }
        if places >= left { lacking } else { Vec::new() }
    }

    fn choose(&mut self, at: usize, text: Text) {
        self.chosen.push(text);
        let Candidate { kind, what, .. } = self.pool[at].candidate;
        *self.of_source.entry(kind.source()).or_default() += 1;
        let What::Chunk(file, _) = what else { return };
        let count = self.of_file.entry(file).or_default();
        *count += 1;
        if *count >= PER_FILE_MAX {
            for entry in &mut self.pool {
                let is_same = matches!(entry.candidate.what, What::Chunk(it, _) if it == file);
                entry.open &= !is_same;
            }
        }
    }
}

/// What is the same in two items that say the same.
fn identity(item: &Item) -> u64 {
    let title = if item.kind == Kind::Module { "" } else { &item.title };
    let name = title.rsplit("::").next().unwrap_or_default();
    short_hash(format!("{name}\n{}", item.content).as_bytes())
}

/// The similarity of two texts, 0 to 1: the share of five-word runs that both contain. The same
/// page in two languages counts as nearly the same.
fn alike(a: &Text, b: &Text) -> f32 {
    if !a.mirror.is_empty() && a.mirror == b.mirror {
        return 0.9;
    }
    if a.shingles.len().min(b.shingles.len()) < SHINGLES_MIN {
        return 0.0;
    }
    let both = common(&a.shingles, &b.shingles);
    both as f32 / (a.shingles.len() + b.shingles.len() - both) as f32
}

/// How many numbers two sorted lists have in common.
fn common(mut a: &[u64], mut b: &[u64]) -> usize {
    let mut count = 0;
    while let ([first, a_rest @ ..], [second, b_rest @ ..]) = (a, b) {
        count += usize::from(first == second);
        // Without an unpredictable branch.
        a = if first <= second { a_rest } else { a };
        b = if second <= first { b_rest } else { b };
    }
    count
}

/// The factor of the hash of a run of words.
const PRIME: u64 = 0x0100_0000_01b3;

fn shingles(content: &str) -> Vec<u64> {
    let words: Vec<u64> = content
        .split(|c: char| !c.is_alphanumeric())
        .filter(|part| !part.is_empty())
        .map(|part| fnv(part.bytes()))
        .collect();
    let run = |it: &[u64]| {
        it.iter().fold(0u64, |all, word| (all ^ word).wrapping_mul(PRIME).rotate_left(17))
    };
    let mut shingles: Vec<u64> = match words.len() {
        0 => Vec::new(),
        1..SHINGLE => vec![run(&words)],
        _ => words.windows(SHINGLE).map(run).collect(),
    };
    shingles.sort_unstable();
    shingles.dedup();
    shingles
}

/// A path without the folder that names its language; empty if none does.
fn mirror(path: &str) -> String {
    let is_language = |text: &str| {
        let (language, region) = text.split_once(['-', '_']).unwrap_or((text, "XX"));
        language.len() == 2
            && region.len() == 2
            && LANGUAGES.contains(&language)
            && region.chars().all(|c| c.is_ascii_alphabetic())
    };
    let parts: Vec<&str> = path.split('/').collect();
    let at = parts.iter().rev().skip(1).position(|part| is_language(part));
    at.map_or_else(String::new, |at| {
        let at = parts.len() - 2 - at;
        let rest = parts.iter().enumerate().filter(|pair| pair.0 != at).map(|pair| *pair.1);
        rest.collect::<Vec<_>>().join("/")
    })
}

/// The most common languages of translated documents.
const LANGUAGES: &[&str] = &[
    "ar", "az", "bn", "cs", "da", "de", "el", "en", "es", "fa", "fi", "fr", "he", "hi", "hu", "id",
    "it", "ja", "ko", "nl", "no", "pl", "pt", "ro", "ru", "sv", "th", "tr", "uk", "ur", "vi", "zh",
];

#[cfg(test)]
mod tests {
    use super::super::candidate::Reasons;
    use super::*;
    use crate::Reason;

    fn candidate(file: u32, chunk: u32, kind: Kind, score: f32) -> Candidate {
        let path = format!("f{file}").into();
        Candidate {
            what: What::Chunk(file, chunk),
            kind,
            path,
            line: chunk,
            score,
            own: 0.0,
            why: Reasons::One(Reason::Words),
        }
    }

    /// The files in the order of their choice; each file's text is unique unless `text` says
    /// otherwise.
    fn chosen(
        candidates: Vec<Candidate>,
        task: TaskType,
        items_max: usize,
        text: &dyn Fn(u32) -> String,
    ) -> Vec<u32> {
        let weights = Weights::default();
        let selection = Selection::new(candidates, &weights, task, items_max);
        let item = |candidate: &Candidate| {
            let What::Chunk(file, chunk) = candidate.what else { return None };
            Some(Item {
                source: candidate.kind.source(),
                kind: candidate.kind,
                title: chunk.to_string(),
                content: text(file),
                path: candidate.path.to_string(),
                line: 1,
                end_line: file,
                score: 0.0,
                updated_at: None,
                tokens: 0,
                truncated: false,
                why: Vec::new(),
            })
        };
        selection.items(item).iter().map(|item| item.end_line).collect()
    }

    fn own(file: u32) -> String {
        (0..20).map(|word| format!("w{file}x{word}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_file_has_six_items_at_most_and_its_second_waits() {
        let mut candidates: Vec<Candidate> =
            (0..7).map(|number| candidate(1, number, Kind::Function, 1.0)).collect();
        candidates.push(candidate(2, 9, Kind::Function, 0.9));
        let files = chosen(candidates, TaskType::General, 10, &own);
        assert_eq!(files, [1, 2, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn what_says_the_same_comes_later() {
        let same = |file: u32| own(file.min(2));
        let candidates = vec![
            candidate(2, 1, Kind::Guide, 1.0),
            candidate(3, 2, Kind::Guide, 0.9),
            candidate(1, 3, Kind::Guide, 0.6),
        ];
        assert_eq!(chosen(candidates.clone(), TaskType::General, 3, &same), [2, 1, 3]);
        let short = |_: u32| "fn new() -> Self".to_owned();
        assert_eq!(chosen(candidates.clone(), TaskType::General, 3, &short), [2, 3, 1]);
        assert_eq!(chosen(candidates, TaskType::General, 3, &own), [2, 3, 1]);
    }

    #[test]
    fn each_source_has_its_share_if_it_comes_near() {
        let mut candidates: Vec<Candidate> =
            (0..20).map(|number| candidate(number, number, Kind::Guide, 1.0)).collect();
        candidates.extend((20..30).map(|number| candidate(number, number, Kind::Function, 0.4)));
        candidates.extend((30..40).map(|number| candidate(number, number, Kind::Function, 0.2)));
        let is_code = |number: &&u32| **number >= 20;
        let files = chosen(candidates.clone(), TaskType::Code, 10, &own);
        assert_eq!(files.iter().filter(is_code).count(), 5);
        assert!(files.iter().take(5).all(|it| *it < 20), "{files:?}");
        let files = chosen(candidates, TaskType::General, 10, &own);
        assert_eq!(files.iter().filter(is_code).count(), 0);
    }

    #[test]
    fn translations_of_a_page_are_alike() {
        assert_eq!(mirror("docs/en/intro.md"), mirror("docs/pt-BR/intro.md"));
        assert_eq!(mirror("docs/intro.md"), "");
        assert_eq!(mirror("src/io/mod.rs"), "");
        assert_eq!(mirror("de.md"), "");
    }
}
