//! `GET /api/events/stream`: new events, resumable.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_TYPE, HeaderMap};
use http::{HeaderValue, StatusCode};
use serde_json::json;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast, mpsc, watch};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use waypost_api as api;
use waypost_events::{Error, Event, Pattern, Tail};

use super::events::{check_pattern, pattern};
use crate::app::App;
use crate::error::chain;
use crate::events::broadcast::Frame;
use crate::http::failure::Failure;
use crate::http::guard::Caller;
use crate::http::reply::encode;
use crate::http::request::query;
use crate::http::scoped::Scoped;
use crate::http::wire;

const LAST_EVENT_ID: &str = "last-event-id";
/// How often a listener without matching events gets its position.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Bytes sent as one piece.
const PIECE_BYTES: usize = 32 * 1024;
/// Maximum number of pieces that wait for the client.
const PIECES_MAX: usize = 4;
/// Maximum number of events read from the log at once.
const READ_AT_ONCE: usize = 200;

pub(super) async fn stream(
    State(app): State<Arc<App>>,
    caller: Caller,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Failure> {
    let check = |asked: &api::StreamRequest, faults: &mut api::Faults| {
        check_pattern(asked.pattern.as_deref(), faults);
    };
    let asked = api::parse_query_with(query(&request), check)?;
    let pattern = asked.pattern.as_deref().map(pattern).transpose()?;
    let scoped = app.scoped(&caller);
    let last = scoped.last_event();
    let after = match last_event_id(&headers)? {
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
    let (pieces, body) = mpsc::channel(PIECES_MAX + 1);
    let final_permit = pieces.clone().reserve_owned().await.map_err(|_| Failure::internal())?;
    let listener = Listener {
        // Subscribed before the log is read, so that no event is missed.
        frames: app.broadcast.listen(),
        readers: app.broadcast.readers(),
        stopped: app.broadcast.stopped(),
        tail: scoped.tail(pattern.clone(), after),
        scoped,
        pattern,
        pieces,
        gathered: BytesMut::new(),
        unread_time_max: app.limits.unread_time_max,
        _slot: slot,
    };
    tokio::spawn(async move {
        let end = listener.run().await;
        final_permit.send(end.final_message());
    });
    let body = Body::from_stream(ReceiverStream::new(body).map(Ok::<_, std::convert::Infallible>));
    let mut response = (StatusCode::OK, body).into_response();
    let event_stream = HeaderValue::from_static(api::EVENT_STREAM);
    response.headers_mut().insert(CONTENT_TYPE, event_stream);
    Ok(response)
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
        Ok(text) if text.bytes().all(|it| it.is_ascii_digit()) => {
            text.parse().map(Some).map_err(|_| bad("the number is too large"))
        }
        _ => Err(bad("it must be an event id (a whole number)")),
    }
}

/// A listener.
struct Listener {
    scoped: Scoped,
    tail: Tail,
    pattern: Option<Pattern>,
    frames: broadcast::Receiver<Arc<Frame>>,
    readers: Arc<Semaphore>,
    stopped: watch::Receiver<bool>,
    pieces: mpsc::Sender<Bytes>,
    gathered: BytesMut,
    unread_time_max: Duration,
    _slot: OwnedSemaphorePermit,
}

/// Why a stream ends.
enum End {
    /// The client is gone.
    Gone,
    /// The client has left too much unread for too long.
    Unread,
    Stopping,
    Failed,
}

impl End {
    fn final_message(self) -> Bytes {
        let detail = match self {
            Self::Gone => return Bytes::new(),
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
    async fn run(mut self) -> End {
        loop {
            let end = match self.catch_up().await {
                Ok(()) => self.follow().await,
                Err(end) => Err(end),
            };
            if let Err(end) = end {
                return end;
            }
        }
    }

    /// Sends the events in the log after the cursor.
    async fn catch_up(&mut self) -> Result<(), End> {
        loop {
            let (tail, read) = self.read_on().await?;
            match read {
                Ok(frames) => {
                    self.tail = tail;
                    self.gather(&frames).await?;
                    self.flush().await?;
                    if frames.is_empty() {
                        return Ok(());
                    }
                }
                Err(Error::Gone { first }) => {
                    let last = first.saturating_sub(1);
                    let data = json!({ "first": first, "after": self.tail.cursor() });
                    self.tail.skip_to(last);
                    let gap = format!("event: reset\nid: {last}\ndata: {data}\n\n");
                    self.gather(gap.as_bytes()).await?;
                }
                Err(error) => {
                    tracing::error!(error = chain(&error), "failed to read events for a stream");
                    return Err(End::Failed);
                }
            }
            if *self.stopped.borrow() {
                return Err(End::Stopping);
            }
        }
    }

    /// Reads the log after the cursor: returns the advanced tail and the events for the client,
    /// nothing if the log has no more.
    async fn read_on(&self) -> Result<(Tail, waypost_events::Result<Vec<u8>>), End> {
        let turn = Arc::clone(&self.readers).acquire_owned().await.map_err(|_| End::Failed)?;
        let mut tail = self.tail.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let read = tail.next_batch(READ_AT_ONCE).map(|it| {
                let mut frames = Vec::new();
                for event in it.events {
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

    /// Sends new events until some have to be read from the log.
    async fn follow(&mut self) -> Result<(), End> {
        loop {
            let next = tokio::select! {
                next = self.frames.recv() => Some(next),
                _ = self.stopped.changed() => return Err(End::Stopping),
                () = self.pieces.closed() => return Err(End::Gone),
                () = tokio::time::sleep(KEEP_ALIVE) => None,
            };
            let Some(next) = next else {
                let cursor = self.tail.cursor();
                self.gather(format!("id: {cursor}\n: keep-alive\n\n").as_bytes()).await?;
                self.flush().await?;
                continue;
            };
            let mut next = match next {
                Ok(frame) => Some(frame),
                Err(RecvError::Lagged(_)) => return Ok(()),
                Err(RecvError::Closed) => return Err(End::Stopping),
            };
            while let Some(frame) = next {
                let cursor = self.tail.cursor();
                if frame.id > cursor + 1 {
                    return self.flush().await;
                }
                if frame.id == cursor + 1 {
                    let is_wanted = self.pattern.as_ref().is_none_or(|it| it.matches(&frame.kind));
                    if is_wanted && self.scoped.receives(&frame) {
                        // Events that are too large for a frame are in the log.
                        let Some(bytes) = &frame.bytes else { return self.flush().await };
                        self.gather(bytes).await?;
                    }
                    self.tail.skip_to(frame.id);
                }
                next = match self.frames.try_recv() {
                    Ok(frame) => Some(frame),
                    Err(TryRecvError::Empty) => None,
                    Err(TryRecvError::Lagged(_)) => return self.flush().await,
                    Err(TryRecvError::Closed) => return Err(End::Stopping),
                };
            }
            self.flush().await?;
        }
    }

    async fn gather(&mut self, bytes: &[u8]) -> Result<(), End> {
        self.gathered.extend_from_slice(bytes);
        if self.gathered.len() >= PIECE_BYTES { self.flush().await } else { Ok(()) }
    }

    async fn flush(&mut self) -> Result<(), End> {
        while !self.gathered.is_empty() {
            let len = self.gathered.len().min(PIECE_BYTES);
            let piece = self.gathered.split_to(len).freeze();
            match self.pieces.send_timeout(piece, self.unread_time_max).await {
                Ok(()) => {}
                Err(mpsc::error::SendTimeoutError::Closed(_)) => return Err(End::Gone),
                Err(mpsc::error::SendTimeoutError::Timeout(_)) => return Err(End::Unread),
            }
        }
        Ok(())
    }
}
