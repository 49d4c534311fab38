//! JSON replies.

use std::fmt::Display;
use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue, LINK};
use serde::Serialize;
use waypost_api as api;

use crate::app::App;
use crate::http::failure::Failure;
use crate::http::stream::{PIECE_BYTES, pulled};
use crate::http::waiting::Holding;

/// A JSON response.
pub(crate) fn json<T: Serialize>(status: StatusCode, value: &T) -> Response {
    of_json((status, encode(value)).into_response())
}

fn of_json(mut response: Response) -> Response {
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A stream of events for `EventSource` and the like.
pub(crate) fn event_stream(body: Body) -> Response {
    let mut response = body.into_response();
    let event_stream = HeaderValue::from_static(api::EVENT_STREAM);
    response.headers_mut().insert(CONTENT_TYPE, event_stream);
    response
}

/// A JSON array, whose elements are read while it is sent if it is longer than a piece. Must be called
/// where calls may block. `None` in place of an element leaves it out; an error after the first piece
/// cuts the response off. `held_bytes` is about the size of `elements`.
pub(crate) fn array<T, I>(
    app: &Arc<App>,
    elements: I,
    held_bytes: usize,
) -> Result<Response, Failure>
where
    T: Serialize + 'static,
    I: Iterator<Item = Result<Option<T>, Failure>> + Send + Unpin + 'static,
{
    let mut first = Array { elements, text: vec![b'['], is_empty: true, has_ended: false };
    first.read_piece()?;
    if first.has_ended {
        return Ok(of_json(first.text.into_response()));
    }
    // A piece is counted from the beginning: a client that does not read holds one, but not at once.
    let held_bytes = held_bytes + first.text.len();
    let app = Arc::clone(app);
    let body = pulled(first, move |array| array.next_piece(Arc::clone(&app)));
    let mut response = of_json(body.into_response());
    response.extensions_mut().insert(Holding(held_bytes));
    Ok(response)
}

/// Adds the link to the next page: the same query, continued after that element.
pub(crate) fn link_next(response: &mut Response, path: &str, query: &str, after: impl Display) {
    let kept = query.split('&').filter(|part| !part.is_empty() && !part.starts_with("after="));
    let parts: Vec<String> = kept.map(str::to_owned).chain([format!("after={after}")]).collect();
    let link = format!("<{path}?{}>; rel=\"next\"", parts.join("&"));
    if let Ok(link) = HeaderValue::from_str(&link) {
        response.headers_mut().insert(LINK, link);
    }
}

/// The rest of an array.
struct Array<I> {
    elements: I,
    /// What was read and not sent.
    text: Vec<u8>,
    /// Whether no element was read.
    is_empty: bool,
    has_ended: bool,
}

impl<T, I> Array<I>
where
    T: Serialize + 'static,
    I: Iterator<Item = Result<Option<T>, Failure>> + Send + 'static,
{
    fn read_piece(&mut self) -> Result<(), Failure> {
        while self.text.len() < PIECE_BYTES {
            let Some(element) = self.elements.next() else {
                self.text.push(b']');
                self.has_ended = true;
                break;
            };
            let Some(element) = element? else { continue };
            if !self.is_empty {
                self.text.push(b',');
            }
            self.is_empty = false;
            serde_json::to_writer(&mut self.text, &element).expect(FITS);
        }
        Ok(())
    }

    async fn next_piece(mut self, app: Arc<App>) -> io::Result<Option<(Bytes, Self)>> {
        if self.text.is_empty() && !self.has_ended {
            let reading = app.reads.go_on(move || self.read_piece().map(|()| self));
            self = reading.await.and_then(|reading| reading).map_err(|failure| {
                let detail = failure.problem.detail;
                tracing::warn!(detail, "failed to read the rest of a response");
                io::Error::other("failed to read the rest of the response")
            })?;
        }
        // Exactly as large as it is: the buffer may have grown to twice the size.
        let piece = Bytes::from(std::mem::take(&mut self.text).into_boxed_slice());
        Ok((!piece.is_empty()).then_some((piece, self)))
    }
}

const FITS: &str = "the wire's types have string keys and finite numbers";

/// The value as JSON on one line.
pub(crate) fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect(FITS)
}
