//! What a search asks, and what it answers.

use crate::{Link, Memory, MemoryId, Timestamp};

/// Which memories count. Every condition that is given must hold.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Filter {
    /// The kind is one of these; empty means any.
    pub kinds: Vec<String>,
    /// All of these tags are there.
    pub tags: Vec<String>,
    /// The space; absent means all spaces.
    pub space: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// Created at this time or later.
    pub since: Option<Timestamp>,
    /// Created before this time.
    pub until: Option<Timestamp>,
}

impl Filter {
    /// The same for these kinds only.
    #[must_use]
    pub fn with_kinds<K: Into<String>>(self, kinds: impl IntoIterator<Item = K>) -> Self {
        Self { kinds: kinds.into_iter().map(Into::into).collect(), ..self }
    }

    /// The same for memories that have all of these tags.
    #[must_use]
    pub fn with_tags<T: Into<String>>(self, tags: impl IntoIterator<Item = T>) -> Self {
        Self { tags: tags.into_iter().map(Into::into).collect(), ..self }
    }

    /// The same for one space only.
    #[must_use]
    pub fn with_space(self, space: impl Into<String>) -> Self {
        Self { space: Some(space.into()), ..self }
    }

    /// The same for one session only.
    #[must_use]
    pub fn with_session(self, session: impl Into<String>) -> Self {
        Self { session: Some(session.into()), ..self }
    }

    /// The same for what was created at this time or later.
    #[must_use]
    pub fn with_since(self, since: Timestamp) -> Self {
        Self { since: Some(since), ..self }
    }

    /// The same for what was created before this time.
    #[must_use]
    pub fn with_until(self, until: Timestamp) -> Self {
        Self { until: Some(until), ..self }
    }
}

/// How a search finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SearchMode {
    /// By words and by meaning.
    #[default]
    Hybrid,
    /// By words alone.
    Lexical,
    /// By meaning alone.
    Semantic,
}

impl SearchMode {
    /// Its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::Lexical => "lexical",
            Self::Semantic => "semantic",
        }
    }

    /// The mode of this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Hybrid, Self::Lexical, Self::Semantic].into_iter().find(|it| it.as_str() == name)
    }
}

/// What a search may be told beside the query.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SearchOptions {
    /// How many hits at most, 1 to [`SEARCH_LIMIT_MAX`](crate::limits::SEARCH_LIMIT_MAX).
    pub limit: usize,
    /// Which memories count.
    pub filter: Filter,
    /// By words, by meaning, or both.
    pub mode: SearchMode,
    /// Whether each hit says how its score came about.
    pub explain: bool,
    /// Leave out what scores below this (0–1).
    pub min_score: Option<f64>,
    /// Whether a memory that a newer one `updates` keeps its rank instead of going below it.
    pub include_superseded: bool,
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
        }
    }
}

impl SearchOptions {
    /// The same with at most so many hits.
    #[must_use]
    pub fn with_limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// The same among the memories of a filter.
    #[must_use]
    pub fn with_filter(self, filter: Filter) -> Self {
        Self { filter, ..self }
    }

    /// The same by words, by meaning, or both.
    #[must_use]
    pub fn with_mode(self, mode: SearchMode) -> Self {
        Self { mode, ..self }
    }

    /// The same, where hits say how their scores came about, or do not.
    #[must_use]
    pub fn with_explain(self, explain: bool) -> Self {
        Self { explain, ..self }
    }

    /// The same without what scores below this (0–1).
    #[must_use]
    pub fn with_min_score(self, min_score: impl Into<Option<f64>>) -> Self {
        Self { min_score: min_score.into(), ..self }
    }

    /// The same, where memories that newer ones `updates` keep their ranks, or do not.
    #[must_use]
    pub fn with_include_superseded(self, include_superseded: bool) -> Self {
        Self { include_superseded, ..self }
    }
}

/// The answer to a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResult {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// How likely they answer the query, 0 to 1: the best hit's score, also where
    /// [`min_score`](SearchOptions::min_score) leaves it out.
    pub answerable: f64,
    /// How it was searched: [`SearchMode::Lexical`] if hybrid was asked for without a model.
    pub mode: SearchMode,
}

/// A memory that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The memory.
    pub memory: Memory,
    /// How likely it answers the query, 0 to 1; comparable between queries, stores and modes.
    pub score: f64,
    /// Memories that contradict it or that it contradicts, in order of their ids.
    pub contradicts: Vec<MemoryId>,
    /// How the score came about, if asked for.
    pub explanation: Option<HitExplanation>,
}

/// How a hit's score came about.
#[derive(Debug, Clone, PartialEq)]
pub struct HitExplanation {
    /// Every signal that had a say, in a fixed order.
    pub signals: Vec<Signal>,
    /// The query's terms (stemmed) that the memory has, sorted.
    pub matched_terms: Vec<String>,
    /// The links of the memory, at most 100, in order of their other end.
    pub links: Vec<Link>,
}

/// One signal's part in a score.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    /// Its name: `bm25`, `semantic`, `cues`, `neighbours`, `links`, `updates`, `superseded`.
    pub name: &'static str,
    /// The raw value: a BM25 score, a cosine, a share of the neighbours' scores.
    pub value: f64,
    /// The place that the memory has by this signal alone, from 1; absent for signals that do
    /// not rank.
    pub rank: Option<u32>,
    /// How much a full value of this signal counts.
    pub weight: f64,
    /// What it added to the score.
    pub contribution: f64,
}
