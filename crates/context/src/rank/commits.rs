//! What past commits contribute: which files a change similar to the requested one touched, and
//! which words are common in requests; and commits as items, for planning tasks and for queries
//! that ask for them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use waypost_ranking::{Analyzer, NumberMap, Slot, Slots, TextIndex, TextPart, TextSearch};
use waypost_time::Timestamp;

use super::ask::Ask;
use super::candidate::{Candidate, Reasons, What};
use super::weights::Weights;
use crate::history::History;
use crate::index::Index;
use crate::{Kind, Reason, TaskType};

/// The most commits found.
const COMMITS: usize = 30;
/// How many commits determine which files a change touches.
const NEAREST: usize = 50;
/// The subject of a commit with more files describes none of them.
const FILES_MAX: usize = 20;
/// Fewer commits do not show which words are common.
const TELLING_MIN: usize = 50;
/// A word counts in full up to this share of the subjects.
const COMMON: f32 = 0.02;
const SECONDS_PER_DAY: f32 = 86_400.0;

/// The words of the newest commits.
#[derive(Debug)]
pub(crate) struct Commits {
    history: Arc<History>,
    slots: Slots,
    words: TextIndex,
    /// The number of subjects that contain a word.
    common: HashMap<String, u32>,
    /// For each path of the history, the last known slot of its file. The reader checks that the
    /// slot still belongs to that file.
    known: Box<[AtomicU32]>,
}

impl Commits {
    pub(crate) fn new(analyzer: &Analyzer, history: Arc<History>) -> Self {
        let (mut slots, mut words) = (Slots::default(), TextIndex::default());
        let mut common: HashMap<String, u32> = HashMap::new();
        for (place, commit) in history.commits().enumerate() {
            let slot = slots.assign(place as u64);
            words.insert(slot, &analyzer.document(commit.subject(), commit.body()));
            let mut terms = analyzer.terms(commit.subject());
            terms.sort_unstable();
            terms.dedup();
            for term in terms {
                *common.entry(term).or_default() += 1;
            }
        }
        let known = (0..history.paths_len()).map(|_| AtomicU32::new(Slot::MAX)).collect();
        Self { history, slots, words, common, known }
    }

    /// The slot of a file, given its path and the path's position in the history.
    fn slot(&self, index: &Index, place: u32, path: &str) -> Option<Slot> {
        let known = self.known.get(place as usize)?;
        let last = known.load(Ordering::Relaxed);
        if index.file(last).is_some_and(|file| *file.path == *path) {
            return Some(last);
        }
        let slot = index.slot(path)?;
        known.store(slot, Ordering::Relaxed);
        Some(slot)
    }

    /// The weight of a query word, 0 to 1.
    pub(super) fn weight(&self, term: &str) -> f32 {
        let all = self.slots.len() as f32;
        if self.slots.len() < TELLING_MIN {
            return 1.0;
        }
        let telling = |with: f32| (1.0 + (all - with + 0.5) / (with + 0.5)).ln();
        let with = self.common.get(term).copied().unwrap_or(0) as f32;
        (telling(with) / telling(COMMON * all)).min(1.0)
    }

    /// The files that the commits nearest to a query touched. The nearer a commit and the fewer its
    /// files, the more it counts. The best file scores the share of the query that the nearest commit
    /// contains: the nearest to a long question is seldom near.
    pub(super) fn files(
        &self,
        index: &Index,
        ask: &Ask<'_>,
        weights: &Weights,
    ) -> NumberMap<Slot, f32> {
        let parts = [TextPart { slots: &self.slots, index: &self.words, filter: None }];
        let search = TextSearch::new(&parts, &ask.plain, weights.bm25);
        let hits = search.top(NEAREST);
        let Some(nearest) = hits.first() else { return NumberMap::default() };
        let (high, said) = (nearest.score, search.coverage(0, nearest.slot));
        let mut files: NumberMap<Slot, f32> = NumberMap::default();
        for hit in &hits {
            let Some(commit) = self.history.commit(hit.id as usize) else { continue };
            let paths = commit.places();
            if paths.len() > FILES_MAX {
                continue;
            }
            let share = (hit.score / high).powi(2) / (paths.len() as f32).sqrt();
            for slot in paths.filter_map(|(place, path)| self.slot(index, place, path)) {
                *files.entry(slot).or_default() += share;
            }
        }
        let high = files.values().copied().fold(0.0, f32::max);
        for it in files.values_mut() {
            *it *= said / high;
        }
        files
    }

    /// Whether a query may return commits.
    pub(crate) fn are_wanted(ask: &Ask<'_>) -> bool {
        let asked = ask.query.kinds.contains(&Kind::Commit);
        ask.wants_kind(Kind::Commit) && (asked || ask.task == TaskType::Strategy)
    }

    /// The commits that a query finds; the best scores `score_max`.
    pub(crate) fn candidates(
        &self,
        ask: &Ask<'_>,
        weights: &Weights,
        score_max: f32,
        now: Timestamp,
    ) -> Vec<Candidate> {
        let parts = [TextPart { slots: &self.slots, index: &self.words, filter: None }];
        let hits = TextSearch::new(&parts, &ask.plain, weights.bm25).top(COMMITS);
        let high = hits.first().map_or(1.0, |hit| hit.score);
        let candidate = |place: u64, share: f32| {
            let time = self.history.commit(place as usize)?.time();
            let age = now.saturating_duration_since(time).as_secs() as f32 / SECONDS_PER_DAY;
            let fresh = 0.6 + 0.4 * 0.5f32.powf(age / ask.task.half_life_days());
            let score = score_max * share * fresh * ask.task.weight(Kind::Commit);
            Some(Self::candidate(place as u32, score, Reasons::One(Reason::Words)))
        };
        hits.iter().filter_map(|hit| candidate(hit.id, hit.score / high)).collect()
    }

    pub(super) fn candidate(place: u32, score: f32, why: Reasons) -> Candidate {
        let what = What::Commit(place);
        Candidate {
            what,
            kind: Kind::Commit,
            path: Arc::default(),
            line: place,
            score,
            own: 0.0,
            why,
        }
    }

    /// The number of commits; the first is the newest.
    pub(super) fn len(&self) -> u32 {
        self.slots.len() as u32
    }
}
