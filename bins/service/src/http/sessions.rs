//! Calls in progress, which end when their token ends.
//!
//! A token is checked when a call begins. A long call, such as a stream of events, has to end as
//! soon as its token is revoked or expires, even if another process (`ctl token revoke`) revoked
//! it: while there are calls, the token file is checked several times a second.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http_body::{Body as _, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use waypost_api::EVENT_STREAM;
use waypost_auth::{TokenId, TokenStore};

use crate::clock::now;
use crate::flows::grants::Grant;

/// How often the tokens of calls in progress are checked: one `stat` each time.
const CHECK_EVERY: Duration = Duration::from_millis(200);

/// The caller.
#[derive(Debug, Clone)]
pub(crate) enum Identity {
    Token(TokenId),
    /// The program of a run.
    Run(Arc<Grant>),
}

/// Identifies a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Token(TokenId),
    /// The address of the grant, which the session keeps alive.
    Run(usize),
}

/// The calls of one token.
#[derive(Debug)]
pub(crate) struct Session {
    who: Identity,
    ended: watch::Sender<bool>,
    /// Bytes of responses that its clients have not read; see [`Waiting`](crate::http::waiting::Waiting).
    pub(super) waiting: AtomicUsize,
}

/// The tokens with calls in progress.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    open: Mutex<HashMap<Key, Weak<Session>>>,
    look: Notify,
}

impl Session {
    /// A session that is never ended.
    pub(crate) fn new(who: Identity) -> Arc<Self> {
        Arc::new(Self { who, ended: watch::Sender::new(false), waiting: AtomicUsize::new(0) })
    }

    pub(crate) fn who(&self) -> &Identity {
        &self.who
    }

    pub(crate) fn has_ended(&self) -> bool {
        *self.ended.borrow()
    }

    /// Waits until the token has ended.
    pub(crate) async fn ended(self: Arc<Self>) {
        let mut ended = self.ended.subscribe();
        // The sender is in `self`, so it is not dropped.
        drop(ended.wait_for(|ended| *ended).await);
    }

    fn is_valid(&self, tokens: &TokenStore) -> bool {
        match &self.who {
            Identity::Token(id) => tokens.works(*id, now()),
            Identity::Run(grant) => !grant.has_ended(),
        }
    }
}

impl Sessions {
    /// Registers a call whose token was just verified.
    pub(crate) fn begin(&self, who: Identity) -> Arc<Session> {
        let key = match &who {
            Identity::Token(id) => Key::Token(*id),
            Identity::Run(grant) => Key::Run(Arc::as_ptr(grant) as usize),
        };
        let mut open = self.open.lock();
        let known = open.get(&key).and_then(Weak::upgrade).filter(|shared| !shared.has_ended());
        if let Some(known) = known {
            return known;
        }
        let session = Session::new(who);
        let is_first = open.is_empty();
        open.insert(key, Arc::downgrade(&session));
        drop(open);
        if is_first {
            self.look();
        }
        session
    }

    /// Triggers a check of the tokens.
    pub(crate) fn look(&self) {
        self.look.notify_one();
    }

    /// Checks the tokens of sessions until the future is dropped.
    pub(crate) async fn keep(&self, tokens: &TokenStore) {
        loop {
            if self.open.lock().is_empty() {
                self.look.notified().await;
            } else {
                // Whichever comes first.
                drop(tokio::time::timeout(CHECK_EVERY, self.look.notified()).await);
            }
            let mut open = self.open.lock();
            open.retain(|_, session| {
                let Some(session) = session.upgrade() else { return false };
                let is_valid = session.is_valid(tokens);
                if !is_valid {
                    session.ended.send_replace(true);
                }
                is_valid
            });
        }
    }
}

/// The response, cut off when the session ends. A complete one is sent unchanged.
pub(crate) fn bound(response: Response, session: Arc<Session>) -> Response {
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    let of_events = response.headers().get(CONTENT_TYPE).is_some_and(|value| value == EVENT_STREAM);
    response.map(|body| {
        Body::new(Bound { body: Some(body), of_events, ended: Box::pin(session.ended()) })
    })
}

/// A body that ends with its session: a stream of events with a last event that says why, any other
/// with an error, so that its reader knows that it is incomplete.
struct Bound {
    body: Option<Body>,
    of_events: bool,
    ended: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl http_body::Body for Bound {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        let Some(body) = &mut this.body else { return Poll::Ready(None) };
        if this.ended.as_mut().poll(context).is_ready() {
            // The producer of the body notices that its receiver is gone, and ends.
            this.body = None;
            let detail = "the token was revoked or has expired, or this machine has not followed its cluster for 5 minutes";
            return Poll::Ready(Some(if this.of_events {
                let data = serde_json::json!({ "detail": detail });
                Ok(Frame::data(format!("event: end\ndata: {data}\n\n").into()))
            } else {
                Err(axum::Error::new(io::Error::new(io::ErrorKind::PermissionDenied, detail)))
            }));
        }
        let frame = ready!(Pin::new(body).poll_frame(context));
        if frame.is_none() {
            this.body = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(http_body::Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map(http_body::Body::size_hint).unwrap_or_default()
    }
}
