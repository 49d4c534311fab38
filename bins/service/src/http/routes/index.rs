//! Rebuilding the index, and rewriting the log.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use http::{HeaderValue, StatusCode};
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use waypost_api as api;
use waypost_memory::{CompactResult, Compaction, Reindex, ReindexProgress, Store};

use crate::app::App;
use crate::clock::now;
use crate::http::failure::Failure;
use crate::http::guard::Caller;
use crate::http::reply::{encode, json};
use crate::http::request::whole;
use crate::http::wire;

/// The shortest time between two progress events.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);
/// A comment is sent after this time without an event, so that the connection stays alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

enum News {
    Progress(ReindexProgress),
    Done(Result<api::IndexResult, Failure>),
}

pub(super) async fn index(
    State(app): State<Arc<App>>,
    caller: Caller,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Failure> {
    let whole_store = app.whole(&caller)?.store;
    let body = whole(&app, request).await?;
    let asked: api::IndexRequest = api::parse_optional_body(&body.bytes)?;
    let backfill = asked.backfill.unwrap_or(false);
    let slot = app.streams.slot().await?;
    let (sender, mut news) = mpsc::channel(16);
    tokio::task::spawn_blocking(move || {
        let done = News::Done(reindex(&app, &whole_store, (&caller, backfill), &sender));
        drop(app);
        drop(slot);
        if sender.blocking_send(done).is_err() {
            tracing::debug!("the client of a reindex disconnected");
        }
    });
    if !wants_stream(&headers) {
        while let Some(it) = news.recv().await {
            if let News::Done(done) = it {
                return Ok(json(StatusCode::OK, &done?));
            }
        }
        return Err(Failure::internal());
    }
    // An error at the start is a response of its own, not an event.
    let first = match news.recv().await {
        Some(News::Done(Err(failure))) => return Err(failure),
        Some(first) => first,
        None => return Err(Failure::internal()),
    };
    let events = tokio_stream::once(first).chain(ReceiverStream::new(news)).map(event);
    let events = events.timeout_repeating(tokio::time::interval(KEEP_ALIVE)).map(|repeating| {
        let bytes = repeating.unwrap_or_else(|_| Bytes::from_static(b": in progress\n\n"));
        Ok::<_, std::io::Error>(bytes)
    });
    let mut response = Body::from_stream(events).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(api::EVENT_STREAM));
    Ok(response)
}

fn wants_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|it| it.to_str().ok());
    accepted.flat_map(|accepted| accepted.split(',')).any(|part| {
        part.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(api::EVENT_STREAM)
    })
}

fn reindex(
    app: &App,
    store: &Store,
    (caller, backfill): (&Caller, bool),
    news: &mpsc::Sender<News>,
) -> Result<api::IndexResult, Failure> {
    let started = Instant::now();
    let mut reported: Option<Instant> = None;
    let done = store.reindex(Reindex { backfill }, now(), &mut |progress| {
        let due = reported.is_none_or(|reported| reported.elapsed() >= PROGRESS_EVERY);
        // One slot is reserved for the end; a client that does not read misses progress only.
        if due && news.capacity() > 1 && news.try_send(News::Progress(progress)).is_ok() {
            reported = Some(Instant::now());
        }
    })?;
    app.publisher.reindexed(&done, caller.lineage());
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(wire::reindexed(done, duration_ms))
}

fn event(it: News) -> Bytes {
    let (name, data) = match it {
        News::Progress(progress) => ("progress", encode(&wire::progress(progress))),
        News::Done(Ok(result)) => ("done", encode(&result)),
        News::Done(Err(failure)) => ("problem", encode(&failure.problem)),
    };
    // JSON has no raw line breaks, so one data line is enough.
    [b"event: ", name.as_bytes(), b"\ndata: ", &data, b"\n\n"].concat().into()
}

pub(super) async fn compact(
    State(app): State<Arc<App>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Failure> {
    let body = whole(&app, request).await?;
    let asked: api::CompactRequest = api::parse_optional_body(&body.bytes)?;
    let what = Compaction::default()
        .with_purge(true)
        .with_versions(asked.versions.and_then(NonZeroU32::new));
    let slot = app.streams.slot().await?;
    let store = app.whole(&caller)?.store;
    let measured = Arc::clone(&app);
    let compacting = tokio::task::spawn_blocking(move || {
        let done = purge(&measured, &store, what);
        measured.measure_storage();
        drop(slot);
        done
    });
    let done = compacting.await.map_err(|_| Failure::internal())??;
    Ok(json(StatusCode::OK, &done))
}

/// Removes texts from the memories and from the events about them.
fn purge(app: &App, store: &Store, what: Compaction) -> Result<CompactResult, Failure> {
    // First, so that no crash leaves the title of a memory that is purged; and again for those that
    // were deleted meanwhile, and for versions.
    app.publisher.erase_forgotten()??;
    if app.cluster.as_ref().is_some_and(|cluster| !cluster.move_base()) {
        return Err(Failure::busy("other writes are in progress, or the files cannot be synced"));
    }
    let done = store.compact(what)?;
    app.publisher.erase_forgotten()??;
    Ok(done)
}
