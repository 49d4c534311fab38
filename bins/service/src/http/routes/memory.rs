//! Memories one by one, and the links between them.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use waypost_api::limits::{LIMIT_MAX, LIST_LIMIT_DEFAULT};
use waypost_api::{self as api, Vocabulary};
use waypost_memory::{Added, Linked, MemoryId, Outline, RequestKey, Version};

use crate::app::App;
use crate::clock::now;
use crate::http::failure::Failure;
use crate::http::guard::Caller;
use crate::http::keys::KeyHead;
use crate::http::pool::Promise;
use crate::http::reply::{array, json, link_next};
use crate::http::request::{parse, query, whole};
use crate::http::routes::suggestions;
use crate::http::scoped::Scoped;
use crate::http::wire;

/// Bodies up to this size are parsed and analysed on the connection's thread, which takes about
/// half a millisecond.
const BODY_AT_ONCE_MAX: usize = 16 * 1024;

pub(super) async fn add(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: KeyHead,
    request: Request,
) -> Result<Response, Failure> {
    let body = whole(&app, request).await?;
    let bytes = body.bytes.len();
    let read = move || Ok((parse(&body.bytes)?, key.of(&body.bytes)));
    let (status, added) = add_memory(&app, caller, bytes, read).await?;
    Ok(json(status, &added))
}

/// Adds the memory of about that many bytes that `read` returns, with the key of its request: 201, or 200 if it existed.
pub(super) async fn add_memory(
    app: &Arc<App>,
    caller: Caller,
    bytes: usize,
    read: impl FnOnce() -> Result<(api::AddRequest, Option<RequestKey>), Failure> + Send + 'static,
) -> Result<(StatusCode, api::AddedMemory), Failure> {
    let scoped = app.scoped(&caller);
    let drafting = scoped.clone();
    let draft = move || {
        let (mut asked, key) = read()?;
        caller.narrow(&mut asked.space)?;
        Ok::<_, Failure>(drafting.addition(asked, key))
    };
    let added = if bytes <= BODY_AT_ONCE_MAX {
        let draft = draft()?;
        let begin = |promise: Promise<_>| {
            scoped.adding().add_later(draft, now(), |added| promise.keep(added));
            app.wake.writing();
        };
        app.writes.begin(begin).await?
    } else {
        let store = Arc::clone(scoped.adding());
        app.writes.run(move || Ok::<_, Failure>(store.add(draft()?, now()))).await??
    };
    let added = added?;
    app.model.embed_soon();
    let (status, memory, suggestions) = match added {
        Added::New(memory) => {
            let suggestions = suggestions::of_new(app, &scoped, memory.id).await;
            (StatusCode::CREATED, memory, suggestions)
        }
        Added::Existing(memory) => (StatusCode::OK, scoped.added(memory), Vec::new()),
        Added::Before(memory) => (StatusCode::OK, scoped.added_before(memory), Vec::new()),
    };
    Ok((status, api::AddedMemory { memory, suggestions }))
}

pub(super) async fn get(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let id = wire::id(api::parse_id(&id)?)?;
    let scoped = app.scoped(&caller);
    app.reads.run(move || Ok(json(StatusCode::OK, &scoped.get(id)?))).await?
}

pub(super) async fn update(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: KeyHead,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Failure> {
    let id = wire::id(api::parse_id(&id)?)?;
    let body = whole(&app, request).await?;
    let scoped = app.scoped(&caller);
    let work = move || {
        let asked: api::PatchRequest = parse(&body.bytes)?;
        let changed = scoped.update(id, asked, key.of(&body.bytes))?;
        Ok(json(StatusCode::OK, &changed))
    };
    let answered = app.writes.run(work).await?;
    app.model.embed_soon();
    answered
}

pub(super) async fn delete(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: KeyHead,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let id = wire::id(api::parse_id(&id)?)?;
    let scoped = app.scoped(&caller);
    app.writes
        .run(move || {
            scoped.delete(id, key.of(b""))?;
            Ok(StatusCode::NO_CONTENT.into_response())
        })
        .await?
}

pub(super) async fn merge(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: KeyHead,
    request: Request,
) -> Result<Response, Failure> {
    let body = whole(&app, request).await?;
    let scoped = app.scoped(&caller);
    let work = move || {
        let asked: api::MergeRequest = parse(&body.bytes)?;
        let (into, from) = (wire::id(asked.into)?, wire::id(asked.from)?);
        let patch = asked.set.unwrap_or_default();
        let merged = scoped.merge((into, from), patch, key.of(&body.bytes))?;
        Ok(json(StatusCode::OK, &merged))
    };
    let answered = app.writes.run(work).await?;
    app.model.embed_soon();
    answered
}

pub(super) async fn restore(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: KeyHead,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Failure> {
    let id = wire::id(api::parse_id(&id)?)?;
    let body = whole(&app, request).await?;
    let scoped = app.scoped(&caller);
    let work = move || {
        let asked: api::RestoreRequest = parse(&body.bytes)?;
        // The check has ruled out larger numbers.
        let version = u32::try_from(asked.version).unwrap_or(u32::MAX);
        let reverted = scoped.revert(id, version, key.of(&body.bytes))?;
        Ok(json(StatusCode::OK, &reverted))
    };
    let answered = app.writes.run(work).await?;
    app.model.embed_soon();
    answered
}

pub(super) async fn undelete(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: KeyHead,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let id = wire::id(api::parse_id(&id)?)?;
    let scoped = app.scoped(&caller);
    let work = move || {
        let restored = scoped.undelete(id, key.of(b""))?;
        Ok(json(StatusCode::OK, &restored))
    };
    let answered = app.writes.run(work).await?;
    app.model.embed_soon();
    answered
}

pub(super) async fn history(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Failure> {
    let id = wire::id(api::parse_id(&id)?)?;
    let query = query(&request).to_owned();
    let asked: api::HistoryRequest = api::parse_query(&query)?;
    let after = asked.after.unwrap_or(0);
    let limit = usize::try_from(asked.limit.unwrap_or(LIMIT_MAX)).unwrap_or(usize::MAX);
    let scoped = app.scoped(&caller);
    let shared = Arc::clone(&app);
    app.reads
        .run(move || {
            let mut versions = scoped.versions(id)?;
            let from =
                versions.partition_point(|version| u64::from(version.memory.version) <= after);
            let before = from.checked_sub(1).map(|difference| versions[difference].clone());
            versions.drain(..from);
            let has_more = versions.len() > limit;
            versions.truncate(limit);
            let last = versions.last().map(|version| version.memory.version).filter(|_| has_more);
            let held_bytes = versions.len() * size_of::<Version>();
            let mut history = wire::History::after(before.as_ref());
            let changes =
                versions.into_iter().flat_map(move |version| match scoped.read_version(version) {
                    Ok(version) => {
                        history.changes(version).map(|change| Ok(Some(change))).collect()
                    }
                    Err(failure) => vec![Err(failure)],
                });
            let mut response = array(&shared, changes, held_bytes)?;
            if let Some(last) = last {
                link_next(&mut response, &format!("/api/memory/{id}/history"), &query, last);
            }
            Ok(response)
        })
        .await?
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Failure> {
    let query = request.uri().query().unwrap_or_default().to_owned();
    let mut asked: api::ListRequest = api::parse_query(&query)?;
    caller.narrow(&mut asked.space)?;
    let limit = usize::try_from(asked.limit.unwrap_or(LIST_LIMIT_DEFAULT)).unwrap_or(usize::MAX);
    let after = asked.after.and_then(MemoryId::new);
    let order = asked.order.unwrap_or_default();
    let scoped = app.scoped(&caller);
    let shared = Arc::clone(&app);
    app.reads
        .run(move || {
            let filter = asked.filter();
            let read = |after: Option<MemoryId>, limit: usize| {
                scoped.outline(filter.clone(), (after, limit), order)
            };
            let page = read(after, limit)?;
            let last = page.last().map(|page| page.id).filter(|_| page.len() == limit);
            let next = match last {
                Some(last) if !read(Some(last), 1)?.is_empty() => Some(last),
                _ => None,
            };
            let held_bytes = page.len() * size_of::<Outline>();
            let texts = page.into_iter().map(move |page| scoped.read_text(page, now()));
            let mut response = array(&shared, texts, held_bytes)?;
            if let Some(next) = next {
                link_next(&mut response, "/api/memory", &query, next);
            }
            Ok(response)
        })
        .await?
}

pub(super) async fn count(
    State(app): State<Arc<App>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Failure> {
    let body = whole(&app, request).await?;
    let scoped = app.scoped(&caller);
    app.reads
        .run(move || {
            let mut asked: api::CountRequest = api::parse_optional_body(&body.bytes)?;
            caller.narrow(&mut asked.space)?;
            let counts = scoped.count(asked.filter())?;
            Ok(json(StatusCode::OK, &wire::counts(counts, &asked.by)))
        })
        .await?
}

pub(super) async fn link(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: KeyHead,
    request: Request,
) -> Result<Response, Failure> {
    let body = whole(&app, request).await?;
    let scoped = app.scoped(&caller);
    app.writes
        .run(move || {
            let (status, link) = add_link(&scoped, &parse(&body.bytes)?, key.of(&body.bytes))?;
            Ok(json(status, &link))
        })
        .await?
}

/// Adds a link: 201, or 200 if it existed.
pub(super) fn add_link(
    scoped: &Scoped,
    asked: &api::LinkRequest,
    key: Option<RequestKey>,
) -> Result<(StatusCode, api::Link), Failure> {
    let (from, to) = (wire::id(asked.from)?, wire::id(asked.to)?);
    Ok(match scoped.link((from, to), asked.kind, key)? {
        Linked::New(link) => (StatusCode::CREATED, link),
        Linked::Existing(link) => (StatusCode::OK, link),
    })
}

pub(super) async fn unlink(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: KeyHead,
    request: Request,
) -> Result<Response, Failure> {
    let query = request.uri().query().unwrap_or_default().to_owned();
    let body = whole(&app, request).await?;
    let scoped = app.scoped(&caller);
    app.writes
        .run(move || {
            let asked: api::LinkRequest =
                if query.is_empty() { parse(&body.bytes)? } else { api::parse_query(&query)? };
            let (from, to) = (wire::id(asked.from)?, wire::id(asked.to)?);
            let key = key.of(&body.bytes);
            if !scoped.unlink((from, to), asked.kind, key)? {
                let kind = asked.kind.as_str();
                return Err(Failure::not_found(format!("no link {kind} from {from} to {to}")));
            }
            Ok(StatusCode::NO_CONTENT.into_response())
        })
        .await?
}

pub(super) async fn links(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Failure> {
    let id = wire::id(api::parse_id(&id)?)?;
    let asked: api::LinksRequest = api::parse_query(request.uri().query().unwrap_or_default())?;
    let depth = u32::try_from(asked.depth.unwrap_or(1)).unwrap_or(u32::MAX);
    let scoped = app.scoped(&caller);
    app.reads.run(move || Ok(json(StatusCode::OK, &scoped.links(id, depth)?))).await?
}
