//! The side that asks.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::clock::{Until, unix_ms};
use crate::envelope::{Outcome, Request, Response, SCHEMA, random_id};
use crate::error::{CallError, DENIED, EXPIRED, Error, Problem};
use crate::limits::{DEADLINE_MAX, PAYLOAD_BYTES_MAX, PRESENCE_MAX};
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
            expires: unix_ms().saturating_add(deadline.as_millis() as u64),
            argument: argument.clone(),
        };
        let payload = serde_json::to_vec(&request).expect("a request is JSON");
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
        // Twice: where it was welcome once it may have been revoked, or the target is elsewhere now.
        for _ in 0..2 {
            let Some(far) = self.way_to(target)? else { break };
            match far.may_call(&self.keys, target, command, until).map_err(|it| offline(&it))? {
                Some(true) => {}
                Some(false) => return Err(denied(target, command)),
                None => continue,
            }
            let key = self.keys.call(target, command, &far.origin);
            match far.ask(&key, &live_key, payload.clone(), until).map_err(|it| offline(&it))? {
                Asked::Answered(response) => return read(response),
                Asked::Absent => far.forget_welcome(target),
                Asked::Silent | Asked::Ended => {
                    let waited = deadline.saturating_sub(until.left());
                    return Err(self.why_silent(&far, target, command, waited));
                }
            }
        }
        Err(CallError::Offline(format!("nobody serves {target}")))
    }

    /// The way to the paired machine that serves a target: directly, or through a router. It is
    /// asked one way alone, and refused if several machines serve it: a click must not go to any of
    /// them.
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
        let detail =
            format!("{target} is served by {by}; only one of them can be called by that name");
        Err(CallError::Failed(Problem::new(409, "ambiguous", detail)))
    }

    /// Tells apart what looks the same to the transport: no answer.
    fn why_silent(&self, open: &Open, target: &str, command: &str, waited: Duration) -> CallError {
        let is_there = if open.is_near() {
            open.is_live(&self.keys.live_target(target, "*", "*"))
        } else {
            // It may have been revoked since it was welcome.
            open.forget_welcome(target);
            let until = Until::after(PRESENCE_MAX);
            match open.may_call(&self.keys, target, command, until) {
                Ok(Some(false)) => return denied(target, command),
                Ok(Some(true)) => true,
                Ok(None) | Err(_) => false,
            }
        };
        if is_there {
            CallError::Timeout(format!("{target} gave no answer in {} ms", waited.as_millis()))
        } else {
            left(target)
        }
    }
}

fn offline(error: &Error) -> CallError {
    CallError::Offline(error.to_string())
}

fn left(target: &str) -> CallError {
    CallError::Offline(format!("{target} left while it was called"))
}

fn denied(target: &str, command: &str) -> CallError {
    CallError::Denied(format!("this machine may not call {command} of {target}"))
}

/// A response as the caller wants it.
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
