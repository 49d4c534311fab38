//! The browser on the mesh.

use std::time::Duration;

use axum::response::Response;
use http::StatusCode;
use serde_json::{Map, Value, json};
use waypost_api::{self as api, BROWSER_TARGET, ProblemKind};
use waypost_mesh::{CallError, Origin, Peer};

use crate::app::App;
use crate::http::call::Call;
use crate::http::failure::Failure;
use crate::http::guard::Caller;
use crate::http::keys::OnRepeat;
use crate::http::reply;
use crate::mesh::calls::Unanswered;

/// How long a list waits for the browser to say where it is.
const PLACE_TIME: Duration = Duration::from_secs(1);
/// How long the browser waits for a page if the arguments do not say it, at most.
const WAIT_MS_DEFAULT: u64 = 30_000;
/// The longest time that the arguments may give; the browser rejects longer ones.
const WAIT_MS_MAX: u64 = 120_000;
/// How much later than that its answer may arrive.
const ANSWER_TIME: Duration = Duration::from_secs(10);

pub(super) async fn list(call: Call) -> Result<Response, Failure> {
    let Call { app, caller, .. } = call;
    let peers = present(&app, &caller).await?;
    let mut browsers: Vec<_> = peers.iter().map(browser).collect();
    // Of several, the one on this machine is called; without one, none.
    let is_called =
        peers.len() == 1 || peers.first().is_some_and(|peer| peer.origin == Origin::Local);
    if let Some(first) = browsers.first_mut().filter(|_| is_called) {
        let tabs = app
            .mesh
            .call(BROWSER_TARGET.to_owned(), "tabs".to_owned(), Value::Null, PLACE_TIME)
            .await;
        let tabs = tabs.unwrap_or_default();
        let is_current = |value: &&Value| value["tab"] == tabs["current"];
        let current = tabs["tabs"].as_array().into_iter().flatten().find(is_current);
        let text =
            |name: &str| current.and_then(|current| current[name].as_str()).map(str::to_owned);
        (first.url, first.title) = (text("url"), text("title"));
    }
    Ok(reply::json(StatusCode::OK, &browsers))
}

/// The browsers on the mesh.
pub(super) async fn present(app: &App, caller: &Caller) -> Result<Vec<Peer>, Failure> {
    caller.require_all_spaces()?;
    match app.mesh.serving(BROWSER_TARGET).await {
        Ok(peers) => Ok(peers),
        Err(Unanswered::Disabled | Unanswered::NotJoined) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

fn browser(peer: &Peer) -> api::Browser {
    api::Browser {
        id: peer.id.clone(),
        name: peer.name.clone(),
        origin: peer.origin.to_string(),
        ..api::Browser::default()
    }
}

pub(super) async fn command(mut call: Call) -> Result<Response, Failure> {
    call.caller.require_all_spaces()?;
    let arguments = api::parse_arguments(&call.body().await?.bytes)?;
    let Call { app, caller, name, .. } = call;
    let mut response = reply::json(StatusCode::OK, &send(&app, &caller, name, arguments).await?);
    // Pages are not kept beside memories.
    let repeated = "the first request with this Idempotency-Key sent the command, and its answer is \
                    not kept: `read` the page";
    response.extensions_mut().insert(OnRepeat::new(repeated));
    Ok(response)
}

/// Calls a command of the browser.
pub(super) async fn send(
    app: &App,
    caller: &Caller,
    command: String,
    mut arguments: Map<String, Value>,
) -> Result<Value, Failure> {
    caller.require_all_spaces()?;
    if command == "read" {
        name_reader(caller, &mut arguments)?;
    }
    let wait = arguments.get("timeout").and_then(Value::as_u64).unwrap_or(WAIT_MS_DEFAULT);
    let deadline = Duration::from_millis(wait.min(WAIT_MS_MAX)) + ANSWER_TIME;
    Ok(app.mesh.call(BROWSER_TARGET.to_owned(), command, arguments.into(), deadline).await?)
}

/// Each token reads for itself, and so do the readers that its clients distinguish.
fn name_reader(caller: &Caller, arguments: &mut Map<String, Value>) -> Result<(), Failure> {
    let token = caller.token()?;
    match arguments.get_mut("reader") {
        None => drop(arguments.insert("reader".to_owned(), json!(token.to_string()))),
        Some(Value::String(reader)) => *reader = format!("{token}/{reader}"),
        // The browser says what is wrong with it.
        Some(_) => {}
    }
    Ok(())
}

impl From<Unanswered> for Failure {
    fn from(error: Unanswered) -> Self {
        let unreachable = |why: &str| {
            let detail = format!("no browser can be reached: {why}");
            Self::new(StatusCode::SERVICE_UNAVAILABLE, detail).of(ProblemKind::NoBrowser)
        };
        match error {
            Unanswered::Disabled => unreachable(
                "the service is not on the mesh; set mesh.enabled to true and restart it",
            ),
            Unanswered::NotJoined => {
                unreachable("the service could not join the mesh; `ctl status` says why")
            }
            Unanswered::Busy => Self::busy("too many commands are running"),
            Unanswered::Leaving => Self::stopping(),
            Unanswered::Fault => Self::internal(),
            Unanswered::Invalid(error) => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, shown(&error.to_string()))
            }
            Unanswered::Failed(CallError::Offline(why)) => unreachable(&format!(
                "{}; start one in the project's folder: `browser URL`",
                shown(&why)
            )),
            Unanswered::Failed(CallError::BadName(why)) => Self::not_found(shown(&why)),
            Unanswered::Failed(error @ CallError::TooLarge { .. }) => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, error.to_string())
            }
            Unanswered::Failed(CallError::Denied(_)) => Self::forbidden(
                "the machine of the browser does not let this one use it; there, `ctl mesh machines` lists what it allows",
            ),
            Unanswered::Failed(CallError::Timeout(_)) => {
                Self::new(StatusCode::REQUEST_TIMEOUT, "the browser did not respond in time")
            }
            Unanswered::Failed(CallError::Failed(problem)) => {
                of_peer(&problem, api::browser_problem)
            }
            Unanswered::Failed(error) => {
                Self::new(StatusCode::BAD_GATEWAY, shown(&error.to_string()))
            }
        }
    }
}

/// A problem of a target, whose texts are a peer's or a page's, with a `type` for its code.
pub(super) fn of_peer(problem: &waypost_mesh::Problem, kind_of: fn(&str) -> String) -> Failure {
    let is_one = |status: &u16| (400..600).contains(status) && *status != 401;
    let status = Some(problem.status).filter(is_one).unwrap_or(502);
    let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
    let is_kind = (1..=40).contains(&problem.code.len()) && problem.code.chars().all(is_part);
    let kind = if is_kind { &problem.code } else { "failed" };
    let detail = shown(&problem.detail);
    api::Problem { kind: kind_of(kind), ..api::Problem::new(status, detail) }.into()
}

/// Text of a peer, in one line of limited length.
pub(super) fn shown(text: &str) -> String {
    let text = api::visible(text, api::Lines::Fold);
    text.char_indices().nth(DETAIL_CHARS_MAX).map_or(&*text, |(end, _)| &text[..end]).to_owned()
}

/// Characters of a peer's text in a problem.
const DETAIL_CHARS_MAX: usize = 1000;
