//! Recall: what sessions of agents get without asking, and the log of it.

mod injection;
mod turns;
mod why;

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use http::header::LINK;
use http::{HeaderValue, StatusCode};
use waypost_api::{self as api, limits::RECALL_LIMIT_DEFAULT};
use waypost_recall::{Query, Session, SessionKey};

use self::injection::Injection;
use crate::clock::now;
use crate::http::call::Call;
use crate::http::failure::Failure;
use crate::http::reply::json;
use crate::http::request::parse;
use crate::http::wire;

/// The least score of what is injected: from there on, a search has probably found an answer.
const THRESHOLD: f64 = api::ANSWERABLE_LEAST;
/// Spaces that an error names.
const SPACES_SHOWN_MAX: usize = 8;

pub(super) async fn list(call: Call) -> Result<Response, Failure> {
    let mut asked: api::RecallListRequest = call.parsed_query()?;
    call.caller.narrow(&mut asked.space)?;
    let limit = usize::try_from(asked.limit.unwrap_or(RECALL_LIMIT_DEFAULT)).unwrap_or(usize::MAX);
    let recall = Arc::clone(&call.app.recall);
    call.app
        .reads
        .run(move || {
            let query = Query {
                session: asked.session.clone(),
                memory: asked.memory,
                space: asked.space.clone(),
                before: asked.before,
                limit: limit.saturating_add(1),
            };
            let mut page = recall.log.list(&query);
            let has_more = page.len() > limit;
            page.truncate(limit);
            let next = page.last().filter(|_| has_more).map(|page| page.id);
            let page: Vec<_> = page.into_iter().map(wire::recall::entry).collect();
            let mut response = json(StatusCode::OK, &page);
            if next.is_some() {
                let path = api::with_query(
                    "/api/recall",
                    &api::RecallListRequest { before: next, ..asked },
                );
                if let Ok(link) = HeaderValue::from_str(&format!("<{path}>; rel=\"next\"")) {
                    response.headers_mut().insert(LINK, link);
                }
            }
            Ok(response)
        })
        .await?
}

pub(super) async fn session(call: Call) -> Result<Response, Failure> {
    let mut asked: api::RecallSessionRequest = call.parsed_query()?;
    call.caller.narrow(&mut asked.space)?;
    let mut found = call.app.recall.log.sessions(&call.name);
    match &asked.space {
        Some(space) => found.retain(|(key, _)| key.space.as_deref() == Some(space)),
        None => {
            if found.first().is_some_and(|(key, _)| key.space.is_none()) {
                found.truncate(1);
            }
        }
    }
    match &*found {
        [] => Err(Failure::not_found(
            "the recall log knows no such session; `GET /api/recall` lists entries with theirs",
        )),
        [(key, session)] => Ok(json(StatusCode::OK, &wire::recall::session(key, session))),
        several => Err(api::Problem::field("?space", which_space(several)).into()),
    }
}

/// Asks for one of the spaces of a session.
fn which_space(of: &[(SessionKey, Session)]) -> String {
    let spaces = of.iter().filter_map(|(key, _)| key.space.as_deref());
    let shown: Vec<String> =
        spaces.take(SPACES_SHOWN_MAX).map(|space| format!("`{space}`")).collect();
    let others = match of.len() - shown.len() {
        0 => String::new(),
        others => format!(" and {others} others"),
    };
    format!("is required: the session is in the spaces {}{others}", shown.join(", "))
}

/// 429 if the token asks too often: a brief and a prompt add to the log, with a scope that only reads.
fn pace(call: &Call) -> Result<(), Failure> {
    if call.app.recall.pace.takes(call.caller.source()) {
        return Ok(());
    }
    Err(Failure::too_often(
        "the token has asked for more than 600 briefs and prompts at once, and 20 in each second since; try again in a second",
    ))
}

/// The injection into the session of a request.
fn injection<'a>(
    call: &'a Call,
    session: &str,
    space: &mut Option<String>,
    harness: &'a str,
) -> Result<Injection<'a>, Failure> {
    call.caller.narrow(space)?;
    let key = SessionKey::new(session, space.as_deref());
    Ok(Injection { scoped: call.scoped(), recall: &call.app.recall, key, harness })
}

pub(super) async fn brief(call: Call) -> Result<Response, Failure> {
    pace(&call)?;
    let work = |call: &Call, mut asked: api::RecallBriefRequest| {
        let injection = injection(call, &asked.session, &mut asked.space, &asked.harness)?;
        injection.start(asked.source.as_deref())
    };
    call.answer_body(|app| &app.reads, work).await
}

pub(super) async fn prompt(call: Call) -> Result<Response, Failure> {
    pace(&call)?;
    let work = |call: &Call, mut asked: api::RecallPromptRequest| {
        let injection = injection(call, &asked.session, &mut asked.space, &asked.harness)?;
        injection.prompt(&asked.prompt)
    };
    call.answer_body(|app| &app.reads, work).await
}

pub(super) async fn turns(call: Call) -> Result<Response, Failure> {
    let app = Arc::clone(&call.app);
    let work = |call: &Call, mut asked: api::RecallTurnsRequest| {
        call.caller.narrow(&mut asked.space)?;
        turns::record(&call.scoped(), &call.app.recall, &asked)
    };
    let answered = call.answer_body(|app| &app.writes, work).await;
    app.model.embed_soon();
    answered
}

pub(super) async fn compaction(mut call: Call) -> Result<Response, Failure> {
    let body = call.body().await?;
    let app = Arc::clone(&call.app);
    app.writes
        .run(move || {
            let mut asked: api::RecallCompactionRequest = parse(&body.bytes)?;
            call.caller.narrow(&mut asked.space)?;
            let key = SessionKey::new(&asked.session, asked.space.as_deref());
            call.app.recall.log.compacted(key, &asked.harness, now())?;
            Ok(StatusCode::NO_CONTENT.into_response())
        })
        .await?
}

/// It searches the past, too, which is slow.
pub(super) async fn why(call: Call) -> Result<Response, Failure> {
    let work = |call: &Call, mut asked: api::RecallWhyRequest| {
        call.caller.narrow(&mut asked.space)?;
        why::explain(&call.scoped(), &call.app.recall, &asked)
    };
    call.answer_body(|app| &app.past, work).await
}
