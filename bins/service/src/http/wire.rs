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

    assert!(wire::LIMIT_MAX == events::LIMIT_MAX as u64);
    assert!(wire::IDEMPOTENCY_KEY_BYTES_MAX == events::IDEMPOTENCY_KEY_BYTES_MAX);
    assert!(wire::ITEMS_MAX == waypost_context::ITEMS_MAX as u64);
};

/// The id from a body or path, whose range has been checked.
pub(crate) fn id(number: u64) -> Result<memory::MemoryId, Failure> {
    memory::MemoryId::new(number).ok_or_else(|| {
        let detail = "an id is a whole number between 1 and 9007199254740991 (2^53 - 1)";
        api::Problem::new(422, detail).into()
    })
}

/// The versions of a memory, and its deletions, one after the other.
pub(crate) struct History {
    last: u32,
    was_deleted: bool,
}

impl History {
    /// The history after a version.
    pub(crate) fn after(version: Option<&memory::Version>) -> Self {
        let last = version.map_or(0, |version| version.memory.version);
        Self { last, was_deleted: version.is_some_and(|version| version.deleted_at.is_some()) }
    }

    /// The change that made the next version, and its deletion.
    pub(crate) fn changes(
        &mut self,
        version: memory::Version,
    ) -> impl Iterator<Item = api::Version> + use<> {
        let memory::Version { memory, has_text, deleted_at, .. } = version;
        let number = memory.version;
        let missing = number.saturating_sub(self.last + 1);
        let change = match number {
            _ if self.was_deleted => api::VersionChange::Restored,
            1 => api::VersionChange::Added,
            _ => api::VersionChange::Updated,
        };
        let version = api::Version {
            version: u64::from(number),
            change,
            changed_at: memory.updated_at,
            missing_before: Some(missing).filter(|count| *count > 0),
            memory: has_text.then_some(memory),
        };
        let deletion = deleted_at.map(|at| api::Version {
            version: u64::from(number) + 1,
            change: api::VersionChange::Deleted,
            changed_at: at,
            missing_before: None,
            memory: None,
        });
        (self.last, self.was_deleted) = (number, deletion.is_some());
        std::iter::once(version).chain(deletion)
    }
}

pub(crate) fn search_options(it: &api::SearchRequest, limit: usize) -> memory::SearchOptions {
    memory::SearchOptions::default()
        .with_limit(limit)
        .with_filter(it.filter())
        .with_mode(it.mode.unwrap_or_default())
        .with_explain(it.explain.unwrap_or(false))
        .with_min_score(it.min_score)
        .with_include_superseded(it.include_superseded.unwrap_or(false))
        .with_recency(it.recency)
        .with_valid_at(it.valid_at)
        .with_as_of(it.as_of)
        .with_now(it.now.unwrap_or_else(now))
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

pub(crate) fn hit(it: memory::Hit) -> api::Hit {
    let (scores, links) = match it.explanation {
        Some(explanation) => {
            let links = explanation.links.clone();
            (Some(scores(it.score, explanation)), Some(links))
        }
        None => (None, None),
    };
    api::Hit { memory: it.memory, score: it.score, contradicts: it.contradicts, scores, links }
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

/// The value of the header, if the store has a reranker.
pub(crate) fn rerank(it: memory::Rerank) -> Option<&'static str> {
    match it {
        memory::Rerank::Off => None,
        memory::Rerank::Applied => Some("applied"),
        memory::Rerank::Skipped => Some("skipped"),
    }
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
        parent: it.parent.map(|parent| parent.to_string()),
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
