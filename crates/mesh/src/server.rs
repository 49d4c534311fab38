//! The serving side.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use waypost_time::Timestamp;
use zenoh::Wait as _;
use zenoh::query::Query;

use crate::caller::{Caller, Side};
use crate::clock::now;
use crate::envelope::{Request, Response};
use crate::error::{LEFT, Problem};
use crate::ledger::{Id, Ledger, Seen};
use crate::limits::{
    CALLS_REMEMBERED_MAX, CALLS_WAITING_MAX, ENVELOPE_BYTES_MAX, PAYLOAD_BYTES_MAX,
};
use crate::name::Keys;
use crate::paired::Paired;
use crate::pool::Pool;

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

/// A target that this peer serves.
pub(crate) struct Served {
    pub(crate) target: String,
    /// The id of this peer.
    pub(crate) peer: String,
    handler: Handler,
    ledger: Mutex<Ledger<Query>>,
    pool: Arc<Pool>,
}

impl Served {
    pub(crate) fn new(target: &str, peer: &str, handler: Handler, pool: Arc<Pool>) -> Self {
        let (target, peer) = (target.to_owned(), peer.to_owned());
        Self { target, peer, handler, ledger: Mutex::new(Ledger::new()), pool }
    }

    /// Handles a query; never blocks, because it runs on the transport's thread.
    pub(crate) fn take(self: &Arc<Self>, keys: &Keys, side: &Side, query: Query) {
        match self.check(keys, side, &query) {
            Ok((id, call, expires)) => self.begin(&id, call, expires, query),
            Err(problem) => send(&query, &encode(Err(problem))),
        }
    }

    fn check(
        &self,
        keys: &Keys,
        side: &Side,
        query: &Query,
    ) -> Result<(Id, Call, Timestamp), Problem> {
        let key = keys.read_call(query.key_expr().as_str()).ok_or_else(|| {
            Problem::new(400, "bad_name", "not the key of a single command of a single target")
        })?;
        if key.target != self.target {
            return Err(Problem::new(404, "not_found", "this peer does not serve the target"));
        }
        if !side.may_be(key.origin) {
            let detail =
                format!("the transport does not confirm the caller's origin ({})", key.origin);
            return Err(Problem::denied(detail));
        }
        let payload = query
            .payload()
            .ok_or_else(|| Problem::new(400, "bad_request", "a call must have an envelope"))?;
        if payload.len() > PAYLOAD_BYTES_MAX + ENVELOPE_BYTES_MAX {
            let detail =
                format!("the call has {} bytes; the limit is {PAYLOAD_BYTES_MAX}", payload.len());
            return Err(Problem::new(413, "too_large", detail));
        }
        let now = now();
        let request = Request::read(&payload.to_bytes(), now)?;
        if request.only.is_some_and(|it| it != self.peer) {
            let detail =
                "another peer, which served the target before, may have received this request";
            return Err(Problem::new(410, LEFT, detail));
        }
        let call = Call {
            command: key.command.to_owned(),
            argument: request.argument,
            caller: side.caller(key.origin, request.from),
            id: request.id.clone(),
            wait: request.expires.saturating_duration_since(now),
        };
        Ok(((key.origin.to_owned(), request.id), call, request.expires))
    }

    fn begin(self: &Arc<Self>, id: &Id, call: Call, expires: Timestamp, query: Query) {
        let seen = self.ledger.lock().begin(id, expires, now(), query);
        match seen {
            Seen::New(query) => self.start(id, call, query),
            Seen::Waits => {}
            Seen::Done(query, answer) => send(&query, &answer),
            Seen::Forgotten(query) => {
                let detail = "already executed; its result is no longer stored";
                send(&query, &encode(Err(Problem::new(409, "done_already", detail))));
            }
            Seen::Full(query) => {
                let detail =
                    format!("{CALLS_REMEMBERED_MAX} calls arrived recently; try again later");
                send(&query, &encode(Err(Problem::new(503, "busy", detail))));
            }
        }
    }

    fn start(self: &Arc<Self>, id: &Id, call: Call, query: Query) {
        let this = Arc::clone(self);
        let waiting = query.clone();
        let started = id.clone();
        let job = move || this.answer(&started, call, &query);
        if self.pool.submit(Box::new(job)).is_err() {
            self.ledger.lock().withdraw(id);
            let detail = format!("{CALLS_WAITING_MAX} calls are already waiting; try again later");
            send(&waiting, &encode(Err(Problem::new(503, "busy", detail))));
        }
    }

    fn answer(&self, id: &Id, call: Call, query: &Query) {
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.handler)(call)));
        let outcome = outcome.unwrap_or_else(|_| {
            Err(Problem::new(500, "internal", "the target failed unexpectedly"))
        });
        let mut answer = encode(outcome);
        if answer.len() > PAYLOAD_BYTES_MAX + ENVELOPE_BYTES_MAX {
            let detail =
                format!("the result has {} bytes; the limit is {PAYLOAD_BYTES_MAX}", answer.len());
            answer = encode(Err(Problem::new(500, "result_too_large", detail)));
        }
        let others = self.ledger.lock().finish(id, &answer);
        send(query, &answer);
        for other in others {
            send(&other, &answer);
        }
    }
}

/// Tells a machine what it may call of a target.
pub(crate) fn greet(keys: &Keys, paired: &Paired, peer: &str, query: &Query) {
    let outcome = match keys.read_hello(query.key_expr().as_str()) {
        Some([target, origin]) => Ok(paired.commands(origin, target).into()),
        None => Err(Problem::new(400, "bad_name", "not the key of a greeting")),
    };
    let response = Response { by: Some(peer.to_owned()), ..Response::new(outcome) };
    send(query, &serde_json::to_vec(&response).expect("a response is JSON"));
}

fn encode(outcome: Result<Value, Problem>) -> Arc<[u8]> {
    // Strings, numbers, lists and objects with string keys: all of it can be written as JSON.
    serde_json::to_vec(&Response::new(outcome)).expect("a response is JSON").into()
}

/// Replies to a query. If that fails, the caller is gone, or detects it by its deadline.
fn send(query: &Query, answer: &[u8]) {
    drop(query.reply(query.key_expr().clone(), answer).wait());
}

impl fmt::Debug for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Served").field("target", &self.target).finish_non_exhaustive()
    }
}
