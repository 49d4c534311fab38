//! What may become a hit, and what words, meaning and wording give it.

use std::collections::{BTreeMap, HashMap};

use waypost_ranking::{Cues, Range, Slot, TextSearch, VectorSearch, substance};

use crate::view::Space;
use crate::{MemoryId, SearchParams};

/// What is known of a memory that may become a hit.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Candidate {
    pub(super) part: u32,
    pub(super) slot: Slot,
    pub(super) lexical: f32,
    pub(super) semantic: Option<f32>,
    /// What words and meaning give together.
    pub(super) base: f64,
    /// What it has for its wording and its title, whatever the words are.
    pub(super) cues: f64,
    /// Whether it is a question.
    pub(super) asks: bool,
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

/// What a query wants of a text beside its words.
pub(super) struct Wishes<'a> {
    pub(super) params: &'a SearchParams,
    /// The query as it was given, without feedback: what a title is compared with.
    pub(super) given: &'a TextSearch<'a>,
    pub(super) time: bool,
}

impl Wishes<'_> {
    pub(super) fn granted(&self, part: u32, slot: Slot, cues: Cues, length: u32) -> f64 {
        let params = self.params;
        let has = |it: bool, weight: f64| if it { weight } else { 0.0 };
        params.substance_weight * f64::from(substance(length))
            + has(self.given.title_match(part, slot).of_query > 0.0, params.title_weight)
            + has(!cues.asks, params.telling_weight)
            + has(self.time && cues.tells_time, params.time_weight)
    }
}

/// The two searches and how their scores become shares.
pub(super) struct Scoring<'a> {
    pub(super) spaces: &'a [&'a Space],
    pub(super) wishes: Wishes<'a>,
    pub(super) text: &'a TextSearch<'a>,
    pub(super) vectors: Option<&'a VectorSearch<'a>>,
    pub(super) lexical_range: Range,
    pub(super) semantic_range: Range,
    pub(super) lexical_weight: f64,
    pub(super) semantic_weight: f64,
    pub(super) lexical_ranks: BTreeMap<u64, u32>,
    pub(super) semantic_ranks: BTreeMap<u64, u32>,
}

impl Scoring<'_> {
    /// `lexical`, `semantic`: the scores, where a search has given them already.
    pub(super) fn candidate(
        &self,
        (part, slot): (u32, Slot),
        found: bool,
        lexical: Option<f32>,
        semantic: Option<f32>,
    ) -> Candidate {
        let lexical = if self.lexical_weight > 0.0 {
            lexical.unwrap_or_else(|| self.text.score(part, slot))
        } else {
            0.0
        };
        let semantic = semantic.or_else(|| self.vectors.and_then(|it| it.score(part, slot)));
        let mut candidate =
            Candidate { part, slot, lexical, semantic, found, ..Candidate::default() };
        candidate.superseded = 1.0;
        candidate.base = self.lexical_share(lexical) + self.semantic_share(semantic);
        if let Some(fact) = self.spaces.get(part as usize).and_then(|it| it.fact(slot)) {
            candidate.cues = self.wishes.granted(part, slot, fact.cues, fact.length);
            candidate.asks = fact.cues.asks;
        }
        candidate
    }

    /// What words or meaning found; their scores are not computed again.
    pub(super) fn candidates(
        &self,
        lexical: &[waypost_ranking::Hit],
        semantic: &[waypost_ranking::Hit],
    ) -> Candidates {
        let mut candidates = Candidates::new();
        let near: HashMap<u64, f32> = semantic.iter().map(|hit| (hit.id, hit.score)).collect();
        for hit in lexical {
            if let Some(id) = MemoryId::new(hit.id) {
                let (place, semantic) = ((hit.part, hit.slot), near.get(&hit.id).copied());
                let candidate = self.candidate(place, true, Some(hit.score), semantic);
                candidates.insert(id, candidate);
            }
        }
        for hit in semantic {
            if let Some(id) = MemoryId::new(hit.id) {
                let place = (hit.part, hit.slot);
                let candidate = || self.candidate(place, true, None, Some(hit.score));
                candidates.entry(id).or_insert_with(candidate);
            }
        }
        candidates
    }

    pub(super) fn lexical_share(&self, score: f32) -> f64 {
        self.lexical_weight * self.words(score)
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

pub(super) type Candidates = BTreeMap<MemoryId, Candidate>;
