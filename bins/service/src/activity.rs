//! Whether anybody uses the service.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};

/// Requests, from their first byte to the last one of their response.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    begun: AtomicU64,
    ended: AtomicU64,
}

/// A request that is being answered.
#[derive(Debug)]
pub(crate) struct Request(Arc<Activity>);

impl Activity {
    pub(crate) fn begin(self: &Arc<Self>) -> Request {
        self.begun.fetch_add(1, Ordering::Relaxed);
        Request(Arc::clone(self))
    }

    /// The requests so far, and whether all of them have been answered.
    pub(crate) fn requests(&self) -> (u64, bool) {
        let ended = self.ended.load(Ordering::Acquire);
        let begun = self.begun.load(Ordering::Relaxed);
        (begun, begun == ended)
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Release);
    }
}

impl Request {
    /// The body, with which the request ends, and what else is held until then. A complete body ends
    /// both now.
    pub(crate) fn with_body(self, body: Body, held: impl Send + Unpin + 'static) -> Body {
        if body.size_hint().exact().is_some() {
            return body;
        }
        Body::new(Streamed { body, _until_its_end: (self, held) })
    }
}

struct Streamed<T> {
    body: Body,
    _until_its_end: T,
}

impl<T: Unpin> http_body::Body for Streamed<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_ends_with_its_stream() {
        let activity = Arc::new(Activity::default());
        assert_eq!(activity.requests(), (0, true));
        let whole = activity.begin().with_body(Body::from("x"), ());
        assert_eq!(activity.requests(), (1, true));
        let stream = tokio_stream::iter([Ok::<_, std::io::Error>(Bytes::new())]);
        let open = activity.begin().with_body(Body::from_stream(stream), ());
        assert_eq!(activity.requests(), (2, false));
        drop((whole, open));
        assert_eq!(activity.requests(), (2, true));
    }
}
