//! Commits as items: for those who plan, and who ask for them.

use waypost_ranking::{Analyzer, Slots, TextIndex, TextPart, TextSearch};

use super::ask::Ask;
use super::candidates::{Candidate, What};
use super::weights::Weights;
use crate::past::History;
use crate::{Kind, Reason, TaskType};

/// So many of them can be found.
const COMMITS: usize = 30;
const SECONDS_PER_DAY: f32 = 86_400.0;

/// The words of the newest commits.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    slots: Slots,
    words: TextIndex,
    times: Vec<i64>,
}

impl Commits {
    pub(crate) fn new(analyzer: &Analyzer, history: &History) -> Self {
        let mut commits = Self::default();
        for (place, commit) in history.commits().enumerate() {
            let slot = commits.slots.assign(place as u64);
            commits.words.insert(slot, &analyzer.document(commit.subject(), commit.body()));
            commits.times.push(commit.time());
        }
        commits
    }

    /// Whether a query is to find them.
    pub(crate) fn are_wanted(ask: &Ask<'_>) -> bool {
        let asked = ask.query.kinds.contains(&Kind::Commit);
        ask.wants_kind(Kind::Commit) && (asked || ask.task == TaskType::Strategy)
    }

    /// What a query finds, the best with `score_max`.
    pub(crate) fn candidates(
        &self,
        ask: &Ask<'_>,
        weights: &Weights,
        score_max: f32,
        now: i64,
    ) -> Vec<Candidate> {
        let parts = [TextPart { slots: &self.slots, index: &self.words, filter: None }];
        let hits = TextSearch::new(&parts, &ask.words, weights.bm25).top(COMMITS);
        let high = hits.first().map_or(1.0, |it| it.score);
        let candidate = |place: u64, share: f32| {
            let age = (now - self.times.get(place as usize)?).max(0) as f32 / SECONDS_PER_DAY;
            let fresh = 0.6 + 0.4 * 0.5f32.powf(age / ask.task.half_life_days());
            let score = score_max * share * fresh * ask.task.weight(Kind::Commit);
            Some(Self::candidate(place as u32, score, vec![Reason::Words]))
        };
        hits.iter().filter_map(|it| candidate(it.id, it.score / high)).collect()
    }

    pub(super) fn candidate(place: u32, score: f32, why: Vec<Reason>) -> Candidate {
        let what = What::Commit(place);
        Candidate { what, kind: Kind::Commit, path: Box::default(), line: place, score, why }
    }

    /// The newest, and their number.
    pub(super) fn newest(&self) -> impl Iterator<Item = (u32, i64)> {
        self.times.iter().enumerate().map(|(place, time)| (place as u32, *time))
    }
}
