//! The side that asks.

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
        let offline = |error: Error| match error {
            Error::Ambiguous { .. } => {
                CallError::Failed(Problem::new(409, "ambiguous", error.to_string()))
            }
            error => CallError::Offline(error.to_string()),
        };
        for open in self.sessions() {
            if !open.is_near() {
                match open.may_call(&self.keys, target, command, until).map_err(offline)? {
                    Some(true) => {}
                    Some(false) => return Err(denied(target, command)),
                    None => continue,
                }
            }
            let key = self.keys.call(target, command, &open.origin);
            let live_key = self.keys.live_target(target, "*", "*");
            match open.ask(&key, &live_key, payload.clone(), until).map_err(offline)? {
                Asked::Answered(response) => return read(response),
                Asked::Absent if open.is_near() => {}
                Asked::Absent => {
                    // It was welcome once: it may have been revoked, or the target has gone.
                    open.forget_welcome(target);
                    let again = open.may_call(&self.keys, target, command, until);
                    if again.map_err(offline)? == Some(false) {
                        return Err(denied(target, command));
                    }
                }
                Asked::Ended if open.is_near() => return Err(left(target)),
                Asked::Silent | Asked::Ended => {
                    let waited = deadline.saturating_sub(until.left());
                    return Err(self.why_silent(&open, target, command, waited));
                }
            }
        }
        Err(CallError::Offline(format!("nobody serves {target}")))
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
