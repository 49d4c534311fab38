//! The serving side: what a peer answers to others.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::{Method, Request as HttpRequest, Response as HttpResponse, StatusCode};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::timeout;

use crate::caller::{Caller, Origin};
use crate::clock::now;
use crate::envelope::{About, Notice, Request, Response, SCHEMA};
use crate::error::Problem;
use crate::folder::Claim;
use crate::http::Side;
use crate::ledger::{Id, Ledger, Seen};
use crate::limits::{
    BODY_MAX, CALLS_REMEMBERED_MAX, CALLS_WAITING_MAX, ENVELOPE_BYTES_MAX, EVENT_BYTES_MAX,
    PAYLOAD_BYTES_MAX,
};
use crate::mesh::Inner;
use crate::name;

/// A call, as the handler of a target receives it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Call {
    /// The command, such as `click`.
    pub command: String,
    /// The argument; `null` if none was given. It is the caller's text.
    pub argument: Value,
    /// The caller: base decisions on its origin.
    pub caller: Caller,
    /// The id of the request, 32 hexadecimal digits.
    pub id: String,
    /// How long the caller still waits.
    pub wait: Duration,
}

type Handler = Box<dyn Fn(Call) -> Result<Value, Problem> + Send + Sync>;
type Waiter = oneshot::Sender<Bytes>;

/// A target that this peer serves.
pub(crate) struct Served {
    pub(crate) target: String,
    /// Made again if the runtime folder was deleted.
    pub(crate) claim: Mutex<Claim>,
    handler: Handler,
    ledger: Mutex<Ledger<Waiter>>,
}

impl Served {
    pub(crate) fn new(target: &str, claim: Claim, handler: Handler) -> Self {
        let (claim, ledger) = (Mutex::new(claim), Mutex::new(Ledger::new()));
        Self { target: target.to_owned(), claim, handler, ledger }
    }
}

impl Inner {
    /// Answers a request of another peer. A problem that a target returns is the result of a call; the
    /// status is of problems before that.
    pub(crate) async fn respond(
        self: &Arc<Self>,
        side: &Side,
        request: HttpRequest<Incoming>,
    ) -> HttpResponse<Full<Bytes>> {
        let answer = self.answer(side, request).await;
        let (status, body) = answer.map_or_else(
            |problem| (problem.status, encode(Err(problem))),
            |body| (StatusCode::OK.as_u16(), body),
        );
        let mut response = HttpResponse::new(Full::new(body));
        *response.status_mut() =
            StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        response
    }

    async fn answer(
        self: &Arc<Self>,
        side: &Side,
        request: HttpRequest<Incoming>,
    ) -> Result<Bytes, Problem> {
        let rules = self.rules();
        let machine = match &side.origin {
            Origin::Local => None,
            Origin::Machine(name) => {
                let rules = rules.as_ref().filter(|rules| rules.machine(name).is_some());
                let unknown = || Problem::denied("this machine is not paired, or was revoked");
                Some((name, rules.ok_or_else(unknown)?))
            }
        };
        let path = request.uri().path().to_owned();
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        match (request.method(), &*parts) {
            (&Method::GET, ["peer"]) => Ok(self.describe()),
            (&Method::POST, ["call", target, command]) => {
                name::check("a target", target).map_err(bad_name)?;
                name::check("a command", command).map_err(bad_name)?;
                if machine.is_some_and(|(name, rules)| !rules.may_call(name, target, command)) {
                    let detail = format!("this machine may not call {command} of {target}");
                    return Err(Problem::denied(detail));
                }
                if let Some(used) = &side.used {
                    used.notify_one();
                }
                let body = body_of(request, PAYLOAD_BYTES_MAX).await?;
                self.take(&side.origin, target, command, body).await
            }
            (&Method::POST, ["event"]) => {
                if machine.is_some_and(|(name, rules)| !rules.may_hear(name)) {
                    return Err(Problem::denied("no events are accepted from this machine"));
                }
                let body = body_of(request, EVENT_BYTES_MAX).await?;
                let event = Notice::read(&body, &side.origin);
                let wrong = || Problem::new(400, "bad_request", "that is not an event");
                self.hear(event.ok_or_else(wrong)?, body.len());
                Ok(Bytes::new())
            }
            _ => Err(bad_name(format!("a peer does not serve {} {path}", request.method()))),
        }
    }

    fn describe(&self) -> Bytes {
        let targets = self.served.lock().keys().cloned().collect();
        let about = About { v: SCHEMA, id: self.id.clone(), name: self.name.clone(), targets };
        serde_json::to_vec(&about).expect("a description is JSON").into()
    }

    /// Executes a call once, however often it arrives, and waits for its result.
    async fn take(
        self: &Arc<Self>,
        origin: &Origin,
        target: &str,
        command: &str,
        body: Bytes,
    ) -> Result<Bytes, Problem> {
        let now = now();
        let request = Request::read(&body, now)?;
        if request.to != self.id {
            let detail = "another peer, which was here before, may have received this request";
            return Err(Problem::new(MOVED.as_u16(), "left", detail));
        }
        let served = self.served.lock().get(target).map(Arc::clone);
        let served = served.ok_or_else(|| {
            Problem::new(MOVED.as_u16(), "left", "this peer does not serve the target")
        })?;
        let id = (origin.to_string(), request.id.clone());
        let (waiter, answer) = oneshot::channel();
        let seen = served.ledger.lock().begin(&id, request.expires, now, waiter);
        match seen {
            Seen::New(waiter) => {
                let (command, origin) = (command.to_owned(), origin.clone());
                let call = move || {
                    let Request { id, from, expires, argument, .. } = Request::parse(&body)?;
                    let wait = expires.saturating_duration_since(crate::clock::now());
                    Ok(Call { command, argument, caller: Caller { origin, says: from }, id, wait })
                };
                let Ok(place) = Arc::clone(&self.admitted).try_acquire_owned() else {
                    served.ledger.lock().withdraw(&id);
                    let detail =
                        format!("{CALLS_WAITING_MAX} calls are already waiting; try again later");
                    return Err(Problem::new(503, "busy", detail));
                };
                // Another task: a call is executed even if its connection ends.
                drop(tokio::spawn(Arc::clone(self).execute(served, id, call, waiter, place)));
            }
            Seen::Waits => {}
            Seen::Done(_, answer) => return Ok(answer),
            Seen::Forgotten(_) => {
                let detail = "already executed; its result is no longer stored";
                return Err(Problem::new(409, "done_already", detail));
            }
            Seen::Full(_) => {
                let detail =
                    format!("{CALLS_REMEMBERED_MAX} calls arrived recently; try again later");
                return Err(Problem::new(503, "busy", detail));
            }
        }
        answer.await.map_err(|_| Problem::new(503, "busy", "the peer is leaving"))
    }

    async fn execute(
        self: Arc<Self>,
        served: Arc<Served>,
        id: Id,
        call: impl FnOnce() -> Result<Call, Problem> + Send + 'static,
        waiter: Waiter,
        _place: OwnedSemaphorePermit,
    ) {
        let _running = self.running.acquire().await;
        let handling = Arc::clone(&served);
        let outcome = tokio::task::spawn_blocking(move || (handling.handler)(call()?)).await;
        let outcome = outcome.unwrap_or_else(|_| {
            Err(Problem::new(500, "internal", "the target failed unexpectedly"))
        });
        let mut answer = encode(outcome);
        if answer.len() > PAYLOAD_BYTES_MAX + ENVELOPE_BYTES_MAX {
            let detail =
                format!("the result has {} bytes; the limit is {PAYLOAD_BYTES_MAX}", answer.len());
            answer = encode(Err(Problem::new(500, "result_too_large", detail)));
        }
        let others = served.ledger.lock().finish(&id, &answer);
        for waiter in others.into_iter().chain([waiter]) {
            // One that is gone may ask again.
            drop(waiter.send(answer.clone()));
        }
    }
}

/// The status of a request that another peer may execute: it was not executed here.
pub(crate) const MOVED: StatusCode = StatusCode::MISDIRECTED_REQUEST;

async fn body_of(request: HttpRequest<Incoming>, bytes_max: usize) -> Result<Bytes, Problem> {
    let body = request.into_body();
    let bytes_max = bytes_max + ENVELOPE_BYTES_MAX;
    let too_large =
        || Problem::new(413, "too_large", format!("a body has {bytes_max} bytes at most"));
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(too_large());
    }
    match timeout(BODY_MAX, Limited::new(body, bytes_max).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(Problem::new(400, "bad_request", "the body is incomplete")),
        Err(_) => Err(Problem::new(408, "bad_request", "the body did not arrive in time")),
    }
}

fn bad_name(why: String) -> Problem {
    Problem::new(400, "bad_name", why)
}

fn encode(outcome: Result<Value, Problem>) -> Bytes {
    // Strings, numbers, lists and objects with string keys: all of it can be written as JSON.
    serde_json::to_vec(&Response::new(outcome)).expect("a response is JSON").into()
}

impl fmt::Debug for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Served").field("target", &self.target).finish_non_exhaustive()
    }
}
