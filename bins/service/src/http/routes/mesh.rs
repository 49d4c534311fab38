//! The mesh, for programs that are not on it, such as `ctl`.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, watch};
use waypost_api::{self as api, ProblemKind};
use waypost_mesh::{CallError, Event, Listener, Pattern, Peer};

use super::browser::{of_peer, shown};
use crate::http::call::Call;
use crate::http::failure::Failure;
use crate::http::keys::OnRepeat;
use crate::http::linger::Late;
use crate::http::reply::{self, encode};
use crate::http::stream::pulled;
use crate::http::waiting::Account;
use crate::mesh::calls::Unanswered;

/// How long a call waits for its result if the request does not say it.
const WAIT_MS_DEFAULT: u64 = 60_000;
/// How often a listener without events gets a sign of life.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) async fn peers(call: Call) -> Result<Response, Failure> {
    call.caller.require_all_spaces()?;
    let peers = call.app.mesh.peers().await.map_err(failure)?;
    // The service would name only itself.
    let peers = peers.into_iter().filter(|peer| !peer.is_self);
    let peer = |peer: Peer| api::MeshPeer {
        name: peer.name,
        id: peer.id,
        origin: peer.origin.to_string(),
        targets: peer.targets,
    };
    Ok(reply::json(StatusCode::OK, &peers.map(peer).collect::<Vec<_>>()))
}

pub(super) async fn call(mut call: Call) -> Result<Response, Failure> {
    call.caller.require_all_spaces()?;
    let api::MeshCallRequest { target, command, argument, timeout } = call.parsed_body().await?;
    let deadline = Duration::from_millis(timeout.unwrap_or(WAIT_MS_DEFAULT));
    let called = call.app.mesh.call(target, command, argument, deadline).await;
    let result = api::MeshResult { result: called.map_err(failure)? };
    let mut response = reply::json(StatusCode::OK, &result);
    let repeated =
        "the first request with this Idempotency-Key made the call, and its result is not kept";
    response.extensions_mut().insert(OnRepeat::new(repeated));
    Ok(response)
}

pub(super) async fn broadcast(mut call: Call) -> Result<Response, Failure> {
    call.caller.require_all_spaces()?;
    let api::MeshBroadcastRequest { source, event } = call.parsed_body().await?;
    let id = call.app.mesh.broadcast(source, event.into()).await.map_err(failure)?;
    Ok(reply::json(StatusCode::OK, &api::MeshBroadcast { id }))
}

pub(super) async fn listen(call: Call) -> Result<Response, Failure> {
    call.caller.require_all_spaces()?;
    let asked: api::MeshListenRequest = call.parsed_query()?;
    let Call { app, caller, parts, .. } = call;
    let pattern = asked.pattern.as_deref().map_or_else(|| Ok(Pattern::all()), Pattern::parse);
    let pattern = pattern.map_err(|error| api::Problem::field("?pattern", error.to_string()))?;
    let slot = Arc::clone(&app.listeners).try_acquire_owned();
    let slot = slot.map_err(|_| Failure::busy("too many event streams are open"))?;
    let listening = Listening {
        listener: Arc::new(app.mesh.listen(&pattern).map_err(failure)?),
        lost: 0,
        stopped: app.broadcast.stopped(),
        account: caller.account(&app),
        late: parts.extensions.get().cloned().unwrap_or_default(),
        _slot: slot,
    };
    let body = pulled(Some(listening), |listening| async {
        let Some(mut listening) = listening else { return Ok(None) };
        Ok(Some(match listening.next().await {
            Some(piece) => (piece, Some(listening)),
            None => (Bytes::from_static(b"event: end\ndata: {}\n\n"), None),
        }))
    });
    Ok(reply::event_stream(body))
}

/// A client that listens.
struct Listening {
    listener: Arc<Listener>,
    lost: u64,
    stopped: watch::Receiver<bool>,
    account: Account,
    late: Late,
    _slot: OwnedSemaphorePermit,
}

impl Listening {
    /// The next event, or a sign of life; nothing at the end.
    async fn next(&mut self) -> Option<Bytes> {
        tokio::select! {
            () = self.account.room() => {}
            _ = self.stopped.changed() => {}
        }
        if self.late.get() || *self.stopped.borrow() {
            return None;
        }
        let dropped = self.listener.dropped();
        if dropped > self.lost {
            let events = dropped - std::mem::replace(&mut self.lost, dropped);
            return Some(message("event: lost\n", &api::MeshLost { events }));
        }
        let listener = Arc::clone(&self.listener);
        let waiting = tokio::task::spawn_blocking(move || listener.next(KEEP_ALIVE));
        let next = tokio::select! {
            next = waiting => next.ok()?,
            _ = self.stopped.changed() => return None,
        };
        match next {
            Some(event) => Some(message("", &heard(event))),
            None if self.listener.is_closed() => None,
            None => Some(Bytes::from_static(b": keep-alive\n\n")),
        }
    }
}

fn message(head: &str, data: &impl Serialize) -> Bytes {
    // JSON has no raw line breaks, so one data line is enough.
    [head.as_bytes(), b"data: ", &encode(data), b"\n\n"].concat().into()
}

fn heard(event: Event) -> api::MeshEvent {
    api::MeshEvent {
        id: event.id,
        source: event.source,
        kind: event.kind,
        origin: event.from.origin.to_string(),
        from: event.from.says,
        at: event.at.as_millis(),
        event: event.body,
    }
}

fn failure(error: Unanswered) -> Failure {
    let invalid = |why: &str| api::Problem::new(422, shown(why)).into();
    let nobody = |why: &str| {
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, shown(why)).of(ProblemKind::NoPeer)
    };
    match error {
        Unanswered::Disabled => {
            nobody("the service is not on the mesh; set mesh.enabled to true and restart it")
        }
        Unanswered::NotJoined => {
            nobody("the service could not join the mesh; `ctl status` says why")
        }
        Unanswered::Invalid(error) => invalid(&error.to_string()),
        Unanswered::Failed(error) => match &error {
            CallError::BadName(_) | CallError::TooLarge { .. } => invalid(&error.to_string()),
            CallError::Offline(_) => nobody(&error.to_string()),
            CallError::Denied(_) => Failure::forbidden(shown(&error.to_string())),
            CallError::Timeout(_) => {
                Failure::new(StatusCode::REQUEST_TIMEOUT, shown(&error.to_string()))
            }
            CallError::Failed(problem) => of_peer(problem, api::mesh_problem),
            _ => Failure::new(StatusCode::BAD_GATEWAY, shown(&error.to_string())),
        },
        error => error.into(),
    }
}
