//! The calling side.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::{Method, StatusCode};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use crate::clock::{Until, now};
use crate::envelope::{About, Outcome, Request, Response, SCHEMA, random_id};
use crate::error::{CallError, DENIED, EXPIRED, Problem};
use crate::limits::{DEADLINE_MAX, PAYLOAD_BYTES_MAX, RESUME_EVERY, RESUME_MAX, ROUTES_MAX};
use crate::mesh::Inner;
use crate::name;
use crate::peers::Asking;
use crate::remote::{Failure, Remote};
use crate::server::MOVED;

/// How often a call looks for its target again at once.
const RETRIES_MAX: u32 = 3;

/// The peer that serves a target.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    remote: Arc<Remote>,
    id: String,
}

/// What became of a request that was sent to one peer.
enum Asked {
    Answered(StatusCode, Response),
    /// Nothing was executed: the peer does not serve the target, or is another one.
    Elsewhere,
    /// Nothing was sent.
    Unsent,
    /// It may have been executed, and the connection ended.
    Lost,
    /// The peer did not respond in the available time.
    Late,
}

impl Inner {
    /// Calls a target. If the connection to its peer ends before the response, the same request is
    /// sent again, to that peer only, which executes it once: to a peer of this machine at once, to
    /// another machine as soon as there is a connection again.
    pub(crate) async fn call(
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
        let mut request = Request {
            v: SCHEMA,
            id: random_id(),
            from: self.name.clone(),
            expires: now().saturating_add(deadline),
            to: String::new(),
            argument: argument.clone(),
        };
        let path = format!("/call/{target}/{command}");
        let (mut sent_to, mut retries) = (None, RETRIES_MAX);
        let mut patience = self.answered.lock().get(target).copied();
        loop {
            let found = timeout(until.left(), self.find(target, sent_to.as_ref())).await;
            let why = match found.unwrap_or_else(|_| Err(nobody(target, &BTreeSet::new()))) {
                Ok(route) => {
                    let is_near = route.remote.is_near();
                    if sent_to.is_none() {
                        request.to.clone_from(&route.id);
                    }
                    let payload = serde_json::to_vec(&request).expect("a request is JSON");
                    match ask(&route.remote, &path, payload.into(), until).await {
                        // It may have been executed before the permission was removed.
                        Asked::Answered(StatusCode::FORBIDDEN, _) if sent_to.is_some() => {
                            return Err(left(target));
                        }
                        Asked::Answered(_, response) => {
                            if !is_near {
                                self.note_answered(target);
                            }
                            return read(response);
                        }
                        Asked::Late => {
                            let waited = deadline.as_millis();
                            let why = format!("{target} did not respond within {waited} ms");
                            return Err(CallError::Timeout(why));
                        }
                        Asked::Elsewhere if sent_to.is_some() => return Err(left(target)),
                        Asked::Elsewhere | Asked::Unsent => {}
                        Asked::Lost => {
                            sent_to = sent_to.or(Some(route));
                            patience = (!is_near).then(|| Until::after(RESUME_MAX));
                        }
                    }
                    self.routes.lock().remove(target);
                    // The peer may have been replaced, or have made a new socket.
                    if retries > 0 && (is_near || sent_to.is_none()) {
                        retries -= 1;
                        continue;
                    }
                    left(target)
                }
                Err(CallError::Offline(_) | CallError::Denied(_)) if sent_to.is_some() => {
                    left(target)
                }
                Err(why @ CallError::Offline(_)) => why,
                Err(why) => return Err(why),
            };
            if until.is_over() || patience.is_none_or(Until::is_over) {
                self.answered.lock().remove(target);
                return Err(why);
            }
            sleep(RESUME_EVERY).await;
        }
    }

    /// The peer that serves a target: one of this machine, or of the only machine that has one. A
    /// request that was sent before goes to the same peer of the same machine only.
    async fn find(&self, target: &str, only: Option<&Route>) -> Result<Route, CallError> {
        let serves = |about: &About| about.targets.iter().any(|served| served == target);
        let fits = |about: &About| only.map_or_else(|| serves(about), |sent| about.id == sent.id);
        let may_be =
            |remote: &Arc<Remote>| only.is_none_or(|sent| sent.remote.origin() == remote.origin());
        let is_claimed = self.folder.is_claimed(target);
        let known = self.routes.lock().get(target).cloned();
        // A target of this machine takes precedence over one that is known elsewhere.
        let known = known.filter(|known| only.is_none() && (known.remote.is_near() || !is_claimed));
        if let Some(route) = known {
            return Ok(route);
        }
        let mut reasons = BTreeSet::new();
        let is_near = only.map_or(is_claimed, |sent| sent.remote.is_near());
        let near = if is_near { self.near() } else { Vec::new() };
        let mut asking = Asking::begin(near);
        while let Some((remote, answer)) = asking.next().await {
            match answer {
                Ok(about) if fits(&about) => return Ok(self.keep_route(target, remote, about.id)),
                Err(Failure::Mute(why)) => drop(reasons.insert(format!("a peer here: {why}"))),
                _ => {}
            }
        }
        let (mut found, mut machines, mut is_denied) = (None, BTreeSet::new(), false);
        let far =
            if only.is_some_and(|sent| sent.remote.is_near()) { Vec::new() } else { self.far() };
        let mut asking = Asking::begin(far);
        while let Some((remote, answer)) = asking.next().await {
            match answer {
                Ok(_) if !may_be(&remote) => {}
                Ok(about) if only.is_some() && fits(&about) => {
                    return Ok(self.keep_route(target, remote, about.id));
                }
                Ok(about) if serves(&about) => {
                    machines.extend(remote.origin().map(|origin| origin.to_string()));
                    found = Some((remote, about.id));
                }
                Ok(_) => {}
                Err(Failure::Denied) => is_denied = true,
                Err(Failure::Mute(why)) => drop(reasons.insert(format!("another machine: {why}"))),
                Err(_) => {}
            }
        }
        match found {
            // If it is not the peer that a request was sent to, it rejects that.
            Some((remote, id)) if machines.len() == 1 => Ok(self.keep_route(target, remote, id)),
            Some(_) => {
                // A click must not go to any of them.
                let by = machines.into_iter().collect::<Vec<_>>().join(" and ");
                let detail =
                    format!("{target} is served by {by}; a target can have only one server");
                Err(CallError::Failed(Problem::new(409, "ambiguous", detail)))
            }
            None if is_denied => Err(CallError::Denied(
                "this machine is not paired there, or was revoked".to_owned(),
            )),
            None => Err(nobody(target, &reasons)),
        }
    }

    fn keep_route(&self, target: &str, remote: Arc<Remote>, id: String) -> Route {
        let route = Route { remote, id };
        let mut routes = self.routes.lock();
        if routes.len() >= ROUTES_MAX {
            routes.clear();
        }
        routes.insert(target.to_owned(), route.clone());
        route
    }

    /// Remembers for a while that a target of another machine exists.
    fn note_answered(&self, target: &str) {
        let mut answered = self.answered.lock();
        if answered.len() >= ROUTES_MAX {
            answered.retain(|_, until| !until.is_over());
        }
        answered.insert(target.to_owned(), Until::after(RESUME_MAX));
    }
}

/// Sends a request to a peer once.
async fn ask(remote: &Remote, path: &str, payload: Bytes, until: Until) -> Asked {
    let sent = tokio::select! {
        sent = remote.send(Method::POST, path, payload) => sent,
        () = remote.silence() => return Asked::Lost,
        () = sleep(until.left()) => return Asked::Late,
    };
    match sent {
        Ok((MOVED, _)) => Asked::Elsewhere,
        Err(Failure::Gone | Failure::Mute(_)) => Asked::Unsent,
        Ok((status, body)) => match serde_json::from_slice(&body) {
            Ok(response) => Asked::Answered(status, response),
            Err(_) => Asked::Lost,
        },
        Err(Failure::Denied | Failure::Lost) => Asked::Lost,
    }
}

fn nobody(target: &str, reasons: &BTreeSet<String>) -> CallError {
    let reasons: Vec<_> = reasons.iter().map(String::as_str).collect();
    let because =
        if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join("; ")) };
    CallError::Offline(format!("no peer serves {target}{because}"))
}

fn left(target: &str) -> CallError {
    CallError::Offline(format!("{target} left the mesh during the call"))
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
