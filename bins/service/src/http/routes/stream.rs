//! `GET /api/events/stream`: new events, resumable.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use http::header::HeaderMap;
use serde_json::json;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast, watch};
use waypost_api as api;
use waypost_events::{Error, Event, Pattern, Tail};

use super::events::{check_pattern, pattern};
use crate::error::chain;
use crate::events::broadcast::Frame;
use crate::http::call::Call;
use crate::http::failure::Failure;
use crate::http::linger::Late;
use crate::http::reply::{self, encode};
use crate::http::scoped::Scoped;
use crate::http::stream::{PIECE_BYTES, pulled};
use crate::http::waiting::Account;
use crate::http::wire;

const LAST_EVENT_ID: &str = "last-event-id";
/// How often a listener without matching events gets its position.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Maximum number of events read from the log at once.
const READ_AT_ONCE: usize = 200;

pub(super) async fn stream(call: Call) -> Result<Response, Failure> {
    let check = |asked: &api::StreamRequest, faults: &mut api::Faults| {
        check_pattern(asked.pattern.as_deref(), faults);
    };
    let asked = api::parse_query_with(call.query(), check)?;
    let pattern = asked.pattern.as_deref().map(pattern).transpose()?;
    let scoped = call.scoped();
    let Call { app, caller, parts, .. } = call;
    let last = scoped.last_event();
    let after = match last_event_id(&parts.headers)? {
        Some(it) if it > last => {
            let why = format!("Last-Event-ID: {it} is beyond the last event, which is {last}");
            return Err(Failure::new(StatusCode::BAD_REQUEST, why));
        }
        Some(it) => it,
        None => asked.after.unwrap_or(last),
    };
    if after > last {
        let why = format!("is {after}, beyond the last event, which is {last}");
        return Err(api::Problem::field("?after", why).into());
    }
    let slot = Arc::clone(&app.listeners).try_acquire_owned();
    let slot = slot.map_err(|_| Failure::busy("too many event streams are open"))?;
    let listener = Listener {
        // Subscribed before the log is read, so that no event is missed.
        frames: app.broadcast.listen(),
        readers: app.broadcast.readers(),
        stopped: app.broadcast.stopped(),
        tail: scoped.tail(pattern.clone(), after),
        is_behind: true,
        scoped,
        pattern,
        account: caller.account(&app),
        late: parts.extensions.get().cloned().unwrap_or_default(),
        _slot: slot,
    };
    let body = pulled(Some(listener), |listener| async {
        let Some(mut listener) = listener else { return Ok(None) };
        Ok(Some(match listener.next().await {
            Ok(piece) => (piece, Some(listener)),
            Err(end) => (end.final_message(), None),
        }))
    });
    Ok(reply::event_stream(body))
}

/// An event encoded for listeners.
pub(crate) fn frame(event: Event) -> Vec<u8> {
    let head = format!("id: {}\ndata: ", event.id);
    // JSON has no raw line breaks, so one data line is enough.
    let data = encode(&wire::event(event));
    [head.as_bytes(), &data, b"\n\n"].concat()
}

/// The cursor from which a client resumes.
fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Failure> {
    let bad = |why: &str| Failure::new(StatusCode::BAD_REQUEST, format!("Last-Event-ID: {why}"));
    let mut values = headers.get_all(LAST_EVENT_ID).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(bad("it is given more than once"));
    }
    match value.to_str().map(str::trim) {
        // An empty id: the client has not received one yet.
        Ok("") => Ok(None),
        Ok(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
            text.parse().map(Some).map_err(|_| bad("the number is too large"))
        }
        _ => Err(bad("it must be an event id (a whole number)")),
    }
}

/// A listener.
struct Listener {
    scoped: Scoped,
    tail: Tail,
    /// Whether the log has to be read.
    is_behind: bool,
    pattern: Option<Pattern>,
    frames: broadcast::Receiver<Arc<Frame>>,
    readers: Arc<Semaphore>,
    stopped: watch::Receiver<bool>,
    account: Account,
    late: Late,
    _slot: OwnedSemaphorePermit,
}

/// Why a stream ends.
enum End {
    /// The client has left too much unread for too long.
    Unread,
    Stopping,
    Failed,
}

impl End {
    fn final_message(self) -> Bytes {
        let detail = match self {
            Self::Unread => {
                "the client did not read in time; reconnect with the last id".to_owned()
            }
            Self::Stopping => "the service is stopping; reconnect with the last id".to_owned(),
            Self::Failed => "failed to read events; see the service's log".into(),
        };
        format!("event: end\ndata: {}\n\n", json!({ "detail": detail })).into()
    }
}

impl Listener {
    /// The next events, or a sign of life. It is called when the connection has room for them.
    async fn next(&mut self) -> Result<Bytes, End> {
        loop {
            tokio::select! {
                () = self.account.room() => {}
                _ = self.stopped.changed() => {}
            }
            if self.late.get() {
                return Err(End::Unread);
            }
            if *self.stopped.borrow() {
                return Err(End::Stopping);
            }
            let mut piece = Vec::new();
            if self.is_behind {
                self.catch_up(&mut piece).await?;
            } else {
                self.follow(&mut piece).await?;
            }
            if !piece.is_empty() {
                return Ok(piece.into_boxed_slice().into());
            }
        }
    }

    /// Reads the next events from the log, until it has no more.
    async fn catch_up(&mut self, piece: &mut Vec<u8>) -> Result<(), End> {
        let (tail, read) = self.read_on().await?;
        match read {
            Ok(frames) => {
                self.tail = tail;
                self.is_behind = !frames.is_empty();
                *piece = frames;
            }
            Err(Error::Gone { first }) => {
                let last = first.saturating_sub(1);
                let data = json!({ "first": first, "after": self.tail.cursor() });
                self.tail.skip_to(last);
                *piece = format!("event: reset\nid: {last}\ndata: {data}\n\n").into();
            }
            Err(error) => {
                tracing::error!(error = chain(&error), "failed to read events for a stream");
                return Err(End::Failed);
            }
        }
        Ok(())
    }

    /// Reads the log after the cursor: returns the advanced tail and the events for the client,
    /// nothing if the log has no more.
    async fn read_on(&self) -> Result<(Tail, waypost_events::Result<Vec<u8>>), End> {
        let turn = Arc::clone(&self.readers).acquire_owned().await.map_err(|_| End::Failed)?;
        let mut tail = self.tail.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let read = tail.next_batch(READ_AT_ONCE).map(|batch| {
                let mut frames = Vec::new();
                for event in batch.events {
                    frames.extend_from_slice(&frame(event));
                }
                frames
            });
            drop(turn);
            (tail, read)
        });
        // The only other way to fail is a panic, which has been logged where it happened.
        reading.await.map_err(|_| End::Failed)
    }

    /// Waits for new events, and takes those that came, unless they have to be read from the log.
    async fn follow(&mut self, piece: &mut Vec<u8>) -> Result<(), End> {
        let next = tokio::select! {
            next = self.frames.recv() => next,
            _ = self.stopped.changed() => return Err(End::Stopping),
            () = tokio::time::sleep(KEEP_ALIVE) => {
                let cursor = self.tail.cursor();
                *piece = format!("id: {cursor}\n: keep-alive\n\n").into();
                return Ok(());
            }
        };
        let mut next = next.map_err(|error| match error {
            RecvError::Lagged(count) => TryRecvError::Lagged(count),
            RecvError::Closed => TryRecvError::Closed,
        });
        loop {
            match next {
                Ok(frame) => self.take(&frame, piece),
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Lagged(_)) => self.is_behind = true,
                Err(TryRecvError::Closed) => return Err(End::Stopping),
            }
            if self.is_behind || piece.len() >= PIECE_BYTES {
                return Ok(());
            }
            next = self.frames.try_recv();
        }
    }

    fn take(&mut self, frame: &Frame, piece: &mut Vec<u8>) {
        let next = self.tail.cursor() + 1;
        self.is_behind = frame.id > next;
        if frame.id != next {
            return;
        }
        let is_wanted = self.pattern.as_ref().is_none_or(|pattern| pattern.matches(&frame.kind));
        if is_wanted && self.scoped.receives(frame) {
            let Some(bytes) = &frame.bytes else {
                // Events that are too large for a frame are in the log.
                self.is_behind = true;
                return;
            };
            piece.extend_from_slice(bytes);
        }
        self.tail.skip_to(frame.id);
    }
}
