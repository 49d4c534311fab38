//! Responses below the router: to rejected connections, and to input that is not HTTP.
//!
//! hyper responds to a request that it cannot parse with a bare status line. [`Replies`] replaces
//! that response with a problem and passes everything else through.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use waypost_api::{PROBLEM_JSON, Problem};

use crate::http::linger::Unread;
use crate::http::request_id::new_id;

/// hyper's own bare responses are shorter.
const BARE_BYTES_MAX: usize = 256;
/// Every response of ours has this header; hyper's own have not.
const OWN_HEADER: &[u8] = b"x-request-id:";
const HEAD_END: &[u8] = b"\r\n\r\n";

/// For connections above the limit.
pub(crate) fn too_many_connections() -> Vec<u8> {
    let detail = "too many connections are open; try again in a second";
    whole(503, "Service Unavailable", detail, "retry-after: 1\r\n")
}

/// For a peer on the socket that is another user.
pub(crate) fn another_user() -> Vec<u8> {
    let detail = "only the user of the service and root may use this socket";
    whole(403, "Forbidden", detail, "")
}

/// A complete response, after which the connection ends.
fn whole(status: u16, reason: &str, detail: &str, headers: &str) -> Vec<u8> {
    let problem = serde_json::to_string(&Problem::new(status, detail).at("/")).unwrap_or_default();
    format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: {PROBLEM_JSON}\r\ncontent-length: {}\r\n\
         x-request-id: {}\r\nx-content-type-options: nosniff\r\ncache-control: no-store\r\n\
         {headers}connection: close\r\n\r\n{problem}",
        problem.len(),
        new_id(),
    )
    .into_bytes()
}

/// A stream on which hyper's own responses are replaced.
pub(crate) struct Replies<S> {
    stream: S,
    header_bytes_max: usize,
    /// The replacement of a response, and how much of it was sent.
    instead: Option<(Vec<u8>, usize)>,
    unread: Unread,
}

impl<S> Replies<S> {
    pub(crate) fn new(stream: S, header_bytes_max: usize, unread: Unread) -> Self {
        Self { stream, header_bytes_max, instead: None, unread }
    }

    /// The offset at which hyper's own response begins, which runs to the end of these bytes, and
    /// its replacement.
    fn own_answer(&self, bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
        if !bytes.ends_with(HEAD_END) {
            return None;
        }
        let from = bytes.len().saturating_sub(BARE_BYTES_MAX);
        let tail = &bytes[from..];
        let at = tail.windows(b"HTTP/1.1 4".len()).rposition(|window| window == b"HTTP/1.1 4")?;
        let head = &tail[at..];
        let is_ours = head.windows(OWN_HEADER.len()).any(|window| window == OWN_HEADER);
        // Exactly one head, and no byte of a body before the end of the head.
        let is_whole = head.windows(HEAD_END.len()).position(|window| window == HEAD_END)
            == Some(head.len() - HEAD_END.len());
        if is_ours || !is_whole {
            return None;
        }
        let answer = match head.get(9..12)? {
            b"400" => whole(
                400,
                "Bad Request",
                "malformed HTTP/1.1 request: check its first line, its headers and the length of its body",
                "",
            ),
            b"414" => whole(414, "URI Too Long", "the request target is too long", ""),
            b"431" => {
                let detail = format!(
                    "the request headers exceed {} bytes or are too many, or the body length is invalid",
                    self.header_bytes_max
                );
                whole(431, "Request Header Fields Too Large", &detail, "")
            }
            _ => return None,
        };
        Some((from + at, answer))
    }
}

impl<S: AsyncWrite + Unpin> Replies<S> {
    fn poll_instead(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some((bytes, sent)) = &mut self.instead {
            let count = ready!(Pin::new(&mut self.stream).poll_write(context, &bytes[*sent..]))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            *sent += count;
            if *sent == bytes.len() {
                self.instead = None;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Replies<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Replies<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_instead(context))?;
        match self.own_answer(bytes) {
            Some((0, instead)) => {
                self.unread.set(true);
                self.instead = Some((instead, 0));
                // Sent when hyper flushes, which it does before it ends the connection.
                Poll::Ready(Ok(bytes.len()))
            }
            Some((before, _)) => Pin::new(&mut self.stream).poll_write(context, &bytes[..before]),
            None => Pin::new(&mut self.stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut full = buffers.iter().filter(|buffer| !buffer.is_empty());
        if let (Some(only), None) = (full.next(), full.next()) {
            // A head alone; hyper's own answer has no body.
            return self.poll_write(context, only);
        }
        ready!(self.poll_instead(context))?;
        Pin::new(&mut self.stream).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_instead(context))?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_instead(context))?;
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
