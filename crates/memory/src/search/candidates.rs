//! What may become a hit, and what words, meaning and wording give it.

use waypost_ranking::{Cues, Hit, Range, Slot, TextSearch, VectorSearch, substance};

use crate::index::view::{Space, View};
use crate::{MemoryId, SearchParams};

/// What is known of a memory that may become a hit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) id: MemoryId,
    pub(super) part: u32,
    pub(super) slot: Slot,
    pub(super) lexical: f32,
    pub(super) semantic: Option<f32>,
    /// What the words weigh: for a memory that has no vector yet they stand for its meaning, too.
    pub(super) lexical_weight: f64,
    /// What words and meaning give together.
    pub(super) base: f64,
    /// What it has for its wording and its title, whatever the words are.
    pub(super) cues: f64,
    /// Whether it is a question.
    pub(super) asks: bool,
    /// Whether it has links.
    pub(super) is_linked: bool,
    pub(super) neighbours: f64,
    pub(super) links: f64,
    /// The factor that newer memories leave it.
    pub(super) superseded: f64,
    /// What it is lifted by the memories that it updates.
    pub(super) lifted: f64,
    /// Whether words or meaning found it, not only what is beside it.
    pub(super) found: bool,
}

impl Candidate {
    pub(super) fn total(&self) -> f64 {
        self.base + self.cues + self.neighbours + self.links
    }
}

/// Candidates, in order of their ids.
#[derive(Debug, Default)]
pub(super) struct Candidates(Vec<Candidate>);

impl Candidates {
    pub(super) fn iter(&self) -> std::slice::Iter<'_, Candidate> {
        self.0.iter()
    }

    pub(super) fn get(&self, id: MemoryId) -> Option<&Candidate> {
        self.place(id).map(|at| &self.0[at])
    }

    pub(super) fn get_mut(&mut self, id: MemoryId) -> Option<&mut Candidate> {
        self.place(id).map(|at| &mut self.0[at])
    }

    /// Adds some that are not there.
    pub(super) fn add(&mut self, more: impl IntoIterator<Item = Candidate>) {
        let before = self.0.len();
        self.0.extend(more);
        if self.0.len() > before {
            self.0.sort_unstable_by_key(|it| it.id);
        }
    }

    fn place(&self, id: MemoryId) -> Option<usize> {
        self.0.binary_search_by_key(&id, |it| it.id).ok()
    }
}

/// What a query wants of a text beside its words.
pub(super) struct Wishes<'a> {
    pub(super) params: &'a SearchParams,
    /// The query as it was given, without feedback: what a title is compared with.
    pub(super) given: &'a TextSearch<'a>,
    pub(super) cues: Cues,
}

impl Wishes<'_> {
    fn granted(&self, part: u32, slot: Slot, cues: Cues, length: u32) -> f64 {
        let params = self.params;
        let has = |it: bool, weight: f64| if it { weight } else { 0.0 };
        params.substance_weight * f64::from(substance(length))
            + has(self.given.is_in_title(part, slot), params.title_weight)
            + has(!cues.asks, params.telling_weight)
            + has(self.cues.tells_time && cues.tells_time, params.time_weight)
    }
}

/// A memory, where it is, and the scores that a search has given it already.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scored {
    id: MemoryId,
    part: u32,
    slot: Slot,
    lexical: Option<f32>,
    semantic: Option<f32>,
}

impl Scored {
    /// One that no search has given a score.
    pub(super) fn not(id: MemoryId, (part, slot): (u32, Slot)) -> Self {
        Self { id, part, slot, lexical: None, semantic: None }
    }
}

/// The two searches and how their scores become shares.
pub(super) struct Scoring<'a> {
    pub(super) view: &'a View,
    pub(super) spaces: &'a [&'a Space],
    pub(super) wishes: Wishes<'a>,
    pub(super) text: &'a TextSearch<'a>,
    pub(super) vectors: Option<&'a VectorSearch<'a>>,
    pub(super) lexical_range: Range,
    pub(super) semantic_range: Range,
    pub(super) lexical_weight: f64,
    pub(super) semantic_weight: f64,
    /// Whether words are searched for, found or not.
    pub(super) by_words: bool,
    /// What words and meaning found, best first.
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
        let semantic = scored.semantic.or_else(|| self.vectors.and_then(|it| it.score(part, slot)));
        let fact = self.spaces.get(part as usize).and_then(|it| it.fact(slot));
        let lexical_weight = self.lexical_weight_of(semantic);
        Candidate {
            id,
            part,
            slot,
            lexical,
            semantic,
            lexical_weight,
            base: lexical_weight * self.words(lexical) + self.semantic_share(semantic),
            cues: fact.map_or(0.0, |it| self.wishes.granted(part, slot, it.cues, it.length)),
            asks: fact.is_some_and(|it| it.cues.asks),
            is_linked: self.view.graph.has_links(id),
            neighbours: 0.0,
            links: 0.0,
            superseded: 1.0,
            lifted: 0.0,
            found,
        }
    }

    /// What words or meaning found; their scores are not computed again.
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
        all.sort_unstable_by_key(|it| it.id);
        all.dedup_by(|other, kept| {
            let is_same = other.id == kept.id;
            if is_same {
                kept.lexical = kept.lexical.or(other.lexical);
                kept.semantic = kept.semantic.or(other.semantic);
            }
            is_same
        });
        Candidates(all.iter().map(|it| self.candidate(it, true)).collect())
    }

    /// What the words weigh in a memory with this similarity. One without a vector is not known to
    /// be dissimilar: its weights are shared out among the signals that it has, as they are in a
    /// search by words alone.
    fn lexical_weight_of(&self, semantic: Option<f32>) -> f64 {
        match semantic {
            None if self.lexical_weight > 0.0 => self.lexical_weight + self.semantic_weight,
            _ => self.lexical_weight,
        }
    }

    /// What the words alone say, 0 to 1.
    pub(super) fn words(&self, score: f32) -> f64 {
        // Without a matching term there is nothing, whatever the range is.
        if score > 0.0 { f64::from(self.lexical_range.apply(score)) } else { 0.0 }
    }

    pub(super) fn semantic_share(&self, score: Option<f32>) -> f64 {
        score.map_or(0.0, |it| self.semantic_weight * f64::from(self.semantic_range.apply(it)))
    }
}
