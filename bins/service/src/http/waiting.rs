//! What clients have not read yet of their responses, within one limit for each token and one for all.
//!
//! Large responses are produced piece by piece, and the next piece when the connection has sent the
//! last one. So a client that does not read holds about one piece. This module counts what all of
//! them hold: while it is too much, a request whose response could be large is refused, and an event
//! stream waits.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::StatusCode;
use http::header::{HeaderValue, RETRY_AFTER};
use http_body::{Body as _, Frame, SizeHint};
use tokio::sync::Notify;
use waypost_project::LimitSettings;

use crate::http::failure::Failure;
use crate::http::sessions::Session;
use crate::http::stream::PIECE_BYTES;

/// Smaller responses are not counted: each connection has buffers of this size anyway.
const UNCOUNTED_BYTES_MAX: u64 = 8 * 1024;

/// What waits for all clients.
#[derive(Debug)]
pub(crate) struct Waiting {
    bytes: AtomicUsize,
    bytes_max: usize,
    less: Notify,
}

/// What waits for the clients of one token.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    all: Arc<Waiting>,
    session: Arc<Session>,
}

/// Bytes that are counted until this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    account: Account,
    bytes: usize,
}

/// What a response holds until it is sent, its next piece included, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holding(pub(crate) usize);

impl Waiting {
    pub(crate) fn new(limits: &LimitSettings) -> Arc<Self> {
        let (bytes, bytes_max) = (AtomicUsize::new(0), limits.unread_bytes_max);
        Arc::new(Self { bytes, bytes_max, less: Notify::new() })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

impl Account {
    pub(crate) fn new(all: &Arc<Waiting>, session: &Arc<Session>) -> Self {
        Self { all: Arc::clone(all), session: Arc::clone(session) }
    }

    /// Fails while too much waits: 429 if it is the token's, otherwise 503. One token may take half of
    /// what the others leave, so that there is room for one more however many do not read: Choudhury
    /// and Hahne, *Dynamic Queue Length Thresholds for Shared-Memory Packet Switches* (1998).
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let kept = self.session.waiting.load(Ordering::Relaxed);
        let free = self.all.bytes_max.saturating_sub(self.all.bytes());
        if kept > 0 && kept * 2 >= free {
            let detail = format!(
                "{} KiB of responses to this token are unread: read them, or close their connections, and try again in a second",
                kept >> 10
            );
            return Err(Failure::new(StatusCode::TOO_MANY_REQUESTS, detail)
                .with(RETRY_AFTER, HeaderValue::from_static("1")));
        }
        if free == 0 {
            return Err(Failure::busy("too many responses are unread"));
        }
        Ok(())
    }

    /// Waits until it is no longer too much. What waits is read, or its connection is closed.
    pub(crate) async fn room(&self) {
        loop {
            let mut less = std::pin::pin!(self.all.less.notified());
            less.as_mut().enable();
            if self.check().is_ok() {
                return;
            }
            less.await;
        }
    }

    pub(crate) fn hold(&self, bytes: usize) -> Held {
        self.all.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.session.waiting.fetch_add(bytes, Ordering::Relaxed);
        Held { account: self.clone(), bytes }
    }

    /// The response, counted until the connection has sent it; a problem instead of a large one while
    /// too much waits. `reads` says whether the request has changed nothing.
    pub(crate) fn count(self, response: Response, reads: bool) -> Response {
        let bytes = response.body().size_hint().exact();
        if bytes.is_some_and(|bytes| bytes <= UNCOUNTED_BYTES_MAX) {
            return response;
        }
        let is_large = bytes.is_none_or(|bytes| bytes > PIECE_BYTES as u64);
        if is_large && let Err(failure) = self.check() {
            if reads {
                return failure.into_response();
            }
            if bytes.is_some() {
                let detail = "the request was carried out, but too many responses to this token are unread to send another; read what it has changed";
                return Failure::new(StatusCode::SERVICE_UNAVAILABLE, detail)
                    .unsure()
                    .into_response();
            }
        }
        let held = response.extensions().get::<Holding>().map(|extension| self.hold(extension.0));
        response.map(|body| Body::new(Counted { body, account: self, held }))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Account { all, session } = &self.account;
        all.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        session.waiting.fetch_sub(self.bytes, Ordering::Relaxed);
        all.less.notify_waiters();
    }
}

/// A body whose frames are counted until they are sent, unless it is counted as a whole.
struct Counted {
    body: Body,
    account: Account,
    held: Option<Held>,
}

struct Piece {
    bytes: Bytes,
    _held: Held,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl http_body::Body for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if self.held.is_some() {
            return Poll::Ready(frame);
        }
        let count = |bytes: Bytes| {
            let held = self.account.hold(bytes.len());
            Bytes::from_owner(Piece { bytes, _held: held })
        };
        Poll::Ready(frame.map(|other| other.map(|frame| frame.map_data(count))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
