//! Events: publishing and reading.

use std::sync::Arc;

use axum::response::Response;
use http::{HeaderValue, StatusCode};
use waypost_api::{self as api, limits::LIST_LIMIT_DEFAULT};
use waypost_events::{Error, Event, IdempotencyKey, Page, Pattern, Published, Query};

use crate::app::App;
use crate::clock::now;
use crate::http::call::Call;
use crate::http::failure::Failure;
use crate::http::guard::Caller;
use crate::http::keys::idempotency_key;
use crate::http::pool::Promise;
use crate::http::reply::{array, json, link_next};
use crate::http::scoped::Scoped;
use crate::http::stream::PIECE_BYTES;
use crate::http::wire;

pub(super) async fn publish(mut call: Call) -> Result<Response, Failure> {
    let key = idempotency_key(&call.parts.headers)?;
    let asked = call.parsed_body().await?;
    let Call { app, caller, .. } = call;
    let published = publish_event(&app, &caller, asked, key).await?;
    let status = if published.duplicate { StatusCode::OK } else { StatusCode::CREATED };
    Ok(json(status, &published))
}

/// Publishes an event that was checked.
pub(super) async fn publish_event(
    app: &App,
    caller: &Caller,
    asked: api::PublishRequest,
    key: Option<IdempotencyKey>,
) -> Result<api::Published, Failure> {
    let scoped = app.scoped(caller);
    let mut draft = scoped.publishing(wire::event_draft(asked, String::new())?);
    draft.key = key;
    let now = now();
    let mut refused = None;
    let begin = |promise: Promise<_>| {
        // A publish that fails at once is answered below, and its promise is dropped.
        refused = scoped.publish(draft, now, Box::new(|it| promise.keep(it))).err();
        app.wake.publishing();
    };
    let answered = app.writes.begin(begin).await;
    if let Some(error) = refused {
        return Err(error.into());
    }
    let Published { event, duplicate, .. } = answered??;
    Ok(api::Published { event: wire::event(event), duplicate })
}

pub(super) async fn list(call: Call) -> Result<Response, Failure> {
    let asked = api::parse_query_with(call.query(), check_list)?;
    let (scoped, app) = (call.scoped(), Arc::clone(&call.app));
    app.reads
        .run(move || {
            let mut page = find(&scoped, &asked)?;
            let (next_after, last) = (page.next_after, page.last);
            let held_bytes = page.events.len() * size_of::<Event>();
            let events = std::mem::take(&mut page.events);
            let events = events.into_iter().map(move |event| read(&scoped, &page, event));
            let mut response = array(&call.app, events, held_bytes)?;
            if next_after < last && asked.before.is_none() {
                link_next(&mut response, "/api/events", call.query(), next_after);
            }
            let cursor = HeaderValue::from(next_after);
            response.headers_mut().insert(api::NEXT_AFTER_HEADER, cursor);
            Ok(response)
        })
        .await?
}

/// Checks the pattern of a request for a list.
pub(super) fn check_list(asked: &api::EventsRequest, faults: &mut api::Faults) {
    check_pattern(asked.pattern.as_deref(), faults);
}

/// A page of events, of which [`read`] reads the data.
pub(super) fn find(scoped: &Scoped, asked: &api::EventsRequest) -> Result<Page, Failure> {
    let limit = asked.limit.unwrap_or(LIST_LIMIT_DEFAULT);
    let mut wanted = Query::default()
        .with_limit(usize::try_from(limit).unwrap_or(usize::MAX))
        .with_data_bytes_max(PIECE_BYTES);
    wanted.pattern = asked.pattern.as_deref().map(pattern).transpose()?;
    (wanted.after, wanted.before, wanted.since) = (asked.after, asked.before, asked.since);
    scoped.events(wanted).map_err(of_query)
}

/// An event of a page with its data, if it is still there.
pub(super) fn read(
    scoped: &Scoped,
    page: &Page,
    event: Event,
) -> Result<Option<api::Event>, Failure> {
    let is_bare = page.lacks_data && event.data.is_empty();
    let event = if is_bare { scoped.find_event(event.id)? } else { Some(event) };
    Ok(event.map(wire::event))
}

pub(super) async fn get(call: Call) -> Result<Response, Failure> {
    let id = api::parse_id(&call.name)?;
    call.answer(|app| &app.reads, move |call| Ok(wire::event(call.scoped().event(id)?))).await
}

/// Reports an error in a query as an error of its parameter.
fn of_query(error: Error) -> Failure {
    match error {
        Error::Invalid { field, reason } => api::Problem::field(format!("?{field}"), reason).into(),
        error => error.into(),
    }
}

/// Checks a pattern in a query string.
pub(super) fn check_pattern(text: Option<&str>, faults: &mut api::Faults) {
    if let Some(Err(why)) = text.map(str::parse::<Pattern>) {
        faults.add("pattern", why.to_string());
    }
}

/// A pattern in a query string.
pub(super) fn pattern(text: &str) -> Result<Pattern, Failure> {
    let invalid =
        |error: waypost_events::InvalidPattern| api::Problem::field("?pattern", error.to_string());
    Ok(text.parse().map_err(invalid)?)
}
