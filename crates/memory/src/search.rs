//! Finding memories: words and meaning, then what stands beside them, then links.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;

use waypost_ranking::{
    Bm25, Cues, Feedback, Range, Slot, TextPart, TextSearch, VectorPart, VectorSearch,
    asks_for_time, substance,
};

use crate::check;
use crate::commit::memory;
use crate::limits::SEARCH_LIMIT_MAX;
use crate::store::Store;
use crate::view::{Condition, Space, View};
use crate::{
    Error, Hit, HitExplanation, Link, LinkKind, MemoryId, Result, SearchMode, SearchOptions,
    SearchParams, SearchResult, Signal,
};

/// A memory keeps this share of its score for each step that newer ones are ahead of it.
const SUPERSEDED_SHARE: f64 = 0.75;
/// Chains of updates are followed so far.
const UPDATE_STEPS_MAX: u32 = 16;
/// A memory is lent something by so many linked ones at most, those with the lowest ids.
const LINKED_MAX: usize = 64;
/// An explanation shows so many links at most.
const LINKS_EXPLAINED_MAX: usize = 100;

/// What is known of a memory that may become a hit.
#[derive(Debug, Clone, Copy, Default)]
struct Candidate {
    part: u32,
    slot: Slot,
    lexical: f32,
    semantic: Option<f32>,
    /// What words and meaning give together.
    base: f64,
    /// What it has for its wording and its title, whatever the words are.
    cues: f64,
    /// Whether it is a question.
    asks: bool,
    neighbours: f64,
    links: f64,
    /// The factor that newer memories leave it.
    superseded: f64,
    /// What it is lifted by the memories that it updates.
    lifted: f64,
    /// Whether words or meaning found it, not only what is beside it.
    found: bool,
}

impl Candidate {
    fn total(&self) -> f64 {
        self.base + self.cues + self.neighbours + self.links
    }
}

/// What a query wants of a text beside its words.
struct Wishes<'a> {
    params: &'a SearchParams,
    /// The query as it was given, without feedback: what a title is compared with.
    given: &'a TextSearch<'a>,
    time: bool,
}

impl Wishes<'_> {
    fn granted(&self, part: u32, slot: Slot, cues: Cues, length: u32) -> f64 {
        let params = self.params;
        let has = |it: bool, weight: f64| if it { weight } else { 0.0 };
        params.substance_weight * f64::from(substance(length))
            + has(self.given.title_match(part, slot).of_query > 0.0, params.title_weight)
            + has(!cues.asks, params.telling_weight)
            + has(self.time && cues.tells_time, params.time_weight)
    }
}

/// The two searches and how their scores become shares.
struct Scoring<'a> {
    spaces: &'a [&'a Space],
    wishes: Wishes<'a>,
    text: &'a TextSearch<'a>,
    vectors: Option<&'a VectorSearch<'a>>,
    lexical_range: Range,
    semantic_range: Range,
    lexical_weight: f64,
    semantic_weight: f64,
    lexical_ranks: BTreeMap<u64, u32>,
    semantic_ranks: BTreeMap<u64, u32>,
}

impl Scoring<'_> {
    /// `lexical`, `semantic`: the scores, where a search has given them already.
    fn candidate(
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
    fn candidates(
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

    fn lexical_share(&self, score: f32) -> f64 {
        self.lexical_weight * self.words(score)
    }

    /// What the words alone say, 0 to 1.
    fn words(&self, score: f32) -> f64 {
        // Without a matching term there is nothing, whatever the range is.
        if score > 0.0 { f64::from(self.lexical_range.apply(score)) } else { 0.0 }
    }

    fn semantic_share(&self, score: Option<f32>) -> f64 {
        score.map_or(0.0, |it| self.semantic_weight * f64::from(self.semantic_range.apply(it)))
    }
}

type Candidates = BTreeMap<MemoryId, Candidate>;

/// The spaces that a search looks into, and what it asks of their memories.
struct Scope<'a> {
    spaces: Vec<&'a Space>,
    condition: Condition,
}

impl Scope<'_> {
    /// Where a memory is, if it is in scope.
    fn place(&self, view: &View, id: MemoryId) -> Option<(u32, Slot)> {
        let (_, space, slot) = view.place(id)?;
        let part = self.spaces.iter().position(|it| std::ptr::eq(*it, space))?;
        self.condition.holds(space.fact(slot)?).then_some((part as u32, slot))
    }
}

impl Store {
    /// Finds memories by words and by meaning, best first, ties by id.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the query or an option is outside its limits; [`Error::NoModel`] if
    /// the mode is [`SearchMode::Semantic`] and there is no model.
    pub fn search(&self, query: &str, options: &SearchOptions) -> Result<SearchResult> {
        check::query(query)?;
        check_options(options)?;
        let (mode, embedded) = self.embed_for(query, options.mode)?;
        let view = self.view.read();
        let embedded = embedded.filter(|(hash, _)| view.model == Some(*hash));
        let (mode, vector) = match &embedded {
            Some((_, vector)) => (mode, Some(vector.as_slice())),
            None if mode == SearchMode::Semantic => return Err(no_model()),
            None => (SearchMode::Lexical, None),
        };
        let found = self.rank(&view, query, vector, mode, options);
        drop(view);
        let mut hits = Vec::with_capacity(found.len());
        for ranked in found {
            // One that was deleted meanwhile is no hit.
            let Some(head) = self.live_head(ranked.id)? else { continue };
            let Some(body) = self.body(ranked.id, head.version)? else { continue };
            let mut memory = memory(ranked.id, head.version, head.updated_at, body);
            memory.embedded = ranked.embedded;
            memory.superseded_by = ranked.superseded_by;
            hits.push(Hit {
                memory,
                score: ranked.score,
                contradicts: ranked.contradicts,
                explanation: ranked.explanation,
            });
        }
        Ok(SearchResult { hits, mode })
    }

    /// The mode that is possible and the query's vector with its model's hash.
    #[expect(clippy::type_complexity, reason = "a vector and whose it is, used once")]
    fn embed_for(
        &self,
        query: &str,
        mode: SearchMode,
    ) -> Result<(SearchMode, Option<([u8; 16], std::sync::Arc<Vec<f32>>)>)> {
        if mode == SearchMode::Lexical {
            return Ok((mode, None));
        }
        let model = self.model.read().clone();
        let Some(model) = model else {
            return match mode {
                SearchMode::Semantic => Err(no_model()),
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
    ) -> Vec<Ranked> {
        let params = &self.options.search;
        let scope = Scope {
            spaces: view
                .spaces
                .iter()
                .filter(|(name, _)| options.filter.space.as_ref().is_none_or(|it| it == *name))
                .map(|(_, space)| space)
                .collect(),
            condition: Condition::new(&options.filter, &view.names),
        };
        let is_any = scope.condition.is_any();
        let filters: Vec<_> = scope
            .spaces
            .iter()
            .map(|space| {
                let condition = &scope.condition;
                move |slot: Slot| space.fact(slot).is_some_and(|it| condition.holds(it))
            })
            .collect();
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

        let terms = self.analyzer.query(query);
        let first = TextSearch::new(&text_parts, &terms, bm25);
        let feedback = Feedback {
            documents: params.feedback_documents,
            terms: params.feedback_terms,
            weight: params.feedback_weight as f32,
        };
        let is_lexical = mode != SearchMode::Semantic;
        let expanded = if is_lexical && feedback.documents > 0 {
            feedback.expand(&first, &first.top(feedback.documents))
        } else {
            terms.clone()
        };
        let text = TextSearch::new(&text_parts, &expanded, bm25);
        let lexical = if is_lexical { text.top(count) } else { Vec::new() };

        let vectors = vector
            .filter(|_| vector_parts.len() == scope.spaces.len())
            .and_then(|it| VectorSearch::new(&vector_parts, it).ok());
        let nearest = vectors.as_ref().map(|it| it.top(count));
        let (semantic, least) = nearest.map(|it| (it.hits, it.low)).unwrap_or_default();

        let (lexical_weight, semantic_weight) =
            weights(params, !lexical.is_empty(), !semantic.is_empty());
        let scoring = Scoring {
            spaces: &scope.spaces,
            wishes: Wishes { params, given: &first, time: asks_for_time(query) },
            text: &text,
            vectors: vectors.as_ref(),
            lexical_range: Range::from_zero(&lexical),
            semantic_range: semantic_range(least, &semantic),
            lexical_weight,
            semantic_weight,
            lexical_ranks: ranks(&lexical),
            semantic_ranks: ranks(&semantic),
        };
        let mut candidates = scoring.candidates(&lexical, &semantic);
        add_beside(view, &scope, &scoring, &mut candidates);
        lend_in_sessions(&scope, &scoring, &mut candidates);
        lend_over_links(view, params, &mut candidates);
        if !options.include_superseded {
            demote_superseded(view, &mut candidates);
        }
        finish(view, &first, &scoring, candidates, options)
    }
}

/// From the least similar of all vectors to the best one found.
fn semantic_range(least: f32, found: &[waypost_ranking::Hit]) -> Range {
    Range { low: least, ..Range::min_max(found) }
}

/// The shares of words and meaning: where one of them has nothing to say the other has all.
fn weights(params: &SearchParams, lexical: bool, semantic: bool) -> (f64, f64) {
    match (lexical, semantic) {
        (true, true) => (params.lexical_weight, params.semantic_weight),
        (true, false) => (1.0, 0.0),
        (false, _) => (0.0, 1.0),
    }
}

fn ranks(hits: &[waypost_ranking::Hit]) -> BTreeMap<u64, u32> {
    hits.iter().enumerate().map(|(at, hit)| (hit.id, at as u32 + 1)).collect()
}

/// The memories around one in its session: those before, nearest first, and those after.
fn around(space: &Space, slot: Slot, id: MemoryId, count: usize) -> [Vec<MemoryId>; 2] {
    let members = space
        .fact(slot)
        .and_then(|fact| Some((space.sessions.get(&fact.session?)?, (fact.created_at, id))));
    let Some((members, at)) = members else { return [Vec::new(), Vec::new()] };
    let before = members.range(..at).rev().take(count).map(|(_, id)| *id).collect();
    let after = members.range((Bound::Excluded(at), Bound::Unbounded));
    [before, after.take(count).map(|(_, id)| *id).collect()]
}

/// Adds what may be lent something: neighbours in sessions, linked memories, and the memories that
/// update a candidate.
fn add_beside(view: &View, scope: &Scope<'_>, scoring: &Scoring<'_>, candidates: &mut Candidates) {
    let mut beside = BTreeSet::new();
    for (id, candidate) in &*candidates {
        let space = scope.spaces[candidate.part as usize];
        beside.extend(around(space, candidate.slot, *id, 2).concat());
        for kind in [LinkKind::PartOf, LinkKind::RelatedTo] {
            beside.extend(view.graph.linked_by(*id, kind).into_iter().take(LINKED_MAX));
        }
        let mut newest = *id;
        for _ in 0..UPDATE_STEPS_MAX {
            let Some(updater) = view.graph.superseded_by(newest) else { break };
            if !beside.insert(updater) {
                break;
            }
            newest = updater;
        }
    }
    for id in beside {
        if !candidates.contains_key(&id)
            && let Some((part, slot)) = scope.place(view, id)
        {
            candidates.insert(id, scoring.candidate((part, slot), false, None, None));
        }
    }
}

/// Words lend, meaning does not: a text near in meaning says so itself, but the word that a question
/// shares with a conversation often stands a turn before its answer or after it.
fn lend_in_sessions(scope: &Scope<'_>, scoring: &Scoring<'_>, candidates: &mut Candidates) {
    let params = scoring.wishes.params;
    let weights = params.neighbour_weights;
    let words = |id: Option<&MemoryId>, all: &Candidates| {
        id.and_then(|it| all.get(it)).map_or(0.0, |it| scoring.words(it.lexical))
    };
    let lent: Vec<(MemoryId, f64)> = candidates
        .iter()
        .map(|(id, candidate)| {
            let space = scope.spaces[candidate.part as usize];
            let [before, after] = around(space, candidate.slot, *id, weights.len());
            let lent = weights.iter().enumerate().fold(0.0, |sum, (step, weight)| {
                let pair = words(before.get(step), candidates) + words(after.get(step), candidates);
                sum + weight * pair
            });
            let asked = before.first().filter(|it| candidates.get(it).is_some_and(|it| it.asks));
            (*id, lent + params.answer_weight * words(asked, candidates))
        })
        .collect();
    for (id, lent) in lent {
        if let Some(candidate) = candidates.get_mut(&id) {
            candidate.neighbours = lent;
        }
    }
}

fn lend_over_links(view: &View, params: &SearchParams, candidates: &mut Candidates) {
    let lent: Vec<(MemoryId, f64)> = candidates
        .keys()
        .map(|id| {
            let linked = [LinkKind::PartOf, LinkKind::RelatedTo]
                .into_iter()
                .flat_map(|kind| view.graph.linked_by(*id, kind).into_iter().take(LINKED_MAX));
            let best =
                linked.filter_map(|it| candidates.get(&it)).map(|it| it.base).fold(0.0, f64::max);
            (*id, params.link_weight * best)
        })
        .collect();
    for (id, lent) in lent {
        if let Some(candidate) = candidates.get_mut(&id) {
            candidate.links = lent;
        }
    }
}

/// A memory that updates another takes over what that one has, and the other goes below it.
fn demote_superseded(view: &View, candidates: &mut Candidates) {
    let updated: Vec<(MemoryId, MemoryId)> = candidates
        .keys()
        .flat_map(|id| view.graph.updaters(*id).map(|updater| (*id, updater)))
        .filter(|(_, updater)| candidates.contains_key(updater))
        // In a circle nothing is the newest: its members stay level with each other.
        .filter(|(id, updater)| !view.graph.updates_transitively(*id, *updater, UPDATE_STEPS_MAX))
        .collect();
    let mut steps: BTreeMap<MemoryId, u32> = BTreeMap::new();
    for _ in 0..UPDATE_STEPS_MAX {
        let mut is_settled = true;
        for (older, newer) in &updated {
            let wanted = steps.get(newer).copied().unwrap_or(0) + 1;
            let older_total = candidates.get(older).map_or(0.0, |it| it.total() + it.lifted);
            if steps.get(older).copied().unwrap_or(0) < wanted {
                steps.insert(*older, wanted);
                is_settled = false;
            }
            if let Some(candidate) = candidates.get_mut(newer) {
                let missing = older_total - candidate.total() - candidate.lifted;
                if missing > 0.0 {
                    candidate.lifted += missing;
                    is_settled = false;
                }
            }
        }
        if is_settled {
            break;
        }
    }
    for (id, steps) in steps {
        if let Some(candidate) = candidates.get_mut(&id) {
            candidate.superseded = SUPERSEDED_SHARE.powi(steps.cast_signed());
        }
    }
}

/// A memory that is a hit, without its content.
#[derive(Debug)]
struct Ranked {
    id: MemoryId,
    score: f64,
    embedded: bool,
    superseded_by: Option<MemoryId>,
    contradicts: Vec<MemoryId>,
    explanation: Option<HitExplanation>,
}

/// Brings scores into 0 to 1, sorts, cuts and explains.
fn finish(
    view: &View,
    text: &TextSearch<'_>,
    scoring: &Scoring<'_>,
    candidates: Candidates,
    options: &SearchOptions,
) -> Vec<Ranked> {
    let best = candidates.values().map(|it| it.total() + it.lifted).fold(1.0, f64::max);
    let mut scored: Vec<(MemoryId, f64, Candidate)> = candidates
        .into_iter()
        .map(|(id, it)| (id, ((it.total() + it.lifted) * it.superseded / best).clamp(0.0, 1.0), it))
        .filter(|(_, _, it)| it.found || it.total() + it.lifted > it.cues)
        .filter(|(_, score, _)| options.min_score.is_none_or(|least| *score >= least))
        .collect();
    scored.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    scored.truncate(options.limit);
    scored
        .into_iter()
        .map(|(id, score, candidate)| Ranked {
            id,
            score,
            embedded: view.fact(id).is_some_and(|it| it.embedded),
            superseded_by: view.graph.superseded_by(id),
            contradicts: view.graph.linked_by(id, LinkKind::Contradicts),
            explanation: options
                .explain
                .then(|| explain(view, text, scoring, id, &candidate, best)),
        })
        .collect()
}

fn explain(
    view: &View,
    text: &TextSearch<'_>,
    scoring: &Scoring<'_>,
    id: MemoryId,
    candidate: &Candidate,
    best: f64,
) -> HitExplanation {
    let mut signals = Vec::new();
    if scoring.lexical_weight > 0.0 {
        signals.push(Signal {
            name: "bm25",
            value: f64::from(candidate.lexical),
            rank: scoring.lexical_ranks.get(&id.get()).copied(),
            weight: scoring.lexical_weight,
            contribution: scoring.lexical_share(candidate.lexical) / best,
        });
    }
    if let Some(semantic) = candidate.semantic.filter(|_| scoring.semantic_weight > 0.0) {
        signals.push(Signal {
            name: "semantic",
            value: f64::from(semantic),
            rank: scoring.semantic_ranks.get(&id.get()).copied(),
            weight: scoring.semantic_weight,
            contribution: scoring.semantic_share(candidate.semantic) / best,
        });
    }
    let beside = [
        ("cues", candidate.cues),
        ("neighbours", candidate.neighbours),
        ("links", candidate.links),
        ("updates", candidate.lifted),
    ];
    for (name, value) in beside.into_iter().filter(|(_, value)| *value > 0.0) {
        let contribution = value / best;
        signals.push(Signal { name, value, rank: None, weight: 1.0, contribution });
    }
    if candidate.superseded < 1.0 {
        let before = (candidate.total() + candidate.lifted) / best;
        signals.push(Signal {
            name: "superseded",
            value: candidate.superseded,
            rank: None,
            weight: 1.0,
            contribution: before * candidate.superseded - before,
        });
    }
    let matched = text.matched_terms(candidate.part, candidate.slot);
    let matched_terms: BTreeSet<String> = matched.into_iter().map(str::to_owned).collect();
    let links: Vec<Link> = view.graph.around(id).take(LINKS_EXPLAINED_MAX).collect();
    HitExplanation { signals, matched_terms: matched_terms.into_iter().collect(), links }
}

fn check_options(options: &SearchOptions) -> Result<()> {
    let limit = options.limit;
    if !(1..=SEARCH_LIMIT_MAX).contains(&limit) {
        let reason = format!("is {limit}; 1 to {SEARCH_LIMIT_MAX} are possible");
        return Err(Error::invalid("limit", reason));
    }
    match options.min_score {
        Some(score) if !(0.0..=1.0).contains(&score) => {
            Err(Error::invalid("minScore", format!("is {score}; 0 to 1 are possible")))
        }
        _ => Ok(()),
    }
}

fn no_model() -> Error {
    Error::NoModel {
        remedy: "get one with `ctl model pull`, or search with mode `lexical`".to_owned(),
    }
}
