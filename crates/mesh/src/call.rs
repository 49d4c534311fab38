//! The calling side.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::clock::{Until, now};
use crate::envelope::{Outcome, Request, Response, SCHEMA, random_id};
use crate::error::{CallError, DENIED, EXPIRED, Error, LEFT, Problem};
use crate::limits::{
    ANSWERED_MAX, DEADLINE_MAX, PAYLOAD_BYTES_MAX, PRESENCE_MAX, REPEAT_AFTER, RESUME_EVERY,
    RESUME_MAX,
};
use crate::mesh::Inner;
use crate::name;
use crate::session::{Asked, Open};

impl Inner {
    pub(crate) fn call(
        &self,
        target: &str,
        command: &str,
        argument: &Value,
        deadline: Duration,
    ) -> Result<Value, CallError> {
        name::check("a target", target).map_err(CallError::BadName)?;
        name::check("a command", command).map_err(CallError::BadName)?;
        let bytes = argument.to_string().len();
        if bytes > PAYLOAD_BYTES_MAX {
            return Err(CallError::TooLarge { bytes, bytes_max: PAYLOAD_BYTES_MAX });
        }
        let deadline = deadline.min(DEADLINE_MAX);
        let until = Until::after(deadline);
        let request = Request {
            v: SCHEMA,
            id: random_id(),
            from: self.name.clone(),
            expires: now().saturating_add(deadline),
            only: None,
            argument: argument.clone(),
        };
        let payload = payload(&request);
        let live_key = self.keys.live_target(target, "*", "*");
        for near in self.sessions().filter(|it| it.is_near()) {
            let key = self.keys.call(target, command, &near.origin);
            match near.ask(&key, &live_key, payload.clone(), until).map_err(|it| offline(&it))? {
                Asked::Answered(response) => return read(response),
                Asked::Absent => {}
                Asked::Ended => return Err(left(target)),
                Asked::Silent => {
                    let waited = deadline.saturating_sub(until.left());
                    return Err(self.why_silent(&near, target, command, waited));
                }
            }
        }
        self.call_far(target, command, request, until)
    }

    /// Calls the paired machine that serves a target. If the connection drops, the same request is
    /// sent again once it is back; without a response also at growing intervals, because the
    /// transport does not report every loss. A target executes it once, however often it arrives,
    /// and a peer that may not have received it before rejects it.
    fn call_far(
        &self,
        target: &str,
        command: &str,
        mut request: Request,
        until: Until,
    ) -> Result<Value, CallError> {
        let given = until.left();
        let mut wait = REPEAT_AFTER;
        let mut patience = self.answered.lock().get(target).copied();
        let mut why = CallError::Offline(format!("no peer serves {target}"));
        loop {
            match self.try_far(target, command, &request, until, wait) {
                Ok(Tried::Answered(response)) => {
                    return match response.outcome {
                        Outcome::Problem(problem) if problem.code == LEFT => Err(left(target)),
                        _ => {
                            self.note_answered(target);
                            read(response)
                        }
                    };
                }
                Ok(Tried::Nobody) => {}
                Ok(Tried::Lost { open, by }) => {
                    // Without knowing which peer received it, it must not be sent to any other.
                    if until.is_over() || by.is_none() {
                        let waited = given.saturating_sub(until.left());
                        return Err(self.why_silent(&open, target, command, waited));
                    }
                    // The permissions are queried again: they may have been revoked.
                    open.forget_welcome(target);
                    why = left(target);
                    request.only = request.only.or(by);
                    wait = (wait * 2).min(DEADLINE_MAX);
                    patience = Some(Until::after(RESUME_MAX));
                }
                // A session that ends during a request is a dropped connection as well.
                Err(CallError::Offline(reason)) if patience.is_some() => {
                    why = CallError::Offline(reason);
                }
                Err(error) => return Err(error),
            }
            if until.is_over() || patience.is_none_or(Until::is_over) {
                self.answered.lock().remove(target);
                return Err(why);
            }
            thread::park_timeout(RESUME_EVERY);
        }
    }

    fn try_far(
        &self,
        target: &str,
        command: &str,
        request: &Request,
        until: Until,
        wait: Duration,
    ) -> Result<Tried, CallError> {
        // Twice: a permission may have been revoked since it was granted, or the target may have
        // moved.
        for _ in 0..2 {
            let Some(far) = self.way_to(target)? else { break };
            match far.may_call(&self.keys, target, command, until).map_err(|it| offline(&it))? {
                Some(true) => {}
                Some(false) => return Err(denied(target, command)),
                None => continue,
            }
            let by = far.server_of(target);
            // Without knowing the peer it cannot be sent again: wait for as long as possible.
            let until = if by.is_some() { until.within(wait) } else { until };
            let key = self.keys.call(target, command, &far.origin);
            let live_key = self.keys.live_target(target, "*", "*");
            match far.ask(&key, &live_key, payload(request), until).map_err(|it| offline(&it))? {
                Asked::Answered(response) => return Ok(Tried::Answered(response)),
                Asked::Absent => far.forget_welcome(target),
                Asked::Silent | Asked::Ended => return Ok(Tried::Lost { open: far, by }),
            }
        }
        Ok(Tried::Nobody)
    }

    /// Remembers for a while that a target of another machine exists.
    fn note_answered(&self, target: &str) {
        let mut answered = self.answered.lock();
        if answered.len() >= ANSWERED_MAX {
            answered.retain(|_, it| !it.is_over());
        }
        answered.insert(target.to_owned(), Until::after(RESUME_MAX));
    }

    /// The link to the paired machine that serves a target: directly, or through a router. Only one
    /// link is used, and the call is rejected if several machines serve the target: a click must
    /// not go to any of them.
    fn way_to(&self, target: &str) -> Result<Option<Arc<Open>>, CallError> {
        let ways: Vec<_> = self.sessions().filter(|it| !it.is_near()).collect();
        if let Some(known) = ways.iter().find(|it| it.is_welcome(target)) {
            return Ok(Some(Arc::clone(known)));
        }
        let (mut machines, mut way, mut greeting) = (BTreeSet::new(), None, None);
        for open in ways {
            let there = open.machines_with(&self.keys, target).map_err(|it| offline(&it))?;
            if !there.is_empty() {
                way.get_or_insert(Arc::clone(&open));
            } else if open.is_greeting(&self.keys, target).map_err(|it| offline(&it))? {
                greeting.get_or_insert(open);
            }
            machines.extend(there);
        }
        if machines.len() < 2 {
            return Ok(way.or(greeting));
        }
        let by = machines.into_iter().collect::<Vec<_>>().join(" and ");
        let detail = format!("{target} is served by {by}; a target can have only one server");
        Err(CallError::Failed(Problem::new(409, "ambiguous", detail)))
    }

    /// Distinguishes the possible reasons for no response, which look the same to the transport.
    fn why_silent(&self, open: &Open, target: &str, command: &str, waited: Duration) -> CallError {
        let is_there = if open.is_near() {
            open.is_live(&self.keys.live_target(target, "*", "*"))
        } else {
            // The permission may have been revoked since it was granted.
            open.forget_welcome(target);
            let until = Until::after(PRESENCE_MAX);
            match open.may_call(&self.keys, target, command, until) {
                Ok(Some(false)) => return denied(target, command),
                Ok(Some(true)) => true,
                Ok(None) | Err(_) => false,
            }
        };
        if is_there {
            CallError::Timeout(format!("{target} did not respond within {} ms", waited.as_millis()))
        } else {
            left(target)
        }
    }
}

/// The result of sending a request to another machine.
enum Tried {
    Answered(Response),
    /// Nothing serves the target, as far as this machine knows now. Nothing was sent.
    Nobody,
    /// It may have been sent, and no response came; with the peer that it was sent to.
    Lost {
        open: Arc<Open>,
        by: Option<String>,
    },
}

fn payload(request: &Request) -> Vec<u8> {
    serde_json::to_vec(request).expect("a request is JSON")
}

fn offline(error: &Error) -> CallError {
    CallError::Offline(error.to_string())
}

fn left(target: &str) -> CallError {
    CallError::Offline(format!("{target} left the mesh during the call"))
}

fn denied(target: &str, command: &str) -> CallError {
    CallError::Denied(format!("this machine may not call {command} of {target}"))
}

/// Converts a response to the result for the caller.
fn read(response: Response) -> Result<Value, CallError> {
    match response.outcome {
        Outcome::Result(value) => Ok(value),
        Outcome::Problem(problem) if problem.code == DENIED => {
            Err(CallError::Denied(problem.detail))
        }
        Outcome::Problem(problem) if problem.code == EXPIRED => {
            Err(CallError::Timeout(problem.detail))
        }
        Outcome::Problem(problem) => Err(CallError::Failed(problem)),
    }
}
