//! Search: ranks memories by lexical and semantic score, then by the session and the links of each.

mod answerable;
mod answers;
mod candidates;
mod cycles;
mod expansion;
mod finish;
mod past;
mod recent;
mod related;
mod rerank;
mod validity;

use std::sync::Arc;

use parking_lot::RwLock;
use waypost_api::Check;
use waypost_ranking::{
    Bm25, Feedback, Query, Range, TextPart, TextSearch, VectorPart, VectorSearch, names,
};

use self::answers::{Answers, Question};
use self::candidates::{Bonuses, Scoring};
use self::expansion::{score_again, second_query};
use self::finish::{Ranked, Ranking, finish};
use self::recent::prefer_recent;
use self::related::{
    Scope, add_beside, demote_superseded, neighbourhoods, share_in_sessions, share_over_links,
};
use self::rerank::Reranking;
use crate::check::check_with;
use crate::index::Index;
use crate::index::embed::Embedding;
use crate::index::view::{View, day_of};
use crate::limits::LIMIT_MAX;
use crate::records::Records;
use crate::{
    Error, Hit, MemoryId, Outline, Rerank, Reranker, Result, SearchMode, SearchOptions,
    SearchParams, SearchResult, Timestamp,
};

/// Finds memories in the index, and reads them from the records.
#[derive(Debug)]
pub(crate) struct Searcher {
    records: Arc<Records>,
    index: Arc<Index>,
    embedding: Arc<Embedding>,
    params: SearchParams,
    answers: Answers,
    reranker: RwLock<Option<Arc<Reranker>>>,
}

impl Searcher {
    pub(crate) fn new(
        records: Arc<Records>,
        index: Arc<Index>,
        embedding: Arc<Embedding>,
        params: SearchParams,
    ) -> Self {
        Self {
            records,
            index,
            embedding,
            params,
            answers: Answers::default(),
            reranker: RwLock::default(),
        }
    }

    /// Sets or removes the cross-encoder.
    pub(crate) fn set_reranker(&self, reranker: Option<Reranker>) {
        *self.reranker.write() = reranker.map(Arc::new);
        self.answers.forget();
    }

    /// Clears the cache of results, which contains texts.
    pub(crate) fn forget(&self) {
        self.answers.forget();
    }

    pub(crate) fn search(&self, query: &str, options: &SearchOptions) -> Result<SearchResult> {
        check_search(query, options)?;
        if let Some(time) = options.as_of {
            return self.search_past(query, options, time);
        }
        let (mode, embedded) = self.embed_for(query, options.mode)?;
        let model = embedded.as_ref().map(|(hash, _)| *hash);
        let now = options.filter.now;
        let asked = |view: &View| {
            let expired_until = now.and_then(|now| Some(view.expired(now).next_back()?.0));
            (Question { query, options, model, expired_until }, self.index.view.changes())
        };
        let (question, changes) = asked(&self.index.view.read());
        if let Some(known) = self.answers.find(question, changes) {
            return Ok(known);
        }
        let view = self.index.view.read();
        let (question, changes) = asked(&view);
        let embedded = embedded.filter(|(hash, _)| view.model == Some(*hash));
        let (mode, vector) = match &embedded {
            Some((_, vector)) => (mode, Some(vector.as_slice())),
            None if mode == SearchMode::Semantic => return Err(Error::NoModel),
            None => (SearchMode::Lexical, None),
        };
        let reranking = Reranking::new(self.reranker.read().clone(), options);
        let found = self.rank(&view, query, vector, mode, reranking.options());
        drop(view);
        // A memory may have been changed or deleted since it was ranked.
        let version =
            |id| Ok(self.records.live_head(id)?.map(|head| (head.version, head.updated_at)));
        let texts = (options.text_bytes_max, reranking.candidates());
        let hits = self.read_hits(found.hits, now, texts, &version)?;
        let (hits, rerank) = reranking.order(query, hits, &found.updates, &self.params);
        let answerable = found.answerable;
        let only_stop_words =
            mode != SearchMode::Semantic && self.index.analyzer.has_only_stop_words(query);
        let result = SearchResult { hits, answerable, mode, rerank, forgotten: 0, only_stop_words };
        // The next time, it may have enough.
        if rerank != Rerank::Skipped {
            self.answers.keep(question, changes, &result);
        }
        Ok(result)
    }

    /// Reads the memories of hits in the versions that they have now, or had; leaves out those that
    /// have none, or have expired. Beyond `text_bytes_max`, and the first `texts_min`, hits are outlines.
    fn read_hits(
        &self,
        ranked: Vec<Ranked>,
        now: Option<Timestamp>,
        (text_bytes_max, texts_min): (usize, usize),
        version: &dyn Fn(MemoryId) -> Result<Option<(u32, Timestamp)>>,
    ) -> Result<Vec<Hit>> {
        let mut hits = Vec::with_capacity(ranked.len());
        let mut text_bytes = 0;
        for ranked in ranked {
            let Some((version, updated_at)) = version(ranked.id)? else { continue };
            let Ranked { id, embedded, superseded_by, .. } = ranked;
            let outline = Outline { id, version, updated_at, embedded, superseded_by };
            let mut memory = outline.bare();
            if text_bytes < text_bytes_max || hits.len() < texts_min {
                let Some(whole) = self.records.read_text(outline)? else { continue };
                if now.is_some_and(|now| whole.lifespan().has_expired(now)) {
                    continue;
                }
                text_bytes += whole.content.len();
                memory = whole;
            }
            hits.push(Hit {
                memory,
                score: ranked.score,
                contradicts: ranked.contradicts,
                explanation: ranked.explanation,
            });
        }
        Ok(hits)
    }

    /// The mode that the search can use, and the query's vector with the hash of its model.
    #[expect(clippy::type_complexity, reason = "a vector and whose it is, used once")]
    fn embed_for(
        &self,
        query: &str,
        mode: SearchMode,
    ) -> Result<(SearchMode, Option<([u8; 16], Arc<Vec<f32>>)>)> {
        if mode == SearchMode::Lexical {
            return Ok((mode, None));
        }
        let Some(model) = self.embedding.model() else {
            return match mode {
                SearchMode::Semantic => Err(Error::NoModel),
                _ => Ok((SearchMode::Lexical, None)),
            };
        };
        match model.embed_query(query) {
            Ok(vector) => Ok((mode, Some((model.hash, vector)))),
            Err(error) if mode == SearchMode::Semantic => Err(error),
            Err(_) => Ok((SearchMode::Lexical, None)),
        }
    }

    fn rank(
        &self,
        view: &View,
        query: &str,
        vector: Option<&[f32]>,
        mode: SearchMode,
        options: &SearchOptions,
    ) -> Ranking {
        let params = &self.params;
        let scope = Scope::new(view, &options.filter, options.valid_at);
        let is_any = scope.is_all();
        let filters: Vec<_> = scope.spaces.iter().map(|space| scope.filter(space)).collect();
        let text_parts: Vec<TextPart<'_>> = scope
            .spaces
            .iter()
            .zip(&filters)
            .map(|(space, filter)| TextPart {
                slots: &space.slots,
                index: &space.text,
                filter: if is_any { None } else { Some(filter) },
            })
            .collect();
        let vector_parts: Vec<VectorPart<'_>> = scope
            .spaces
            .iter()
            .zip(&filters)
            .filter_map(|(space, filter)| {
                Some(VectorPart {
                    slots: &space.slots,
                    index: space.vectors.as_ref()?,
                    filter: if is_any { None } else { Some(filter) },
                })
            })
            .collect();
        let count = params.candidates.max(options.limit);
        let bm25 = Bm25 { k1: params.bm25_k1 as f32, b: params.bm25_b as f32 };

        let terms = self.index.analyzer.query(query);
        let first = TextSearch::new(&text_parts, &terms, bm25);
        let names = self.index.analyzer.query(&names(query).collect::<Vec<_>>().join(" "));
        let names = TextSearch::new(&text_parts, &names, bm25);
        let is_lexical = mode != SearchMode::Semantic;
        let expanded = if is_lexical { expand(params, &first) } else { terms.clone() };
        let text = TextSearch::new(&text_parts, &expanded, bm25);
        let lexical = if is_lexical { text.top(count) } else { Vec::new() };

        let vectors = vector
            .filter(|_| vector_parts.len() == scope.spaces.len())
            .and_then(|vector| VectorSearch::new(&vector_parts, vector).ok());
        let nearest = vectors.as_ref().map(|vector| vector.top(count));
        let (semantic, least) =
            nearest.map(|nearest| (nearest.hits, nearest.low)).unwrap_or_default();

        let (lexical_weight, semantic_weight) =
            weights(params, !lexical.is_empty(), !semantic.is_empty());
        let mut scoring = Scoring {
            view,
            spaces: &scope.spaces,
            bonuses: Bonuses::of(query, options.now.map(day_of), params, (&first, &names)),
            text: &text,
            vectors: vectors.as_ref(),
            lexical_range: Range::from_zero(&lexical),
            semantic_range: semantic_range(least, &semantic),
            lexical_weight,
            semantic_weight,
            by_words: is_lexical,
            lexical: &lexical,
            semantic: &semantic,
        };
        let mut candidates = scoring.candidates();
        add_beside(&scope, &scoring, &mut candidates);
        scoring.grant_titles(&mut candidates);
        let neighbours = neighbourhoods(&scope, &candidates);
        share_in_sessions(&neighbours, &scoring, &mut candidates);
        if scoring.lexical_weight > 0.0 && params.second_documents > 0 {
            let second = second_query(&scoring, &candidates);
            let second = TextSearch::new(&text_parts, &second, bm25);
            score_again(&mut scoring, &second, &mut candidates);
            share_in_sessions(&neighbours, &scoring, &mut candidates);
        }
        share_over_links(&scope, params, &mut candidates);
        prefer_recent(&scope, query, options, params, &mut candidates);
        let updates = if options.include_superseded {
            Vec::new()
        } else {
            demote_superseded(scope.sight, &mut candidates)
        };
        let ranking = finish((view, scope.sight), &first, &scoring, &candidates, options);
        Ranking { updates, ..ranking }
    }
}

/// The query, extended by the strongest terms of its first hits.
fn expand(params: &SearchParams, first: &TextSearch<'_>) -> Query {
    let feedback = Feedback::default()
        .with_documents(params.feedback_documents)
        .with_terms(params.feedback_terms)
        .with_weight(params.feedback_weight as f32);
    match feedback.documents {
        0 => first.query().clone(),
        documents => feedback.expand(first, first, &first.top(documents)),
    }
}

/// The range from the lowest similarity of any vector to the highest one found.
fn semantic_range(least: f32, found: &[waypost_ranking::Hit]) -> Range {
    Range { low: least, ..Range::min_max(found) }
}

/// The weights of the lexical and the semantic score. If a search has only one of them, that one
/// gets the whole weight.
fn weights(params: &SearchParams, lexical: bool, semantic: bool) -> (f64, f64) {
    match (lexical, semantic) {
        (true, true) => (params.lexical_weight, params.semantic_weight),
        (true, false) => (1.0, 0.0),
        (false, _) => (0.0, 1.0),
    }
}

fn check_search(query: &str, options: &SearchOptions) -> Result<()> {
    check_with(|faults| {
        faults.query(query);
        faults.range("limit", Some(options.limit as u64), LIMIT_MAX);
        options.filter.check(faults);
        faults.min_score(options.min_score);
    })
}
