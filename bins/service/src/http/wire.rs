//! Conversions between the domain's types and the wire's: plain functions, nothing else.

pub(crate) mod context;
pub(crate) mod flows;
pub(crate) mod recall;

use std::collections::BTreeMap;

use waypost_api::{self as api, Vocabulary};
use waypost_auth as auth;
use waypost_events as events;
use waypost_memory as memory;

use crate::clock::now;
use crate::events::wire_data;
use crate::http::failure::Failure;

/// The limits of the wire are those of the libraries.
const _: () = {
    use api::limits as wire;
    use memory::limits as store;

    assert!(wire::LIMIT_MAX == events::LIMIT_MAX as u64);
    assert!(wire::IDEMPOTENCY_KEY_BYTES_MAX == events::IDEMPOTENCY_KEY_BYTES_MAX);
    assert!(wire::ITEMS_MAX == waypost_context::ITEMS_MAX as u64);
    assert!(wire::ID_MAX == store::ID_MAX);
    assert!(wire::QUERY_CHARS_MAX == store::QUERY_CHARS_MAX);
    assert!(wire::LIMIT_MAX == store::SEARCH_LIMIT_MAX as u64);
    assert!(wire::LIMIT_MAX == store::LIST_LIMIT_MAX as u64);
    assert!(wire::LIMIT_MAX == store::SUGGESTIONS_LIMIT_MAX as u64);
    assert!(wire::DEPTH_MAX == store::LINK_DEPTH_MAX as u64);
    assert!(wire::CONTENT_BYTES_MAX == store::CONTENT_BYTES_MAX);
    assert!(wire::TITLE_CHARS_MAX == store::TITLE_CHARS_MAX);
    assert!(wire::KIND_CHARS_MAX == store::KIND_CHARS_MAX);
    assert!(wire::SPACE_CHARS_MAX == store::SPACE_CHARS_MAX);
    assert!(wire::SESSION_CHARS_MAX == store::SESSION_CHARS_MAX);
    assert!(wire::TAGS_MAX == store::TAGS_MAX);
    assert!(wire::TAG_CHARS_MAX == store::TAG_CHARS_MAX);
    assert!(wire::METADATA_KEYS_MAX == store::METADATA_KEYS_MAX);
    assert!(wire::METADATA_KEY_CHARS_MAX == store::METADATA_KEY_CHARS_MAX);
    assert!(wire::METADATA_BYTES_MAX == store::METADATA_BYTES_MAX);
    assert!(wire::METADATA_FILTER_KEYS_MAX == store::METADATA_FILTER_KEYS_MAX);
    assert!(wire::METADATA_FILTER_VALUES_MAX == store::METADATA_FILTER_VALUES_MAX);
};

/// The id from a body or path, whose range has been checked.
pub(crate) fn id(number: u64) -> Result<memory::MemoryId, Failure> {
    memory::MemoryId::new(number).ok_or_else(|| {
        let detail = "an id is a whole number between 1 and 9007199254740991 (2^53 - 1)";
        api::Problem::new(422, detail).into()
    })
}

pub(crate) fn draft(it: api::AddRequest) -> memory::Draft {
    let api::AddRequest {
        title, content, kind, tags, metadata, space, session, created_at, ..
    } = it;
    let lifespan = memory::Lifespan::default()
        .with_valid_from(it.valid_from)
        .with_valid_until(it.valid_until)
        .with_expires_at(it.expires_at)
        .with_is_pinned(it.pinned.unwrap_or_default());
    let mut draft = memory::Draft::new(content)
        .with_tags(tags)
        .with_metadata(metadata_of(metadata))
        .with_lifespan(lifespan);
    draft.title = title;
    draft.kind = kind;
    draft.space = space;
    draft.session = session;
    draft.created_at = created_at;
    draft
}

pub(crate) fn patch(it: api::PatchRequest) -> memory::Patch {
    let api::PatchRequest { title, content, kind, tags, metadata, session, .. } = it;
    let mut patch = memory::Patch::default();
    patch.title = title;
    patch.content = content;
    patch.kind = kind;
    patch.tags = tags;
    patch.metadata = metadata.map(metadata_of);
    patch.session = session;
    patch.valid_from = it.valid_from;
    patch.valid_until = it.valid_until;
    patch.expires_at = it.expires_at;
    patch.is_pinned = it.pinned;
    patch
}

fn metadata_of(it: BTreeMap<String, api::Scalar>) -> memory::Metadata {
    it.into_iter().map(|(key, value)| (key, metadata_value(value))).collect()
}

fn metadata_value(it: api::Scalar) -> memory::MetadataValue {
    match it {
        api::Scalar::String(text) => memory::MetadataValue::Text(text),
        api::Scalar::Bool(value) => memory::MetadataValue::Boolean(value),
        api::Scalar::Number(number) => match number.as_i64() {
            Some(whole) => memory::MetadataValue::Integer(whole),
            // A JSON number that serde_json holds is finite.
            None => memory::MetadataValue::Float(number.as_f64().unwrap_or_default()),
        },
    }
}

fn scalar(it: memory::MetadataValue) -> api::Scalar {
    match it {
        memory::MetadataValue::Text(text) => api::Scalar::String(text),
        memory::MetadataValue::Boolean(value) => api::Scalar::Bool(value),
        memory::MetadataValue::Integer(whole) => api::Scalar::Number(whole.into()),
        memory::MetadataValue::Float(value) => {
            api::Scalar::Number(serde_json::Number::from_f64(value).unwrap_or_else(|| 0.into()))
        }
    }
}

pub(crate) fn memory(it: memory::Memory) -> api::Memory {
    api::Memory {
        id: it.id.get(),
        title: it.title,
        content: it.content,
        kind: it.kind,
        tags: it.tags,
        metadata: it.metadata.into_iter().map(|(key, value)| (key, scalar(value))).collect(),
        space: it.space,
        session: it.session,
        created_at: it.created_at,
        updated_at: it.updated_at,
        valid_from: it.lifespan.valid_from,
        valid_until: it.lifespan.valid_until,
        expires_at: it.lifespan.expires_at,
        pinned: it.lifespan.is_pinned,
        embedded: it.embedded,
        superseded_by: it.superseded_by.map(memory::MemoryId::get),
    }
}

/// The versions of a memory, and its deletions, one after the other.
pub(crate) struct History {
    id: memory::MemoryId,
    last: u32,
    was_deleted: bool,
}

impl History {
    /// The history after a version.
    pub(crate) fn after(id: memory::MemoryId, version: Option<&memory::Version>) -> Self {
        let last = version.map_or(0, |it| it.version);
        Self { id, last, was_deleted: version.is_some_and(|it| it.deleted_at.is_some()) }
    }

    /// The change that made the next version, and its deletion.
    pub(crate) fn changes(
        &mut self,
        it: memory::Version,
    ) -> impl Iterator<Item = api::Version> + use<> {
        let missing = it.version.saturating_sub(self.last + 1);
        let missing_before = Some(missing).filter(|count| *count > 0);
        let change = match it.version {
            _ if self.was_deleted => api::VersionChange::Restored,
            1 => api::VersionChange::Added,
            _ => api::VersionChange::Updated,
        };
        let deletion = it.deleted_at.map(|at| api::Version {
            version: u64::from(it.version) + 1,
            change: api::VersionChange::Deleted,
            changed_at: at,
            missing_before: None,
            memory: None,
        });
        (self.last, self.was_deleted) = (it.version, deletion.is_some());
        let version = api::Version { missing_before, ..version(self.id, change, it) };
        std::iter::once(version).chain(deletion)
    }
}

fn version(id: memory::MemoryId, change: api::VersionChange, it: memory::Version) -> api::Version {
    let changed_at = it.valid_from;
    let metadata = it.metadata.into_iter().map(|(key, value)| (key, scalar(value))).collect();
    // A purged version has no content.
    let memory = it.content.map(|content| api::Memory {
        id: id.get(),
        title: it.title,
        content,
        kind: it.kind,
        tags: it.tags,
        metadata,
        space: it.space,
        session: it.session,
        created_at: it.created_at,
        updated_at: changed_at,
        valid_from: it.lifespan.valid_from,
        valid_until: it.lifespan.valid_until,
        expires_at: it.lifespan.expires_at,
        pinned: it.lifespan.is_pinned,
        embedded: false,
        superseded_by: None,
    });
    let version = u64::from(it.version);
    api::Version { version, change, changed_at, missing_before: None, memory }
}

pub(crate) fn search_options(it: &api::SearchRequest, limit: usize) -> memory::SearchOptions {
    memory::SearchOptions::default()
        .with_limit(limit)
        .with_filter(filter(it.filters()))
        .with_mode(match it.mode {
            None | Some(api::SearchMode::Hybrid) => memory::SearchMode::Hybrid,
            Some(api::SearchMode::Lexical) => memory::SearchMode::Lexical,
            Some(api::SearchMode::Semantic) => memory::SearchMode::Semantic,
        })
        .with_explain(it.explain.unwrap_or(false))
        .with_min_score(it.min_score)
        .with_include_superseded(it.include_superseded.unwrap_or(false))
        .with_recency(it.recency)
        .with_valid_at(it.valid_at)
        .with_as_of(it.as_of)
        .with_now(it.now.unwrap_or_else(now))
}

pub(crate) fn filter(it: api::Filters<'_>) -> memory::Filter {
    let tests = it.metadata.iter().map(|(key, test)| (key.clone(), metadata_test(test)));
    let mut filter = memory::Filter::default()
        .with_kinds(it.kinds)
        .with_tags(it.tags)
        .with_tags_any(it.tags_any);
    filter.metadata = tests.collect();
    filter.space = it.space.map(str::to_owned);
    filter.since = it.since;
    filter.until = it.until;
    filter.is_pinned = it.pinned;
    filter
}

pub(crate) fn counts(it: memory::Counts, by: &[api::CountBy]) -> api::Counts {
    let mut truncated = false;
    let mut shown = |by_what, counts: BTreeMap<String, u64>| {
        let is_longer = counts.len() as u64 > api::limits::LIMIT_MAX;
        by.contains(&by_what).then(|| {
            truncated |= is_longer;
            if is_longer { largest(counts) } else { counts }
        })
    };
    api::Counts {
        count: it.memories,
        by_type: shown(api::CountBy::Type, it.by_kind),
        by_tag: shown(api::CountBy::Tag, it.by_tag),
        by_space: shown(api::CountBy::Space, it.by_space),
        truncated,
    }
}

/// The largest counts, as many as a page has; of equal ones, the first by name.
fn largest(counts: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.into_iter().take(api::limits::LIMIT_MAX as usize).collect()
}

fn metadata_test(it: &api::MetadataTest) -> memory::MetadataTest {
    let value = |it: &api::Scalar| metadata_value(it.clone());
    match it {
        api::MetadataTest::Is(it) => memory::MetadataTest::is(value(it)),
        api::MetadataTest::OneOf(values) => {
            memory::MetadataTest::OneOf(values.iter().map(value).collect())
        }
        api::MetadataTest::Within(it) => memory::MetadataTest::Within {
            gte: it.gte.as_ref().map(value),
            lte: it.lte.as_ref().map(value),
        },
    }
}

pub(crate) fn hit(it: memory::Hit) -> api::Hit {
    let (scores, links) = match it.explanation {
        Some(explanation) => {
            let links = explanation.links.iter().copied().map(link).collect();
            (Some(scores(it.score, explanation)), Some(links))
        }
        None => (None, None),
    };
    api::Hit {
        memory: memory(it.memory),
        score: it.score,
        contradicts: it.contradicts.into_iter().map(memory::MemoryId::get).collect(),
        scores,
        links,
    }
}

fn scores(score: f64, it: memory::HitExplanation) -> api::Scores {
    let children = it
        .signals
        .iter()
        .map(|signal| api::Explanation {
            value: signal.contribution,
            description: format!(
                "{}: value {} with weight {}",
                signal.name, signal.value, signal.weight
            ),
            children: Vec::new(),
        })
        .collect();
    api::Scores {
        signals: it
            .signals
            .iter()
            .map(|signal| api::SignalScore {
                name: signal.name.to_owned(),
                value: signal.value,
                rank: signal.rank.map(u64::from),
                weight: signal.weight,
            })
            .collect(),
        terms: it.matched_terms,
        explanation: Some(api::Explanation {
            value: score,
            description: "sum of the signals' contributions".to_owned(),
            children,
        }),
    }
}

pub(crate) fn link_kind(it: api::LinkKind) -> memory::LinkKind {
    match it {
        api::LinkKind::Updates => memory::LinkKind::Updates,
        api::LinkKind::Contradicts => memory::LinkKind::Contradicts,
        api::LinkKind::RelatedTo => memory::LinkKind::RelatedTo,
        api::LinkKind::CausedBy => memory::LinkKind::CausedBy,
        api::LinkKind::PartOf => memory::LinkKind::PartOf,
    }
}

pub(crate) fn link(it: memory::Link) -> api::Link {
    api::Link {
        from: it.from.get(),
        to: it.to.get(),
        kind: match it.kind {
            memory::LinkKind::Updates => api::LinkKind::Updates,
            memory::LinkKind::Contradicts => api::LinkKind::Contradicts,
            memory::LinkKind::RelatedTo => api::LinkKind::RelatedTo,
            memory::LinkKind::CausedBy => api::LinkKind::CausedBy,
            memory::LinkKind::PartOf => api::LinkKind::PartOf,
        },
        created_at: it.created_at,
        depth: None,
    }
}

pub(crate) fn suggestions(it: memory::Suggestions) -> api::Suggestions {
    let suggestion = |it: memory::Suggestion| api::Suggestion {
        kind: match it.kind {
            memory::SuggestionKind::Duplicate => api::SuggestionKind::Duplicate,
            memory::SuggestionKind::Updates => api::SuggestionKind::Updates,
            memory::SuggestionKind::Contradicts => api::SuggestionKind::Contradicts,
        },
        from: it.from.get(),
        to: it.to.get(),
        from_title: it.from_title,
        to_title: it.to_title,
        score: it.score,
        reason: it.reason,
    };
    api::Suggestions {
        suggestions: it.suggestions.into_iter().map(suggestion).collect(),
        truncated: it.is_truncated,
        next: it.next.map(memory::MemoryId::get),
    }
}

/// Links in the order of the walk, each with its distance from the start.
pub(crate) fn walk(start: memory::MemoryId, links: Vec<memory::Link>) -> Vec<api::Link> {
    let mut steps = BTreeMap::from([(start, 0_u64)]);
    let mut walked = Vec::with_capacity(links.len());
    for it in links {
        // Breadth first: at least one end was visited before.
        let near = [it.from, it.to].iter().filter_map(|end| steps.get(end)).min().copied();
        let depth = near.unwrap_or(0) + 1;
        for end in [it.from, it.to] {
            steps.entry(end).or_insert(depth);
        }
        walked.push(api::Link { depth: Some(depth), ..link(it) });
    }
    walked
}

pub(crate) fn progress(it: memory::ReindexProgress) -> api::IndexProgress {
    let phase = match it.phase {
        memory::ReindexPhase::Indexing => "index",
        memory::ReindexPhase::Embedding => "embed",
    };
    api::IndexProgress { phase: phase.to_owned(), done: it.done, total: it.total }
}

pub(crate) fn reindexed(it: memory::Reindexed, duration_ms: u64) -> api::IndexResult {
    api::IndexResult {
        indexed: it.indexed,
        embedded: it.embedded,
        failed: it.failed,
        skipped: it.skipped,
        duration_ms,
    }
}

pub(crate) fn imported(it: memory::Imported) -> api::ImportResult {
    let problem = |it: memory::ImportProblem| api::LineProblem {
        line: it.line,
        message: it.message,
        id_taken: it.is_id_taken,
    };
    let mapped = |it: memory::MappedId| api::MappedId { from: it.from.get(), to: it.to.get() };
    api::ImportResult {
        memories: it.memories,
        links: it.links,
        existing: it.existing,
        mapped: it.mapped.into_iter().map(mapped).collect(),
        problems: it.problems.into_iter().map(problem).collect(),
    }
}

pub(crate) fn import_options(it: &api::ImportRequest) -> memory::ImportOptions {
    let ids = match it.ids.unwrap_or_default() {
        api::ImportIds::Keep => memory::ImportIds::Keep,
        api::ImportIds::Map => memory::ImportIds::Map,
    };
    memory::ImportOptions::default().with_ids(ids)
}

/// The value of the header, if the store has a reranker.
pub(crate) fn rerank(it: memory::Rerank) -> Option<&'static str> {
    match it {
        memory::Rerank::Off => None,
        memory::Rerank::Applied => Some("applied"),
        memory::Rerank::Skipped => Some("skipped"),
    }
}

pub(crate) fn search_mode(it: memory::SearchMode) -> &'static str {
    it.as_str()
}

pub(crate) fn new_token(it: api::NewTokenRequest) -> auth::NewToken {
    let mut token = auth::NewToken::new(it.scopes.into_iter().map(scope));
    token.expires = it.expires_at;
    token.space = it.space;
    token.note = it.note;
    token
}

pub(crate) fn token(it: auth::TokenInfo) -> api::TokenInfo {
    api::TokenInfo {
        id: it.id.as_str().to_owned(),
        // Both crates define the same scopes.
        scopes: scopes(it.scopes),
        created_at: it.created,
        expires_at: it.expires,
        space: it.space,
        note: it.note,
        last_used_at: it.last_used,
        revoked_at: it.revoked,
        parent: it.parent.map(|it| it.to_string()),
    }
}

pub(crate) fn scopes(it: auth::Scopes) -> Vec<api::Scope> {
    it.iter().filter_map(|it| api::Scope::from_name(it.as_str())).collect()
}

pub(crate) fn scope(it: api::Scope) -> auth::Scope {
    match it {
        api::Scope::MemoryRead => auth::Scope::MemoryRead,
        api::Scope::MemoryWrite => auth::Scope::MemoryWrite,
        api::Scope::ContextRead => auth::Scope::ContextRead,
        api::Scope::EventsRead => auth::Scope::EventsRead,
        api::Scope::EventsPublish => auth::Scope::EventsPublish,
        api::Scope::FlowsRead => auth::Scope::FlowsRead,
        api::Scope::FlowsRun => auth::Scope::FlowsRun,
        api::Scope::BrowserUse => auth::Scope::BrowserUse,
        api::Scope::Admin => auth::Scope::Admin,
    }
}

/// The event that a client wants to publish.
pub(crate) fn event_draft(
    asked: api::PublishRequest,
    source: String,
) -> Result<events::Draft, Failure> {
    let check = |kind: &events::EventType| {
        if !kind.is_reserved() {
            return Ok(());
        }
        let namespace = kind.namespace();
        Err(format!("the namespace {namespace} is reserved for the service; use another"))
    };
    let (kind, data) = event_parts(&asked.kind, asked.data, check)?;
    Ok(events::Draft::new(kind, data, source))
}

/// The type and the data of an event, or all that is wrong with them; `check` is another check of the
/// type.
pub(crate) fn event_parts(
    kind: &str,
    data: api::EventData,
    check: impl Fn(&events::EventType) -> Result<(), String>,
) -> Result<(events::EventType, events::Data), Failure> {
    let mut faults = api::Faults::of_body();
    let mut built = events::Data::default();
    for (key, value) in data.0 {
        if let Err(it) = built.insert(&key, event_value(value)) {
            faults.add(&format!("data/{}", api::escape_pointer(&it.key)), it.what);
        }
    }
    let kind = kind.parse().map_err(|why: events::InvalidType| why.to_string());
    let kind = kind.and_then(|kind| check(&kind).map(|()| kind));
    let kind = kind.map_err(|why| faults.add("type", why));
    match (kind, faults.into_vec()) {
        (Ok(kind), faults) if faults.is_empty() => Ok((kind, built)),
        (_, faults) => Err(api::Problem::fields(faults).into()),
    }
}

fn event_value(value: api::Scalar) -> events::Value {
    match value {
        api::Scalar::String(text) => events::Value::Text(text),
        api::Scalar::Bool(value) => events::Value::Text(value.to_string()),
        api::Scalar::Number(number) => event_number(&number).into(),
    }
}

fn event_number(number: &serde_json::Number) -> events::Number {
    let whole = number.as_u64().map(events::Number::from);
    whole
        .or_else(|| number.as_i64().map(events::Number::from))
        // A JSON number that serde_json holds is finite.
        .or_else(|| number.as_f64().and_then(events::Number::from_float))
        .unwrap_or_else(|| 0_u64.into())
}

pub(crate) fn event(it: events::Event) -> api::Event {
    let data = wire_data(&it.data);
    api::Event {
        id: it.id,
        kind: it.kind.as_str().to_owned(),
        data,
        time: it.time,
        source: it.source,
        root: it.lineage.root,
        cause: it.lineage.cause,
        space: it.space,
    }
}
