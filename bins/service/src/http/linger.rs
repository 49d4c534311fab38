//! Closes a connection whose client is still sending.
//!
//! A socket that is closed with unread input resets the connection: the client's next write fails,
//! and the response may be lost before the client reads it. So the service first ends its own side,
//! then reads and discards what the client still sends, within limits of bytes and time.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http_body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// More than the largest body except an import's, for clients that read no response before they
/// have sent everything.
const BYTES_MAX: u64 = 80 * 1024 * 1024;
/// The same times as nginx's `lingering_time` and `lingering_timeout`.
const TIME_MAX: Duration = Duration::from_secs(30);
const SILENCE_MAX: Duration = Duration::from_secs(5);
const BUFFER_BYTES: usize = 8 * 1024;

/// Whether the last request of a connection was answered before its body was read to the end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unread(Arc<AtomicBool>);

impl Unread {
    pub(crate) fn set(&self, unread: bool) {
        self.0.store(unread, Ordering::Relaxed);
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A request's body that records whether it is dropped before its end.
#[derive(Debug)]
pub(crate) struct Watched<B: Body> {
    body: B,
    ended: bool,
    unread: Unread,
}

impl<B: Body> Watched<B> {
    pub(crate) fn new(body: B, unread: Unread) -> Self {
        unread.set(false);
        Self { body, ended: false, unread }
    }
}

impl<B: Body + Unpin> Body for Watched<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        self.ended |= frame.is_none();
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B: Body> Drop for Watched<B> {
    fn drop(&mut self) {
        if !self.ended && !self.body.is_end_stream() {
            self.unread.set(true);
        }
    }
}

/// A connection that is closed as described above.
pub(crate) struct Lingering<S> {
    stream: S,
    unread: Unread,
    closing: Option<Closing>,
}

/// The remaining limits.
struct Closing {
    bytes_left: u64,
    end: Pin<Box<Sleep>>,
    silence: Pin<Box<Sleep>>,
}

impl<S> Lingering<S> {
    pub(crate) fn new(stream: S, unread: Unread) -> Self {
        Self { stream, unread, closing: None }
    }
}

impl Closing {
    fn new() -> Self {
        Self {
            bytes_left: BYTES_MAX,
            end: Box::pin(sleep(TIME_MAX)),
            silence: Box::pin(sleep(SILENCE_MAX)),
        }
    }

    /// Discards input until the client ends its side or a limit is reached.
    fn poll(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
        context: &mut Context<'_>,
    ) -> Poll<()> {
        let mut bytes = [0; BUFFER_BYTES];
        loop {
            let over = self.end.as_mut().poll(context).is_ready()
                || self.silence.as_mut().poll(context).is_ready();
            if over || self.bytes_left == 0 {
                tracing::debug!("did not read the rest of a rejected body");
                return Poll::Ready(());
            }
            let mut buffer = ReadBuf::new(&mut bytes);
            let read = ready!(Pin::new(&mut *stream).poll_read(context, &mut buffer));
            let count = buffer.filled().len() as u64;
            if read.is_err() || count == 0 {
                return Poll::Ready(());
            }
            self.bytes_left = self.bytes_left.saturating_sub(count);
            self.silence.as_mut().reset(Instant::now() + SILENCE_MAX);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Lingering<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Lingering<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.closing.is_none() {
            ready!(Pin::new(&mut this.stream).poll_shutdown(context))?;
            if !this.unread.get() {
                return Poll::Ready(Ok(()));
            }
        }
        let closing = this.closing.get_or_insert_with(Closing::new);
        closing.poll(&mut this.stream, context).map(Ok)
    }
}
