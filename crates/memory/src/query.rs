//! Search options and results.

use crate::{Filter, Link, Memory, MemoryId, SearchMode, Timestamp};

/// Options of a search.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SearchOptions {
    /// Maximum number of hits, 1 to [`LIMIT_MAX`](crate::limits::LIMIT_MAX).
    pub limit: usize,
    /// The memories to search.
    pub filter: Filter,
    /// Lexical, semantic or both.
    pub mode: SearchMode,
    /// Whether each hit explains its score.
    pub explain: bool,
    /// Minimum score of a hit (0–1).
    pub min_score: Option<f64>,
    /// Whether a memory that a newer one `updates` keeps its rank instead of ranking below it.
    pub include_superseded: bool,
    /// Whether newer memories are preferred; `None` if the query asks for the latest ("now",
    /// "current").
    pub recency: Option<bool>,
    /// Only memories that were in force at this time: within their
    /// [`Lifespan`](crate::Lifespan), and not replaced by one that `updates` them.
    pub valid_at: Option<Timestamp>,
    /// Search what was known at this time: each memory as it was then, also if it was deleted since.
    /// Such a search is lexical, and takes time in proportion to the texts of the searched spaces.
    pub as_of: Option<Timestamp>,
    /// How much text the hits have. Memories of further ones have what is in an
    /// [`Outline`](crate::Outline), and an empty content.
    pub text_bytes_max: usize,
    /// When the question is asked: relative times in it ("last week") are resolved against this
    /// time's day in UTC. Without it, only dates with a year count.
    pub now: Option<Timestamp>,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            limit: 10,
            filter: Filter::default(),
            mode: SearchMode::Hybrid,
            explain: false,
            min_score: None,
            include_superseded: false,
            recency: None,
            valid_at: None,
            as_of: None,
            text_bytes_max: usize::MAX,
            now: None,
        }
    }
}

impl SearchOptions {
    /// Sets the maximum number of hits.
    #[must_use]
    pub fn with_limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// Sets the filter.
    #[must_use]
    pub fn with_filter(self, filter: Filter) -> Self {
        Self { filter, ..self }
    }

    /// Sets the mode.
    #[must_use]
    pub fn with_mode(self, mode: SearchMode) -> Self {
        Self { mode, ..self }
    }

    /// Sets whether hits explain their scores.
    #[must_use]
    pub fn with_explain(self, explain: bool) -> Self {
        Self { explain, ..self }
    }

    /// Sets the minimum score (0–1).
    #[must_use]
    pub fn with_min_score(self, min_score: impl Into<Option<f64>>) -> Self {
        Self { min_score: min_score.into(), ..self }
    }

    /// Sets whether newer memories are preferred.
    #[must_use]
    pub fn with_recency(self, recency: impl Into<Option<bool>>) -> Self {
        Self { recency: recency.into(), ..self }
    }

    /// Selects only memories that were in force at this time.
    #[must_use]
    pub fn with_valid_at(self, valid_at: impl Into<Option<Timestamp>>) -> Self {
        Self { valid_at: valid_at.into(), ..self }
    }

    /// Sets how much text the hits have.
    #[must_use]
    pub fn with_text_bytes_max(self, text_bytes_max: usize) -> Self {
        Self { text_bytes_max, ..self }
    }

    /// Sets the time at which what is found was known.
    #[must_use]
    pub fn with_as_of(self, as_of: impl Into<Option<Timestamp>>) -> Self {
        Self { as_of: as_of.into(), ..self }
    }

    /// Sets the time at which the question is asked.
    #[must_use]
    pub fn with_now(self, now: Timestamp) -> Self {
        Self { now: Some(now), ..self }
    }

    /// Sets whether memories that newer ones `updates` keep their ranks.
    #[must_use]
    pub fn with_include_superseded(self, include_superseded: bool) -> Self {
        Self { include_superseded, ..self }
    }
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResult {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// How likely they answer the query, 0 to 1: the best hit's score, also where
    /// [`min_score`](SearchOptions::min_score) leaves it out.
    pub answerable: f64,
    /// How it was searched: [`SearchMode::Lexical`] if hybrid was asked for without a model.
    pub mode: SearchMode,
    /// Whether a cross-encoder ordered the best hits.
    pub rerank: Rerank,
    /// With [`as_of`](SearchOptions::as_of): the number of memories of the searched spaces that were
    /// known then and whose text of that time was removed since, so that they cannot be found.
    pub forgotten: u64,
    /// Whether words were searched for, and the query has only stop words: by its words, it finds
    /// only memories whose title or content has only stop words, too.
    pub only_stop_words: bool,
}

/// What became of the order by a [`Reranker`](crate::Reranker).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rerank {
    /// The store has none.
    #[default]
    Off,
    /// It ordered the best hits.
    Applied,
    /// It failed or took too long; the hits keep the order of the ranking.
    Skipped,
}

/// A memory found by a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The memory, which may lack what it says: see [`SearchOptions::text_bytes_max`].
    pub memory: Memory,
    /// The score, 0 to 1.
    pub score: f64,
    /// Memories that contradict it or that it contradicts, in order of their ids.
    pub contradicts: Vec<MemoryId>,
    /// The explanation of the score, if requested.
    pub explanation: Option<HitExplanation>,
}

/// The explanation of a hit's score.
#[derive(Debug, Clone, PartialEq)]
pub struct HitExplanation {
    /// Every signal that contributed, in a fixed order.
    pub signals: Vec<Signal>,
    /// The query's terms (stemmed) that the memory contains, sorted.
    pub matched_terms: Vec<String>,
    /// The links of the memory, at most 100, ordered by their other end.
    pub links: Vec<Link>,
}

/// The contribution of one signal to a score.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    /// Its name: `bm25`, `semantic`, `cues`, `dates`, `recency`, `neighbours`, `links`, `updates`,
    /// `superseded`, `rerank`.
    pub name: &'static str,
    /// The raw value: a BM25 score, a cosine, a cross-encoder's score, or a share of the
    /// neighbours' scores.
    pub value: f64,
    /// The rank of the memory by this signal alone, from 1; `None` for signals that do not rank.
    pub rank: Option<u32>,
    /// The weight of a full value of this signal.
    pub weight: f64,
    /// What it added to the score.
    pub contribution: f64,
}
