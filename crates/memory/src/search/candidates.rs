//! Candidates, and their scores from terms, vectors and cues.

use waypost_ranking::{
    Cues, Hit, Period, Range, Slot, TextSearch, VectorSearch, periods, substance,
};

use crate::index::view::{Fact, Space, View, day_of};
use crate::{MemoryId, SearchParams};

/// A memory that may become a hit, and its scores.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) id: MemoryId,
    pub(super) part: u32,
    pub(super) slot: Slot,
    pub(super) lexical: f32,
    pub(super) semantic: Option<f32>,
    /// The weight of the lexical score, with the semantic weight added if the memory has no vector.
    pub(super) lexical_weight: f64,
    /// The weighted sum of the lexical and the semantic score.
    pub(super) base: f64,
    /// The bonuses for its cues, its length and its title.
    pub(super) cues: f64,
    /// The bonus for the days that it is about.
    pub(super) dates: f64,
    /// The bonus for being newer than other hits.
    pub(super) recency: f64,
    /// Whether it is a question.
    pub(super) asks: bool,
    /// Whether it has links.
    pub(super) is_linked: bool,
    pub(super) neighbours: f64,
    pub(super) links: f64,
    /// The factor by which newer memories that update it reduce its score.
    pub(super) superseded: f64,
    /// The amount added so that it ranks no lower than the memories that it updates.
    pub(super) lifted: f64,
    /// Whether the lexical or the semantic search found it; otherwise it is only related to one
    /// that was found.
    pub(super) found: bool,
}

impl Candidate {
    pub(super) fn total(&self) -> f64 {
        self.base + self.cues + self.dates + self.recency + self.neighbours + self.links
    }
}

/// Candidates, sorted by id.
#[derive(Debug, Default)]
pub(super) struct Candidates(Vec<Candidate>);

impl Candidates {
    pub(super) fn iter(&self) -> std::slice::Iter<'_, Candidate> {
        self.0.iter()
    }

    pub(super) fn iter_mut(&mut self) -> std::slice::IterMut<'_, Candidate> {
        self.0.iter_mut()
    }

    pub(super) fn get(&self, id: MemoryId) -> Option<&Candidate> {
        self.place(id).map(|at| &self.0[at])
    }

    pub(super) fn get_mut(&mut self, id: MemoryId) -> Option<&mut Candidate> {
        self.place(id).map(|at| &mut self.0[at])
    }

    /// Adds candidates whose ids are new.
    pub(super) fn add(&mut self, more: impl IntoIterator<Item = Candidate>) {
        let before = self.0.len();
        self.0.extend(more);
        if self.0.len() > before {
            self.0.sort_unstable_by_key(|it| it.id);
        }
    }

    pub(super) fn at(&self, place: usize) -> &Candidate {
        &self.0[place]
    }

    pub(super) fn at_mut(&mut self, place: usize) -> &mut Candidate {
        &mut self.0[place]
    }

    /// The position of a candidate, in the order of ids.
    pub(super) fn place(&self, id: MemoryId) -> Option<usize> {
        self.0.binary_search_by_key(&id, |it| it.id).ok()
    }
}

/// The bonuses that a query grants to texts, in addition to the scores of its terms and vector.
pub(super) struct Bonuses<'a> {
    pub(super) params: &'a SearchParams,
    /// The original query without feedback, which is compared with titles.
    pub(super) given: &'a TextSearch<'a>,
    /// The names in the query.
    pub(super) names: &'a TextSearch<'a>,
    pub(super) cues: Cues,
    /// The days that the query names.
    pub(super) periods: Vec<Period>,
}

impl<'a> Bonuses<'a> {
    /// `given` and `names` are the searches for the query's terms and for its names.
    pub(super) fn of(
        query: &str,
        today: Option<i32>,
        params: &'a SearchParams,
        (given, names): (&'a TextSearch<'a>, &'a TextSearch<'a>),
    ) -> Self {
        let (cues, periods) = (Cues::wanted_by(query), periods(query, today));
        Self { params, given, names, cues, periods }
    }

    fn bonus(&self, cues: Cues, length: u32) -> f64 {
        let params = self.params;
        let has = |it: bool, weight: f64| if it { weight } else { 0.0 };
        params.substance_weight * f64::from(substance(length))
            + has(!cues.asks, params.telling_weight)
            + has(self.cues.tells_time && cues.tells_time, params.time_weight)
    }

    /// The bonus of a statement of the mean length.
    pub(super) fn background(&self) -> f64 {
        self.bonus(Cues::default(), self.given.mean_length().round() as u32)
    }

    /// How likely a memory is about the days that the query names: those on which it was created,
    /// or that its text names.
    fn dates(&self, fact: &Fact) -> f64 {
        if self.periods.is_empty() {
            return 0.0;
        }
        let created = Period::day(day_of(fact.created_at));
        let own = fact.periods.iter().copied().chain([created]);
        let shares =
            own.flat_map(|own| self.periods.iter().map(move |period| own.share_within(*period)));
        self.params.date_weight * f64::from(shares.fold(0.0, f32::max))
    }
}

/// A memory, its place in the index, and the scores that are already computed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scored {
    id: MemoryId,
    part: u32,
    slot: Slot,
    lexical: Option<f32>,
    semantic: Option<f32>,
}

impl Scored {
    /// A memory without computed scores.
    pub(super) fn not(id: MemoryId, (part, slot): (u32, Slot)) -> Self {
        Self { id, part, slot, lexical: None, semantic: None }
    }
}

/// The lexical and the semantic search, and how their scores are normalised and weighted.
pub(super) struct Scoring<'a> {
    pub(super) view: &'a View,
    pub(super) spaces: &'a [&'a Space],
    pub(super) bonuses: Bonuses<'a>,
    pub(super) text: &'a TextSearch<'a>,
    pub(super) vectors: Option<&'a VectorSearch<'a>>,
    pub(super) lexical_range: Range,
    pub(super) semantic_range: Range,
    pub(super) lexical_weight: f64,
    pub(super) semantic_weight: f64,
    /// Whether the lexical search runs.
    pub(super) by_words: bool,
    /// The hits of the lexical search, best first.
    pub(super) lexical: &'a [Hit],
    pub(super) semantic: &'a [Hit],
}

impl Scoring<'_> {
    pub(super) fn candidate(&self, scored: &Scored, found: bool) -> Candidate {
        let Scored { id, part, slot, .. } = *scored;
        let lexical = if self.lexical_weight > 0.0 {
            scored.lexical.unwrap_or_else(|| self.text.score(part, slot))
        } else {
            0.0
        };
        let semantic =
            scored.semantic.or_else(|| self.vectors.and_then(|vector| vector.score(part, slot)));
        let fact = self.spaces.get(part as usize).and_then(|space| space.fact(slot));
        let lexical_weight = self.lexical_weight_of(semantic);
        let mut candidate = Candidate {
            id,
            part,
            slot,
            lexical,
            semantic,
            lexical_weight,
            base: 0.0,
            cues: fact.map_or(0.0, |fact| self.bonuses.bonus(fact.cues, fact.length)),
            dates: fact.map_or(0.0, |fact| self.bonuses.dates(fact)),
            recency: 0.0,
            asks: fact.is_some_and(|fact| fact.cues.asks),
            is_linked: self.view.graph.has_links(id),
            neighbours: 0.0,
            links: 0.0,
            superseded: 1.0,
            lifted: 0.0,
            found,
        };
        candidate.base = self.base(&candidate);
        candidate
    }

    /// The weighted sum of the lexical and the semantic score.
    pub(super) fn base(&self, candidate: &Candidate) -> f64 {
        candidate.lexical_weight * self.words(candidate.lexical)
            + self.semantic_share(candidate.semantic)
    }

    /// Adds what the candidates' titles have that the query asks for.
    pub(super) fn grant_titles(&self, candidates: &mut Candidates) {
        let Bonuses { params, given, .. } = &self.bonuses;
        let titles =
            given.titles(candidates.iter().map(|candidate| (candidate.part, candidate.slot)));
        for (candidate, title) in candidates.iter_mut().zip(titles) {
            let named = if title.has_term { params.title_weight } else { 0.0 };
            candidate.cues += named + params.label_weight * f64::from(title.labels);
        }
    }

    /// The hits of both searches as candidates. Their scores are not computed again.
    pub(super) fn candidates(&self) -> Candidates {
        let scored = |hit: &Hit| {
            let id = MemoryId::new(hit.id)?;
            Some(Scored::not(id, (hit.part, hit.slot)))
        };
        let mut all: Vec<Scored> = Vec::with_capacity(self.lexical.len() + self.semantic.len());
        all.extend(
            self.lexical
                .iter()
                .filter_map(|hit| Some(Scored { lexical: Some(hit.score), ..scored(hit)? })),
        );
        all.extend(
            self.semantic
                .iter()
                .filter_map(|hit| Some(Scored { semantic: Some(hit.score), ..scored(hit)? })),
        );
        all.sort_unstable_by_key(|item| item.id);
        all.dedup_by(|other, kept| {
            let is_same = other.id == kept.id;
            if is_same {
                kept.lexical = kept.lexical.or(other.lexical);
                kept.semantic = kept.semantic.or(other.semantic);
            }
            is_same
        });
        if self.lexical_weight > 0.0 {
            let mut missing: Vec<&mut Scored> =
                all.iter_mut().filter(|item| item.lexical.is_none()).collect();
            let places: Vec<(u32, Slot)> =
                missing.iter().map(|missing| (missing.part, missing.slot)).collect();
            for (scored, score) in missing.iter_mut().zip(self.text.scores_of(&places)) {
                scored.lexical = Some(score);
            }
        }
        Candidates(all.iter().map(|item| self.candidate(item, true)).collect())
    }

    /// The weight of the lexical score of a memory with this similarity. A memory without a vector
    /// is not necessarily dissimilar: its lexical score gets both weights, as in a lexical search.
    fn lexical_weight_of(&self, semantic: Option<f32>) -> f64 {
        match semantic {
            None if self.lexical_weight > 0.0 => self.lexical_weight + self.semantic_weight,
            _ => self.lexical_weight,
        }
    }

    /// The normalised lexical score, 0 to 1.
    pub(super) fn words(&self, score: f32) -> f64 {
        // Without a matching term the score is 0, whatever the range is.
        if score > 0.0 { f64::from(self.lexical_range.apply(score)) } else { 0.0 }
    }

    pub(super) fn semantic_share(&self, score: Option<f32>) -> f64 {
        score
            .map_or(0.0, |score| self.semantic_weight * f64::from(self.semantic_range.apply(score)))
    }
}
